"""Symmetric k×k×k tensors: contraction with many vectors at once, orthogonal factors."""

from typing import Protocol

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.symmetric_packing import pair_indices, pair_products

# Solvers square sums of products of entries.
LARGEST_ENTRY = 1e100


def checked_tensor(tensor: np.ndarray) -> np.ndarray:
    """The tensor as float64 of shape (k, k, k), symmetrised; it must be a cube and finite."""
    tensor = np.asarray(tensor, dtype=np.float64)
    if tensor.ndim != 3 or len(set(tensor.shape)) != 1 or tensor.size == 0:
        raise InputError(f"tensor: shape {tensor.shape} is not (k, k, k); pass the whitened third moment")
    bad = int(tensor.size - np.isfinite(tensor).sum())
    if bad:
        raise InputError(f"tensor: {bad} of {tensor.size} entries are not finite; check the moments it was made from")
    largest = float(np.abs(tensor).max())
    if largest > LARGEST_ENTRY:
        raise InputError(f"tensor: entries up to {largest:.3g} cannot be squared; pass the whitened third moment")
    return symmetrised(tensor)


def symmetrised(tensor: np.ndarray) -> np.ndarray:
    """The mean over the six orders of the indices of a (k, k, k) array."""
    pair = tensor + tensor.transpose(0, 2, 1)
    return (pair + pair.transpose(1, 0, 2) + pair.transpose(2, 1, 0)) / 6.0


def sym3(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Sum over the three placements of a symmetric matrix (k, k) and a vector (k,): shape (k, k, k)."""
    placed = matrix[:, :, None] * vector
    return placed + placed.transpose(0, 2, 1) + placed.transpose(2, 1, 0)


def transformed(tensor: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """T(A, A, A) for a symmetric (p, p, p) tensor and A of shape (p, k), as three matrix products."""
    p, k = matrix.shape
    once = (tensor.reshape(p * p, p) @ matrix).reshape(p, p * k)
    twice = (matrix.T @ once).reshape(k, p, k)
    return symmetrised(np.matmul(matrix.T, twice))


class Contraction(Protocol):
    """A symmetric (k, k, k) tensor that is known by its products with vectors."""

    @property
    def size(self) -> int:
        """k."""

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """T(I, x_r, x_r) for every column of ``vectors`` (k, r): shape (k, r)."""


class PairTensor:
    """A symmetric tensor stored by unordered pairs of its first two indices: contraction costs half the full product.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k).
    """

    def __init__(self, tensor: np.ndarray) -> None:
        rows, columns = pair_indices(len(tensor))
        self._matrix = tensor[rows, columns] * np.where(rows == columns, 1.0, 2.0)[:, None]

    @property
    def size(self) -> int:
        return self._matrix.shape[1]

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """T(I, x_r, x_r) for every column of ``vectors`` (k, r): shape (k, r)."""
        return self._matrix.T @ pair_products(vectors)


def rank_one_sum(eigenvalues: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Σ_r λ_r v_r⊗v_r⊗v_r for eigenvalues (r,) and vectors (k, r)."""
    k, r = vectors.shape
    pairs = (vectors[:, None, :] * vectors).reshape(k * k, r)
    return (pairs @ (vectors * eigenvalues).T).reshape(k, k, k)


def relative_residual(tensor: np.ndarray, eigenvalues: np.ndarray, vectors: np.ndarray) -> float:
    """‖T − Σ λ v⊗v⊗v‖ / ‖T‖ in the Frobenius norm; 0 for a zero tensor."""
    norm = float(np.linalg.norm(tensor))
    return float(np.linalg.norm(tensor - rank_one_sum(eigenvalues, vectors))) / norm if norm > 0 else 0.0


def nearest_orthogonal(matrix: np.ndarray) -> np.ndarray:
    """The polar factor: the matrix with orthonormal columns nearest to ``matrix``."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def random_orthogonal(size: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix of shape (size, size)."""
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def unit_columns(matrix: np.ndarray) -> np.ndarray:
    """Columns scaled to length one; a zero column stays zero."""
    norms = np.linalg.norm(matrix, axis=0)
    return matrix / np.where(norms > 0, norms, 1.0)


def largest_turn(new: np.ndarray, old: np.ndarray) -> float:
    """How far the unit columns moved between two iterations, signs ignored: the largest sine, at most one."""
    cosine = np.abs((new * old).sum(axis=0))
    sign = np.where((new * old).sum(axis=0) < 0, -1.0, 1.0)
    return float(np.where(cosine < 0.5, 1.0, np.linalg.norm(new - old * sign, axis=0)).max())
