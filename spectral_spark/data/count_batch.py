"""A batch of documents: the input of every kernel of topic models."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
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
    def matrix(self) -> sp.csr_matrix:
        """The counts as a (n, d) sparse matrix sharing these arrays."""
        return sp.csr_matrix(
            (self.counts, self.terms, self.indptr), shape=(self.n_documents, self.vocab_size), copy=False
        )
