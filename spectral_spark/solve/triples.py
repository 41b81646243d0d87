"""Sums over all triples of different words of a document, for many vectors at once: compiled if numba is installed."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp


@cache
def _compiled() -> Callable[..., None] | None:
    """The loop compiled by numba, or None without it."""
    if find_spec("numba") is None:
        return None
    from numba import njit

    loop: Any = njit(_loop, nogil=True, error_model="numpy", fastmath={"contract"})
    return loop


def triple_sums(counts: sp.csr_matrix, weights: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Σ_d w_d c_w ((x − a_w)² − (y − a_w²)), x = Σ c a and y = Σ c a² of document d: array of shape (words, r).

    Parameters
    ----------
    counts : sparse array of shape (n, words), c.
    weights : array of shape (n,).
    words : array of shape (words, r), a.
    """
    loop = _compiled()
    if loop is None:
        return _products(counts, weights, words)
    sums, scratch = np.zeros(words.shape), np.empty((2, words.shape[1]))
    loop(counts.indptr, counts.indices, counts.data, weights, words, sums, scratch)
    return sums


def _loop(
    indptr: np.ndarray, terms: np.ndarray, counts: np.ndarray, weights: np.ndarray, words: np.ndarray,
    sums: np.ndarray, scratch: np.ndarray,
) -> None:
    x, rest, columns = scratch[0], scratch[1], words.shape[1]
    for d in range(len(indptr) - 1):
        for j in range(columns):
            x[j] = rest[j] = 0.0
        for t in range(indptr[d], indptr[d + 1]):
            word, count = terms[t], counts[t]
            for j in range(columns):
                x[j] += count * words[word, j]
                rest[j] -= count * words[word, j] * words[word, j]
        for j in range(columns):
            rest[j] += x[j] * x[j]
        for t in range(indptr[d], indptr[d + 1]):
            word, weight = terms[t], weights[d] * counts[t]
            for j in range(columns):
                a = words[word, j]
                sums[word, j] += weight * (rest[j] - 2.0 * a * (x[j] - a))


def _products(counts: sp.csr_matrix, weights: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The same as sparse products, about ten times as slow."""
    by_word, weight = counts.T.tocsr(), weights[:, None]
    x = np.asarray(counts @ words)
    pairs = x * x - counts @ (words * words)
    total = np.asarray(by_word @ weight)
    return np.asarray(by_word @ (weight * pairs) - 2.0 * words * (by_word @ (weight * x) - total * words))
