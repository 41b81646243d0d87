"""Gibbs sampling over all documents of a corpus, where they are: on the driver or on the executors.

The topic of every word stays with the documents from sweep to sweep; only whole-numbered counts travel.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.corpus_gibbs import DocumentLengths
from spectral_spark.refine.topic_counts import in_threads, thread_number
from spectral_spark.refine.word_topics import SweepKernel, WordBlock, blocks_by_node

BLOCK_WORDS = 1 << 18


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
    """Words in the driver's memory, in the order of their documents' nodes, swept by its threads."""

    def __init__(self, shards: Iterable[Sequence[CountBatch]], threads: int) -> None:
        self._blocks = blocks_by_node(shards, BLOCK_WORDS)
        self._threads = threads

    def lengths(self) -> DocumentLengths:
        return joined_lengths([block_lengths(block) for block in self._blocks])

    def sweep(self, kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        cells = shared["likelihood"].size + shared["prior"].size
        threads = thread_number(min(self._threads, len(self._blocks)), cells, np.int64)
        sums = [kernel.start(shared) for _ in range(threads)]
        swept, left = list(self._blocks), iter(range(len(self._blocks)))

        def draw(number: int) -> None:
            for at in left:                                 # of all threads together: none waits for a slower one
                swept[at] = sums[number].add(self._blocks[at])

        in_threads(threads, draw)
        self._blocks = swept
        total = {name: array.astype(np.int64, copy=False) for name, array in sums[0].arrays().items()}
        for other in sums[1:]:
            for name, array in other.arrays().items():
                total[name] += array
        return total

    def close(self) -> None:
        self._blocks = []


def block_lengths(block: WordBlock) -> np.ndarray:
    """(node, length, documents) of one block as columns of an int64 array of shape (rows, 3)."""
    return _counted(block.nodes.astype(np.int64), np.diff(block.indptr), np.ones(block.documents, np.int64))


def joined_lengths(parts: Sequence[np.ndarray]) -> DocumentLengths:
    """The lengths of several blocks together."""
    rows = np.concatenate([np.zeros((0, 3), np.int64), *parts])
    return DocumentLengths(*_counted(*rows.T).T)


def _counted(nodes: np.ndarray, lengths: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Documents of the same node and length added up, in the order of nodes and lengths."""
    width = int(lengths.max(initial=0)) + 1
    pairs, place = np.unique(nodes * width + lengths, return_inverse=True)
    total = np.zeros(len(pairs), np.int64)
    np.add.at(total, place, documents)
    return np.column_stack([pairs // width, pairs % width, total])
