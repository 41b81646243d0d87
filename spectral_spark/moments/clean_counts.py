"""Validates and caps word counts, and drops documents that are too short for a third moment."""

import numpy as np

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.errors import InputError, SettingsError

FEWEST_WORDS = 3


def validate(batch: CountBatch) -> None:
    """Refuse NaN, infinite, negative or fractional counts and words or nodes that do not exist."""
    counts, n = batch.counts, batch.n_documents
    wrong = ~(np.isfinite(counts) & (counts >= 0)) | (np.floor(counts) != counts)
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"word counts: {counts[entry]} for word {batch.terms[entry]} {_where(batch, entry)}; "
            "counts are whole numbers from 0 on (no tf-idf weights, no missing values)"
        )
    strange = (batch.terms < 0) | (batch.terms >= batch.vocab_size)
    if strange.any():
        entry = int(np.flatnonzero(strange)[0])
        raise InputError(
            f"word ids: {batch.terms[entry]} {_where(batch, entry)}; the vocabulary has {batch.vocab_size} words, "
            "numbered from 0"
        )
    if len(batch.nodes) != n or (n and batch.nodes.min() < 0):
        raise InputError(f"document tree: {len(batch.nodes)} nodes, lowest {batch.nodes.min(initial=0)}, "
                         f"for {n} documents; give each document its node, 0 is the root")


def capped(batch: CountBatch, cap: int | None) -> CountBatch:
    """The batch with counts of at most ``cap``, since bursty words would dominate third moments. None: unchanged."""
    if cap is None:
        return batch
    if not cap >= 1:
        raise SettingsError(f"count cap {cap}: give 1 or more, or None to take counts as they are")
    return CountBatch(batch.indptr, batch.terms, np.minimum(batch.counts, float(cap)), batch.nodes, batch.keys,
                      batch.vocab_size)


def drop_short(batch: CountBatch, minimum: int = FEWEST_WORDS) -> tuple[CountBatch, int]:
    """The documents with at least ``minimum`` words, and the number of those with fewer."""
    keep = batch.lengths >= minimum
    dropped = int(len(keep) - keep.sum())
    return (batch, 0) if dropped == 0 else (selected_documents(batch, keep), dropped)


def prepared(batch: CountBatch, vocab_size: int, cap: int | None) -> tuple[CountBatch, int]:
    """The batch validated, capped and without documents that are then too short, and the number of the latter."""
    if batch.vocab_size != vocab_size:
        raise InputError(f"documents over {batch.vocab_size} words, a vocabulary of {vocab_size}; "
                         "map them to the vocabulary of the fit")
    validate(batch)
    return drop_short(capped(batch, cap))


def _where(batch: CountBatch, entry: int) -> str:
    return f"in document {int(np.searchsorted(batch.indptr, entry, side='right')) - 1} of the batch"
