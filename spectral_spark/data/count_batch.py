"""A batch of documents: the input of every kernel of topic models."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class CountBatch:
    """Word counts of n documents in compressed rows.

    Parameters
    ----------
    indptr : int array of shape (n + 1,), document i owns entries indptr[i]:indptr[i + 1].
    terms : int32 array of shape (nnz,), word ids, distinct within a document.
    counts : float64 array of shape (nnz,), positive whole numbers.
    nodes : int32 array of shape (n,), the tree node that owns each document (0 is the root).
    keys : int64 array of shape (n,), a stable hash of each document: the only source of per-document randomness.
    vocab_size : number of words d.
    """

    indptr: np.ndarray
    terms: np.ndarray
    counts: np.ndarray
    nodes: np.ndarray
    keys: np.ndarray
    vocab_size: int

    @property
    def n_documents(self) -> int:
        return len(self.indptr) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Words per document, m, of shape (n,)."""
        ends = np.concatenate(([0.0], np.cumsum(self.counts)))
        return ends[self.indptr[1:]] - ends[self.indptr[:-1]]

    @cached_property
    def matrix(self) -> "sp.csr_matrix":
        """The counts as a (n, d) sparse matrix sharing these arrays."""
        import scipy.sparse as sp

        return sp.csr_matrix(
            (self.counts, self.terms, self.indptr), shape=(self.n_documents, self.vocab_size), copy=False
        )


def selected_documents(batch: CountBatch, keep: np.ndarray) -> CountBatch:
    """The documents where ``keep``, a bool array of shape (n,), is true, in their order."""
    sizes = np.diff(batch.indptr)
    entries = np.repeat(keep, sizes)
    indptr = np.concatenate(([0], np.cumsum(sizes[keep]))).astype(batch.indptr.dtype)
    return CountBatch(
        indptr, batch.terms[entries], batch.counts[entries], batch.nodes[keep], batch.keys[keep], batch.vocab_size
    )


def joined_batches(batches: Sequence[CountBatch], vocab_size: int) -> CountBatch:
    """All documents of several batches, in their order."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(batch.indptr) for batch in batches)])
    return CountBatch(
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(batch.terms for batch in batches)]),
        np.concatenate([np.zeros(0), *(batch.counts for batch in batches)]),
        np.concatenate([np.zeros(0, np.int32), *(batch.nodes for batch in batches)]),
        np.concatenate([np.zeros(0, np.int64), *(batch.keys for batch in batches)]),
        vocab_size,
    )
