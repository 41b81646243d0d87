"""The words of some documents as arrays of numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from spectral_spark.text.phrases import PhraseMatcher
from spectral_spark.text.token_batch import Tokens
from spectral_spark.text.word_numbers import WordNumbers


@dataclass(frozen=True, eq=False)
class DocumentWords:
    """The words of some documents, by their numbers.

    Attributes
    ----------
    starts : of shape (documents + 1,); where the words of each document start.
    words, counts : numbers and how often they occur; counts are None where every occurrence is listed, in its order.
    breaks : where words are in their order: whether a word does not continue the one before it.
    damaged : of shape (documents,); documents that could not be read.
    """

    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray | None
    breaks: np.ndarray | None
    damaged: np.ndarray

    @classmethod
    def of_tokens(cls, tokens: Tokens, numbers: WordNumbers) -> "DocumentWords":
        found = numbers.of_raw(tokens.distinct)[tokens.words] if tokens.distinct else np.zeros(0, np.int64)
        kept = found >= 0
        starts = np.concatenate(([0], np.cumsum(kept)))[tokens.starts]
        breaks = None
        if tokens.follows is not None:
            before = np.concatenate(([False], kept[:-1])) if len(kept) else kept
            breaks = ~(tokens.follows & before)[kept]
        return cls(starts, found[kept], None, breaks, tokens.damaged)

    def with_phrases(self, matcher: PhraseMatcher) -> "DocumentWords":
        """The documents with phrases in the place of their words; needs words in their order."""
        assert self.breaks is not None
        words, left = matcher.apply(self.words, ~self.breaks)
        starts = np.concatenate(([0], np.cumsum(left)))[self.starts]
        return DocumentWords(starts, words, None, self.breaks[left], self.damaged)

    @property
    def lengths(self) -> np.ndarray:
        """Occurrences of words in each document."""
        if self.counts is None:
            return np.diff(self.starts)
        return np.diff(np.concatenate(([0], np.cumsum(self.counts)))[self.starts])

    def bags(self, n_words: int) -> sparse.csr_matrix:
        """Documents by words."""
        counts = np.ones(len(self.words), np.int64) if self.counts is None else self.counts
        matrix = sparse.csr_matrix((counts, self.words, self.starts), shape=(len(self.starts) - 1, n_words))
        matrix.sum_duplicates()
        return matrix

    def columns(self, bags: sparse.csr_matrix, hashes: np.ndarray, *, ordered: bool) -> tuple[pa.Array, pa.Array]:
        """Hashes and counts of every document as bytes; ordered: every word, after a zero where a phrase must end.

        Parameters
        ----------
        bags : documents by words.
        hashes : of the words, by their numbers.
        """
        if ordered and self.breaks is not None:
            gaps = np.flatnonzero(self.breaks)
            sequence = np.insert(hashes[self.words], gaps, 0)
            starts = self.starts + np.concatenate(([0], np.cumsum(self.breaks)))[self.starts]
            return binary_column(sequence, starts), pa.nulls(len(starts) - 1, pa.binary())
        return (binary_column(hashes[bags.indices], bags.indptr),
                binary_column(bags.data.astype(np.int32), bags.indptr))

    def contents(self, numbers: WordNumbers) -> Iterator[bytes]:
        """The counts of each document, in an order that depends on the words alone."""
        bags = self.bags(len(numbers))
        for row in range(bags.shape[0]):
            mine = slice(bags.indptr[row], bags.indptr[row + 1])
            pairs = zip((numbers.words[number] for number in bags.indices[mine]), bags.data[mine].tolist(), strict=True)
            yield repr(sorted(pairs)).encode("utf-8", "replace")


def binary_column(values: np.ndarray, starts: np.ndarray) -> pa.Array:
    """Rows of numbers as bytes; row i has ``values[starts[i]:starts[i + 1]]``."""
    offsets = (starts * values.dtype.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts) - 1,
                                 [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))])
