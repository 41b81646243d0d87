"""The E-step in NumPy: what runs where numba is not installed. Same results as the compiled one, to rounding."""

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma


def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    node_prior: np.ndarray, concentration: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    """See ``e_step.EStep``."""
    filled = np.flatnonzero(np.diff(indptr))
    indptr, nodes = np.append(indptr[filled], indptr[-1]), nodes[filled]
    shape = (len(nodes), len(rows))
    owner = np.repeat(np.arange(len(nodes)), np.diff(indptr))
    words = rows[slots]
    theta = node_prior[nodes]
    prior = concentration[nodes, None] * theta

    def ratios(theta: np.ndarray) -> sp.csr_matrix:
        return sp.csr_matrix((counts / np.einsum("ij,ij->i", words, theta[owner]), slots, indptr), shape=shape)

    for _ in range(iterations):
        log_theta = digamma(theta * (ratios(theta) @ rows) + prior)
        theta = np.exp(log_theta - log_theta.max(axis=1, keepdims=True))
    final = ratios(theta)
    statistics += (final.T @ theta) * rows
    expected = theta * (final @ rows)
    np.add.at(node_counts, nodes, expected / expected.sum(axis=1, keepdims=True))
    np.add.at(node_tables, nodes, prior * (digamma(prior + expected) - digamma(prior)))
