"""Gibbs sampling over all documents of a corpus, where they are: on the driver or on the executors.

The topic of every word stays with the documents from sweep to sweep; only whole-numbered counts travel.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.corpus_gibbs import DocumentLengths
from spectral_spark.refine.topic_counts import thread_number
from spectral_spark.refine.word_topics import SweepKernel, WordBlock, word_blocks

BLOCK_WORDS = 1 << 20


class WordSweeps(ABC):
    """The documents of a corpus as words that hold topics; a context manager that releases them at its end."""

    @abstractmethod
    def lengths(self) -> DocumentLengths:
        """How long the documents are."""

    @abstractmethod
    def sweep(self, kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw the topic of every word once more.

        Returns the sums of ``SweepAccumulator`` over all documents. Words hold the new topics only if the sweep has
        succeeded.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the words and their topics."""


class DriverSweeps(WordSweeps):
    """Words in the driver's memory, swept by its threads."""

    def __init__(self, shards: Iterable[Sequence[CountBatch]], threads: int) -> None:
        self._blocks = list(word_blocks(shards, BLOCK_WORDS))
        self._threads = threads

    def lengths(self) -> DocumentLengths:
        return joined_lengths([block_lengths(block) for block in self._blocks])

    def sweep(self, kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        cells = shared["likelihood"].size + shared["prior"].size
        threads = thread_number(min(self._threads, len(self._blocks)), cells, np.int64)
        sums = [kernel.start(shared) for _ in range(threads)]

        def part(number: int) -> list[WordBlock]:
            return [sums[number].add(block) for block in self._blocks[number::threads]]

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(part, range(threads)))
        for number, blocks in enumerate(parts):
            self._blocks[number::threads] = blocks
        total = {name: array.astype(np.int64, copy=False) for name, array in sums[0].arrays().items()}
        for other in sums[1:]:
            for name, array in other.arrays().items():
                total[name] += array
        return total

    def close(self) -> None:
        self._blocks = []


def block_lengths(block: WordBlock) -> np.ndarray:
    """(node, length, documents) of one block as columns of an int64 array of shape (rows, 3)."""
    pairs, documents = np.unique(
        np.column_stack([block.nodes.astype(np.int64), np.diff(block.indptr)]), axis=0, return_counts=True
    )
    return np.column_stack([pairs, documents])


def joined_lengths(parts: Sequence[np.ndarray]) -> DocumentLengths:
    """The lengths of several blocks together."""
    rows = np.concatenate([np.zeros((0, 3), np.int64), *parts])
    pairs, place = np.unique(rows[:, :2], axis=0, return_inverse=True)
    documents = np.zeros(len(pairs), np.int64)
    np.add.at(documents, place.reshape(-1), rows[:, 2])
    return DocumentLengths(pairs[:, 0], pairs[:, 1], documents)
