"""The inner loops in NumPy, for machines without numba and for a few documents. Results are equal up to rounding.

SciPy is imported where it is used: a quarter of a second, which counts where one text is scored by a new process.
"""

from typing import TYPE_CHECKING

import numpy as np

from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits, unit_interval
from spectral_spark.refine.fixed_point import DOCUMENT_STEP, FIXED_POINT, PRIOR_BITS, PRIOR_STEPS

if TYPE_CHECKING:
    import scipy.sparse as sp

SWEEP_DOCUMENTS = 8192


def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    means: np.ndarray, concentration: np.ndarray, weights: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    """See ``backend.Backend.e_step``."""
    from scipy.special import digamma

    ratios = _Ratios(indptr, slots, counts, rows)
    theta, prior = means, concentration[:, None] * means
    for _ in range(iterations):
        log_theta = digamma(theta * (ratios(theta) @ rows) + prior)
        theta = np.exp(log_theta - log_theta.max(axis=1, keepdims=True))
    final = ratios(theta)
    statistics += (final.T @ (weights[:, None] * theta)) * rows
    expected = theta * (final @ rows)
    words = np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    np.add.at(node_counts, nodes, expected / words)
    np.add.at(node_tables, nodes, prior * (digamma(prior + expected) - digamma(prior)))


def infer(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: np.ndarray, iterations: int
) -> np.ndarray:
    """Posterior-mean proportions, see ``fold_in.infer``; prior has shape (n, k)."""
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

    def __call__(self, theta: np.ndarray) -> "sp.csr_matrix":
        import scipy.sparse as sp

        ratio = self._counts / np.einsum("ij,ij->i", self._words, theta[self._owner])
        return sp.csr_matrix((ratio, self._slots, self._indptr), shape=self._shape)


def sweep(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, weights: np.ndarray,
    prior: np.ndarray, likelihood: np.ndarray, first: int, last: int, seed: int, cold: bool,
    counts: np.ndarray, tables: np.ndarray, streams: np.ndarray | None = None,
) -> None:
    """See ``backend.Backend.sweep``: many documents at once, the longest first, one word of each after the other."""
    longest_first = first + np.argsort(-np.diff(indptr[first : last + 1]), kind="stable")
    for start in range(0, last - first, SWEEP_DOCUMENTS):
        numbers = longest_first[start : start + SWEEP_DOCUMENTS]
        lengths = indptr[numbers + 1] - indptr[numbers]
        many = np.zeros((len(numbers), prior.shape[1]), np.int64)
        if not cold:
            owner = np.repeat(np.arange(len(numbers)), lengths)
            at = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths - indptr[numbers], lengths)
            np.add.at(many, (owner, topics[at]), 1)
        alpha = prior[nodes[numbers]]
        x = np.uint64(seed) + (numbers.astype(np.uint64) if streams is None else streams[numbers]) * DOCUMENT_STEP
        for t in range(int(lengths.max(initial=0))):
            rows = np.arange(int(np.searchsorted(-lengths, -t)))           # those with more than t words
            at = indptr[numbers[rows]] + t
            if not cold:
                many[rows, topics[at]] -= 1
            x = x + GOLDEN_GAMMA
            new = _drawn(many[rows], alpha[rows], likelihood[words[at]].astype(np.int64), x[rows])
            topics[at] = new
            many[rows, new] += 1
            np.add.at(counts, (words[at], new), weights[numbers[rows]].astype(counts.dtype))
        draws = _draws(alpha / PRIOR_STEPS, many)
        np.add.at(tables, nodes[numbers], (draws * FIXED_POINT).astype(np.int64))


def _drawn(many: np.ndarray, alpha: np.ndarray, likelihood: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The topic of one word of each document: first the topics of its document, then all topics by their prior."""
    inside, around = np.cumsum(many * likelihood, axis=1), np.cumsum(alpha * likelihood, axis=1)
    total = inside[:, -1]
    left = (unit_interval(mixed_bits(x)) * (total * PRIOR_STEPS + around[:, -1]).astype(np.float64)).astype(np.int64)
    found = (inside <= (left >> PRIOR_BITS)[:, None]).sum(axis=1)
    beyond = (around <= (left - total * PRIOR_STEPS)[:, None]).sum(axis=1)
    last = many.shape[1] - 1
    return np.where(found <= last, found, np.minimum(beyond, last)).astype(np.int32)


def _draws(alpha: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Σ_{i<n} α/(α + i), added up in this order."""
    draws = np.zeros(alpha.shape)
    for i in range(int(counts.max(initial=0))):
        more = counts > i
        draws[more] += alpha[more] / (alpha[more] + i)
    return draws
