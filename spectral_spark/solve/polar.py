"""Simultaneous power iteration with polar orthogonalisation: all eigenvectors at once, the default solver."""

import numpy as np

from spectral_spark.solve.decomposition import TensorDecomposition, finished
from spectral_spark.solve.symmetric import (
    PairTensor,
    checked_tensor,
    largest_turn,
    nearest_orthogonal,
    random_orthogonal,
)

TOLERANCE = 1e-9


def polar(
    tensor: np.ndarray, seed: int = 0, starts: int = 1, max_iterations: int = 300, tolerance: float = TOLERANCE
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal tensor.

    Climbs Σ_r T(v_r, v_r, v_r)² over orthogonal V: each step replaces V by the orthogonal matrix nearest to the
    gradient, [λ_r T(I, v_r, v_r)]_r. On an exactly orthogonal tensor the last steps converge quadratically.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k).
    starts : random orthogonal matrices to climb from; the highest end is kept.
    tolerance : the largest turn of a vector in one step that counts as standing still.
    """
    tensor = checked_tensor(tensor)
    rng, pairs = np.random.default_rng(seed), PairTensor(tensor)
    ends = [climb(pairs, random_orthogonal(len(tensor), rng), max_iterations, tolerance) for _ in range(starts)]
    vectors, _, converged, _ = max(ends, key=lambda end: end[3])
    return finished(tensor, vectors, sum(end[1] for end in ends), converged, "polar")


def climb(
    pairs: PairTensor, vectors: np.ndarray, max_iterations: int = 300, tolerance: float = TOLERANCE
) -> tuple[np.ndarray, int, bool, float]:
    """Iterate from orthogonal ``vectors`` (k, k): the end, the steps taken, whether it stands still, and its height."""
    height = 0.0
    for step in range(1, max_iterations + 1):
        gradient = pairs.contract(vectors)
        values = (gradient * vectors).sum(axis=0)
        height = float((values**2).sum())
        moved = nearest_orthogonal(gradient * values)
        turn = largest_turn(moved, vectors)
        vectors = moved
        if turn < tolerance:
            return vectors, step, True, height
    return vectors, max_iterations, False, height
