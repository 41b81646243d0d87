"""Alternating least squares whose first iterations are kept orthogonal (Sharan & Valiant 2017; formulas §9)."""

import numpy as np

from spectral_spark.solve.polar import TOLERANCE
from spectral_spark.solve.symmetric_tensor import (
    PairTensor,
    checked_tensor,
    largest_turn,
    random_orthogonal,
    unit_columns,
)
from spectral_spark.solve.tensor_decomposition import TensorDecomposition, finished


def als(
    tensor: np.ndarray,
    seed: int = 0,
    orthogonal_iterations: int = 20,
    max_iterations: int = 300,
    tolerance: float = TOLERANCE,
) -> TensorDecomposition:
    """Decompose a symmetric tensor into vectors that need not be orthogonal.

    The symmetric least-squares step is A ← T(I, a, a) ((AᵀA)∘(AᵀA))⁻¹. From random starts it loses topics (several
    columns converge to the same vector); orthogonalising the first iterations by QR keeps the columns apart.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k).
    orthogonal_iterations : steps that are orthogonalised instead of solved.
    """
    tensor = checked_tensor(tensor)
    pairs, rng = PairTensor(tensor), np.random.default_rng(seed)
    vectors, converged, step = random_orthogonal(len(tensor), rng), False, 0
    for _ in range(orthogonal_iterations):
        step += 1
        vectors = _orthogonal_step(pairs, vectors)
    while step < max_iterations and not converged:
        step += 1
        moved = _least_squares_step(pairs, vectors)
        converged = largest_turn(moved, vectors) < tolerance
        vectors = moved
    return finished(tensor, vectors, step, converged, "als")


def _orthogonal_step(pairs: PairTensor, vectors: np.ndarray) -> np.ndarray:
    """QR favours its first columns: the strongest eigenvalues go first, so that noise is swept to the weakest."""
    product = pairs.contract(vectors)
    order = np.argsort(-np.abs((product * vectors).sum(axis=0)), kind="stable")
    triangular = np.linalg.qr(product[:, order])
    return triangular.Q * np.where(np.diag(triangular.R) < 0, -1.0, 1.0)


def _least_squares_step(pairs: PairTensor, vectors: np.ndarray) -> np.ndarray:
    gram = (vectors.T @ vectors) ** 2
    return unit_columns(np.linalg.lstsq(gram, pairs.contract(vectors).T)[0].T)
