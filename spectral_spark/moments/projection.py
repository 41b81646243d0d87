"""Documents on their way into the moments: counts are validated and capped, then projected onto the basis."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.errors import InputError, SettingsError

FEWEST_WORDS = 3


@dataclass(frozen=True, eq=False)
class ProjectedMoments:
    """Unbiased weighted-mean moments in a basis of p columns (weights sum to one).

    Attributes
    ----------
    first : array of shape (p,), BᵀM1.
    second : symmetric array of shape (p, p), BᵀM2B.
    third : symmetric array of shape (p, p, p), M3(B, B, B); None if it was not collected.
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray | None = None


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
