"""Documents and moments in the basis: what the kernels see of a batch, and what the solvers see of a corpus."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch


@dataclass(frozen=True, eq=False)
class ProjectedMoments:
    """Unbiased weighted-mean moments in a basis of p columns (weights sum to one).

    Attributes
    ----------
    first : array of shape (p,), BᵀM1.
    second : symmetric array of shape (p, p), BᵀM2B.
    third : symmetric array of shape (p, p, p), M3(B, B, B).
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class WordIndex:
    """Renumbers the words that occur in a batch, so that sums over words touch their rows only and never all d."""

    def __init__(self, vocab_size: int) -> None:
        self._seen = np.zeros(vocab_size, dtype=bool)
        self._position = np.zeros(vocab_size, dtype=np.int32)

    def by_word(self, batch: CountBatch) -> tuple[np.ndarray, sp.csr_matrix]:
        """The words of the batch in order, shape (u,), and its counts by word, sparse rows of shape (u, n)."""
        self._seen[batch.terms] = True
        words = np.flatnonzero(self._seen)
        self._seen[words] = False
        self._position[words] = np.arange(len(words), dtype=np.int32)
        shape = (batch.n_documents, len(words))
        counts = sp.csr_matrix((batch.counts, self._position[batch.terms], batch.indptr), shape=shape, copy=False)
        return words, counts.T.tocsr()


class ProjectedBatch:
    """Documents with at least three words each, seen through a projection.

    Attributes
    ----------
    documents : the batch.
    words : int array of shape (u,), the words that occur.
    counts_by_word : sparse array of shape (u, n) over these words.
    lengths : array of shape (n,), m.
    y : array of shape (n, q), the projected counts Bᵀc.
    """

    def __init__(self, documents: CountBatch, projection: np.ndarray, index: WordIndex) -> None:
        self.documents = documents
        self.words, self.counts_by_word = index.by_word(documents)
        self.lengths = documents.lengths
        self.y = np.asarray(documents.matrix @ projection)

    @cached_property
    def by_direction(self) -> np.ndarray:
        """yᵀ of shape (q, n) in C order, as the cubes need it."""
        return np.ascontiguousarray(self.y.T)

    def word_sums(self, weights: np.ndarray) -> np.ndarray:
        """Σ w c over documents for weights of shape (n,) or (n, r): shape (u,) or (u, r)."""
        return np.asarray(self.counts_by_word @ weights)

    @cached_property
    def per_word(self) -> np.ndarray:
        """1/m."""
        return 1.0 / self.lengths

    @cached_property
    def per_pair(self) -> np.ndarray:
        """1/(m(m−1)): ordered pairs of distinct words of a document."""
        return self.per_word / (self.lengths - 1.0)

    @cached_property
    def per_triple(self) -> np.ndarray:
        """1/(m(m−1)(m−2))."""
        return self.per_pair / (self.lengths - 2.0)
