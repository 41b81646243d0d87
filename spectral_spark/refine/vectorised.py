"""The same in NumPy: what runs where numba is not installed. Equal results, to rounding."""

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

from spectral_spark.refine.random_words import DOCUMENT_STEP, FIXED_POINT, MIX_1, MIX_2, WORD_STEP

SWEEP_DOCUMENTS = 8192


def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    means: np.ndarray, concentration: np.ndarray, weights: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    """See ``backend.Backend.e_step``."""
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


def sweep(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, prior: np.ndarray,
    likelihood: np.ndarray, scale: np.ndarray, first: int, last: int, seed: int, cold: bool, tables: np.ndarray,
) -> None:
    """See ``backend.Backend.sweep``: many documents at once, the longest first, one word of each after the other."""
    longest_first = first + np.argsort(-np.diff(indptr[first : last + 1]), kind="stable")
    for start in range(0, last - first, SWEEP_DOCUMENTS):
        numbers = longest_first[start : start + SWEEP_DOCUMENTS]
        lengths = indptr[numbers + 1] - indptr[numbers]
        node, size = nodes[numbers], scale[numbers, None]
        counts = np.zeros((len(numbers), prior.shape[1]), np.int32)
        if not cold:
            owner = np.repeat(np.arange(len(numbers)), lengths)
            at = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths - indptr[numbers], lengths)
            np.add.at(counts, (owner, topics[at]), 1)
        alpha = prior[node]
        load = (alpha + counts.astype(np.float32)) * size
        x = np.uint64(seed) + numbers.astype(np.uint64) * np.uint64(DOCUMENT_STEP)

        def put(rows: np.ndarray, topic: np.ndarray, change: int) -> None:
            counts[rows, topic] += change                                                      # noqa: B023
            load[rows, topic] = (alpha[rows, topic] + counts[rows, topic].astype(np.float32)) * size[rows, 0]  # noqa: B023

        for t in range(int(lengths.max(initial=0))):
            rows = np.arange(int(np.searchsorted(-lengths, -t)))           # those with more than t words
            at = indptr[numbers[rows]] + t
            old = topics[at]
            if not cold:
                put(rows, old, -1)
            weight = (load[rows] * likelihood[words[at], : load.shape[1]]).astype(np.int32)
            x = x + np.uint64(WORD_STEP)
            left = _below(x[rows], weight.sum(axis=1, dtype=np.int64)) - weight[rows, old]
            weight[rows, old] = 0
            new = (np.cumsum(weight, axis=1) <= left[:, None]).sum(axis=1)
            new = np.where((left < 0) | (new == load.shape[1]), old, new)
            topics[at] = new
            put(rows, new, 1)
        np.add.at(tables, node, (_draws(alpha.astype(np.float64), counts) * FIXED_POINT).astype(np.int64))


def count_words(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, weights: np.ndarray, counts: np.ndarray
) -> None:
    """See ``backend.Backend.count_words``."""
    np.add.at(counts, (words, topics), np.repeat(weights, np.diff(indptr)))


def _below(x: np.ndarray, total: np.ndarray) -> np.ndarray:
    """A random whole number below each total, from the state of its generator."""
    y = (x ^ (x >> np.uint64(30))) * np.uint64(MIX_1)
    y = (y ^ (y >> np.uint64(27))) * np.uint64(MIX_2)
    y ^= y >> np.uint64(31)
    return (((y >> np.uint64(32)) * total.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)


def _draws(alpha: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Σ_{i<n} α/(α + i), added up in this order."""
    draws = np.zeros(alpha.shape)
    for i in range(int(counts.max(initial=0))):
        more = counts > i
        draws[more] += alpha[more] / (alpha[more] + i)
    return draws
