"""Every token of a held-out document goes to the observed or the hidden half by a seeded hash."""

import numpy as np

from spectral_spark.data.count_batch import CountBatch

_GOLDEN, _FIRST, _SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mixed(values: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser: a bijection of 64-bit words whose output bits look independent."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))


def token_bits(keys: np.ndarray, terms: np.ndarray, positions: np.ndarray, seed: int) -> np.ndarray:
    """A fair coin for each token, a function of (seed, document key, word, which occurrence) and of nothing else.

    Parameters
    ----------
    keys, terms, positions : int arrays of shape (tokens,).

    Returns
    -------
    bool array of shape (tokens,).
    """
    state = mixed(np.array([seed], np.int64).view(np.uint64))
    for part in (keys, terms, positions):
        state = mixed(state ^ np.asarray(part, np.int64).view(np.uint64))
    return (state >> np.uint64(63)).astype(bool)


def halve(batch: CountBatch, seed: int) -> tuple[CountBatch, CountBatch]:
    """Split the tokens of each document in two.

    Returns
    -------
    observed, hidden : batches of the same documents (possibly with empty rows) with arrays of their own; their counts
        add up to those of ``batch``.
    """
    whole = np.rint(batch.counts).astype(np.int64)
    entry = np.repeat(np.arange(len(whole)), whole)
    positions = np.arange(len(entry)) - np.repeat(np.cumsum(whole) - whole, whole)
    document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    bits = token_bits(batch.keys[document[entry]], batch.terms[entry], positions, seed)
    observed = np.bincount(entry[bits], minlength=len(whole)).astype(np.float64)
    return _with_counts(batch, document, observed), _with_counts(batch, document, whole - observed)


def _with_counts(batch: CountBatch, document: np.ndarray, counts: np.ndarray) -> CountBatch:
    kept = counts > 0
    indptr = np.concatenate(([0], np.cumsum(np.bincount(document[kept], minlength=batch.n_documents))))
    return CountBatch(indptr, batch.terms[kept], counts[kept], batch.nodes, batch.keys, batch.vocab_size)
