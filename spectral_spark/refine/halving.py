"""Splits every held-out document into an observed and a hidden half by a seeded hash of its tokens (formulas §12)."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import next_bits

LARGEST_EXACT = 1 << 16
_TOKENS_AT_ONCE = 1 << 20


def token_bits(keys: np.ndarray, terms: np.ndarray, positions: np.ndarray, seed: int) -> np.ndarray:
    """A fair coin for each token, a function of (seed, document key, word, which occurrence) and of nothing else.

    Parameters
    ----------
    keys, terms, positions : int arrays of shape (tokens,).

    Returns
    -------
    bool array of shape (tokens,).
    """
    return (_hashes(keys, terms, positions, seed) >> np.uint64(63)).astype(bool)


def halve(batch: CountBatch, seed: int) -> tuple[CountBatch, CountBatch]:
    """Split the tokens of each document in two; the memory this takes does not depend on the counts.

    Every occurrence of a word gets a coin of its own. A word that occurs more than ``LARGEST_EXACT`` times in one
    document is split as a whole instead, by a binomial draw from the same hash.

    Returns
    -------
    observed, hidden : batches of the same documents (possibly with empty rows) with arrays of their own; their counts
        add up to those of ``batch``.
    """
    whole = np.rint(batch.counts).astype(np.int64)
    document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    keys = batch.keys[document]
    exact = np.where(whole <= LARGEST_EXACT, whole, 0)
    observed = np.zeros(len(whole))
    for part in _slices(exact):
        observed[part] = _coins(keys[part], batch.terms[part], exact[part], seed)
    large = np.flatnonzero(whole > LARGEST_EXACT)
    if len(large):
        observed[large] = _binomial(keys[large], batch.terms[large], whole[large], seed)
    return _with_counts(batch, document, observed), _with_counts(batch, document, whole - observed)


def _hashes(keys: np.ndarray, terms: np.ndarray, positions: np.ndarray, seed: int) -> np.ndarray:
    state = next_bits(np.array([seed], np.int64).view(np.uint64))
    for part in (keys, terms, positions):
        state = next_bits(state ^ np.asarray(part, np.int64).view(np.uint64))
    return state


def _slices(counts: np.ndarray) -> Iterator[slice]:
    """Runs of entries with about ``_TOKENS_AT_ONCE`` tokens each."""
    number = (np.cumsum(counts) - counts) // _TOKENS_AT_ONCE
    bounds = [0, *(np.flatnonzero(np.diff(number)) + 1), len(counts)]
    return (slice(start, end) for start, end in pairwise(bounds))


def _coins(keys: np.ndarray, terms: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """How many of the tokens of each entry show heads, one coin per token."""
    entry = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    bits = token_bits(keys[entry], terms[entry], positions, seed)
    return np.bincount(entry[bits], minlength=len(counts)).astype(np.float64)


def _binomial(keys: np.ndarray, terms: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """Heads among very many fair coins: the normal quantile of one hash per entry, rounded to a whole number.

    With a fair coin and more than ``LARGEST_EXACT`` throws this differs from the exact binomial quantile by at most
    one for all but the outermost tails.
    """
    uniform = ((_hashes(keys, terms, np.full(len(counts), -1), seed) >> np.uint64(12)) + 0.5) * 2.0**-52
    return np.clip(np.rint(0.5 * counts + 0.5 * np.sqrt(counts) * ndtri(uniform)), 0, counts)


def _with_counts(batch: CountBatch, document: np.ndarray, counts: np.ndarray) -> CountBatch:
    kept = counts > 0
    indptr = np.concatenate(([0], np.cumsum(np.bincount(document[kept], minlength=batch.n_documents))))
    return CountBatch(indptr, batch.terms[kept], counts[kept], batch.nodes, batch.keys, batch.vocab_size)
