"""The same in NumPy: what runs where numba is not installed. Equal results, to rounding."""

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma


def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    means: np.ndarray, concentration: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    """See ``e_step.EStep``."""
    ratios = _Ratios(indptr, slots, counts, rows)
    theta, prior = means, concentration[:, None] * means
    for _ in range(iterations):
        log_theta = digamma(theta * (ratios(theta) @ rows) + prior)
        theta = np.exp(log_theta - log_theta.max(axis=1, keepdims=True))
    final = ratios(theta)
    statistics += (final.T @ theta) * rows
    expected = theta * (final @ rows)
    words = np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    np.add.at(node_counts, nodes, expected / words)
    np.add.at(node_tables, nodes, prior * (digamma(prior + expected) - digamma(prior)))


def infer(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: np.ndarray, iterations: int
) -> np.ndarray:
    """Posterior-mean proportions, see ``infer.infer``; prior has shape (n, k)."""
    ratios = _Ratios(indptr, slots, counts, rows)
    theta = prior / prior.sum(axis=1, keepdims=True)
    for _ in range(iterations):
        theta = theta * (ratios(theta) @ rows) + prior
        theta /= theta.sum(axis=1, keepdims=True)
    return theta


class _Ratios:
    """θ of shape (n, k) ↦ the sparse (n, words) matrix of c_i / Σ_j φ_ij θ_j."""

    def __init__(self, indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray) -> None:
        self._indptr, self._slots, self._counts, self._words = indptr, slots, counts, rows[slots]
        self._owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        self._shape = (len(indptr) - 1, len(rows))

    def __call__(self, theta: np.ndarray) -> sp.csr_matrix:
        ratio = self._counts / np.einsum("ij,ij->i", self._words, theta[self._owner])
        return sp.csr_matrix((ratio, self._slots, self._indptr), shape=self._shape)
