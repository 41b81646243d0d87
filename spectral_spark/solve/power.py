"""The robust tensor power method (Anandkumar et al. 2014), with deflation (formulas §9)."""

import numpy as np

from spectral_spark.solve.polar import TOLERANCE, climb
from spectral_spark.solve.symmetric_tensor import PairTensor, checked_tensor, nearest_orthogonal, unit_columns
from spectral_spark.solve.tensor_decomposition import TensorDecomposition, finished


def power(
    tensor: np.ndarray,
    seed: int = 0,
    starts: int = 10,
    iterations: int = 10,
    final_iterations: int = 10,
    polish: bool = True,
    tolerance: float = TOLERANCE,
    anywhere: bool = False,
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal tensor.

    Each eigenvector is the best of several random starts in the complement of those already found; all starts go
    through one matrix product. Errors of deflation accumulate, so the polar iteration finishes all vectors together.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k).
    starts : random starts per eigenvector (L).
    iterations, final_iterations : steps for every start and for the best one (T + T).
    polish : finish with the polar iteration; without it, ``converged`` is about the deflated vectors, and eigenvalues
        are those of the deflated tensors.
    anywhere : draw starts from the whole sphere, as printed, instead of from the complement of what is known.
    """
    tensor = checked_tensor(tensor)
    pairs, rng, size = PairTensor(tensor), np.random.default_rng(seed), len(tensor)
    values, vectors, steps, still = np.zeros(size), np.zeros((size, size)), 0, True
    for found in range(size):
        known = (values[:found], vectors[:, :found])
        start = rng.standard_normal((size, starts))
        points = unit_columns(start if anywhere else start - known[1] @ (known[1].T @ start))
        points = _ascend(pairs, points, known, iterations)[0]
        best = int(np.argmax((_deflated(pairs, points, known) * points).sum(axis=0)))
        point, turn = _ascend(pairs, points[:, [best]], known, final_iterations)
        values[found] = (_deflated(pairs, point, known) * point).sum()
        vectors[:, found] = point[:, 0]
        steps, still = steps + iterations + final_iterations, still and turn < tolerance
    if polish:
        end = climb(pairs, nearest_orthogonal(vectors), tolerance=tolerance)
        vectors, still, steps = end.vectors, end.converged, steps + end.iterations
    return finished(tensor, vectors, steps, still, "power", None if polish else values)


def _deflated(pairs: PairTensor, points: np.ndarray, known: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """T(I, x, x) of the tensor less its known part, Σ λ v (vᵀx)², for every column x."""
    values, vectors = known
    return pairs.contract(points) - vectors @ (values[:, None] * (vectors.T @ points) ** 2)


def _ascend(
    pairs: PairTensor, points: np.ndarray, known: tuple[np.ndarray, np.ndarray], iterations: int
) -> tuple[np.ndarray, float]:
    turn = 1.0
    for _ in range(iterations):
        moved = unit_columns(_deflated(pairs, points, known))
        turn = float(np.linalg.norm(moved - points, axis=0).max())
        points = moved
    return points, turn
