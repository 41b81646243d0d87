"""The result every solver returns."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.solve.symmetric_tensor import PairTensor, relative_residual, unit_columns


@dataclass(frozen=True, eq=False)
class TensorDecomposition:
    """T ≈ Σ_r λ_r v_r⊗v_r⊗v_r.

    Attributes
    ----------
    eigenvalues : array of shape (k,), λ, non-negative, largest first.
    vectors : array of shape (k, k), one unit column v_r per eigenvalue.
    residual : ‖T − Σ λ v⊗v⊗v‖ / ‖T‖; on noisy moments it measures their noise, not the solver's failure.
    iterations : products of the tensor with k vectors (or starts) that were needed.
    converged : whether the vectors stopped moving before the allowed iterations ran out.
    solver : the solver's name.
    """

    eigenvalues: np.ndarray
    vectors: np.ndarray
    residual: float
    iterations: int
    converged: bool
    solver: str


def finished(
    tensor: np.ndarray, vectors: np.ndarray, iterations: int, converged: bool, solver: str,
    values: np.ndarray | None = None,
) -> TensorDecomposition:
    """Signs, order, eigenvalues and residual of the columns a solver ended with.

    Eigenvalues are T(v, v, v), or the ``values`` of shape (k,) that the solver found.
    """
    vectors = unit_columns(vectors)
    if values is None:
        values = (PairTensor(tensor).contract(vectors) * vectors).sum(axis=0)
    vectors = vectors * np.where(values < 0, -1.0, 1.0)
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors = np.abs(values)[order], vectors[:, order]
    residual = relative_residual(tensor, values, vectors)
    return TensorDecomposition(values, vectors, residual, iterations, converged, solver)
