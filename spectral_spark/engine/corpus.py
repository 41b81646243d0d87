"""The one interface to documents: count them, sum a kernel over them, take a sample.

A fit never asks where its documents are. :class:`~spectral_spark.engine.driver_corpus.DriverCorpus` holds a small
corpus in the driver's memory, :class:`~spectral_spark.engine.executor_corpus.ExecutorCorpus` spreads a large one over
the executors, and both give the same bits; ``choose_corpus`` decides which one it is. A :class:`CountedCorpus` is one
of them with its census: the document tree, documents and words of every node, and what was dropped.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from typing_extensions import Self

from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.pack_counts import BLOCK_DOCUMENTS, CountDecoder
from spectral_spark.engine.packing import Decoder
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.tree_sum import State, TreeSum
from spectral_spark.engine.word_sweeps import WordSweeps
from spectral_spark.errors import InputError, NoDocumentsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

NODE_COUNTS = ("documents", "tokens", "tokens_squared", "tokens_cubed")


@dataclass(frozen=True, eq=False)
class PathCounts:
    """What packing counted beside the documents, added up.

    Attributes
    ----------
    tokens : words of the kept documents, before any cap.
    dropped : dropped documents by reason.
    hashes : int array of shape (paths,), the hash of every distinct path.
    paths : the distinct paths of the document tree.
    counts : for every name in ``NODE_COUNTS``, an array of shape (paths,).
    """

    tokens: int
    dropped: dict[str, int]
    hashes: np.ndarray
    paths: list[tuple[str, ...]]
    counts: dict[str, np.ndarray]


class Corpus(ABC):
    """Packed documents, ready for passes; a context manager that releases them at its end.

    Attributes
    ----------
    spark : the session.
    progress : where passes report how far they are.
    decode : packed row → the batch that a kernel takes. The census replaces it by one that knows the document tree.
    shards : number of logical shards, a power of two, set by the data alone.
    rows : documents (or vectors) in the input.
    """

    def __init__(self, spark: SparkSession, progress: Progress, decode: Decoder, shards: int, rows: int) -> None:
        self.spark, self.progress, self.decode, self.shards, self.rows = spark, progress, decode, shards, rows

    @property
    def depth(self) -> int:
        """Levels of the fixed binary tree over the shards."""
        return self.shards.bit_length() - 1

    @abstractmethod
    def count(self) -> PathCounts:
        """Documents and words of every path of the document tree, and how many documents were dropped."""

    @abstractmethod
    def sample(self, rounds: int = 1) -> list[Any]:
        """One ``rounds``-th of the blocks as decoded batches on the driver, in the order of shards and blocks."""

    @abstractmethod
    def identities(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every kept document or row: the hash of its identity (int64) and of its content (uint32)."""

    @abstractmethod
    def word_sweeps(self) -> WordSweeps:
        """Gibbs sampling over all documents of word counts; a context manager that releases their topics at its end."""

    @abstractmethod
    def close(self) -> None:
        """Release the working copy."""

    @abstractmethod
    def _sum_shards(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], round: int, rounds: int, state_bytes: int, top: int
    ) -> TreeSum:
        """The shards' states of one ``rounds``-th of the blocks, merged up to level ``top`` of the fixed tree."""

    def sum(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], *, name: str, round: int = 0, rounds: int = 1,
        state_bytes: int = 0, may_be_empty: bool = False,
    ) -> State:
        """One pass: the sum of the kernel's states over all documents, or over one ``rounds``-th of their blocks.

        Parameters
        ----------
        kernel, shared : what runs over the documents, and the arrays that it needs there.
        name : shown in the Spark UI and on the progress line.
        state_bytes : size of one state, if known; executors add large states by row blocks.
        may_be_empty : return no arrays, instead of raising, if this round has no documents.
        """
        with self.progress.watch(self.spark, name, round, rounds):
            total = self._sum_shards(kernel, shared, round, rounds, state_bytes, self.depth).finish(self.depth)
        if total is None and may_be_empty:
            return {}
        if total is None:
            raise InputError(f"{name}: no documents to work on; all were dropped or the selection is empty")
        return total

    def sum_halves(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], *, name: str, rounds: int = 1, state_bytes: int = 0,
    ) -> tuple[State, State]:
        """One pass as the sums of two half samples, which are the two halves of the logical shards."""
        with self.progress.watch(self.spark, name, 0, rounds):
            sums = self._sum_shards(kernel, shared, 0, rounds, state_bytes, self.depth - 1)
            first, second = sums.halves(self.depth)
        known = first if first is not None else second
        if known is None:
            raise InputError(f"{name}: no documents to work on; all were dropped")
        empty = {key: np.zeros_like(array) for key, array in known.items()}
        return first if first is not None else empty, second if second is not None else empty

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, eq=False)
class CountedCorpus:
    """A corpus and its census.

    Attributes
    ----------
    packed : the documents; their batches carry node numbers of ``census.tree``.
    census : documents and words of every node, after dropping.
    tokens : words in the kept documents, before any cap.
    dropped : dropped documents by reason.
    vocab_size : number of words d.
    """

    packed: Corpus
    census: Census
    tokens: int
    dropped: dict[str, int]
    vocab_size: int

    @property
    def documents(self) -> int:
        return int(self.census.documents.sum())

    @property
    def documents_per_shard(self) -> float:
        return self.documents / self.packed.shards

    def rounds_for(self, documents: int) -> int:
        """Into how many rounds to cut the corpus so that one of them is a sample of about so many documents."""
        blocks = self.documents / BLOCK_DOCUMENTS
        return max(1, int(blocks / max(self.packed.shards, documents / BLOCK_DOCUMENTS)))


def take_census(packed: Corpus, vocab_size: int) -> CountedCorpus:
    """Count the documents of every tree node. From here on, batches of the corpus carry the nodes' numbers."""
    counted = packed.count()
    if not counted.paths:
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counted.dropped.items() if count)
        raise NoDocumentsError(f"no document is left to work on; dropped: {reasons or 'none'}", counted.dropped)
    hashes = counted.hashes
    if len(np.unique(hashes)) != len(hashes):
        raise InputError("two different paths of the document tree have the same hash; rename one of the groups")
    tree, nodes = DocumentTree.with_nodes(counted.paths)
    counts = {name: np.zeros(len(tree.paths)) for name in NODE_COUNTS}
    for name, column in counts.items():
        column[nodes] = counted.counts[name]
    order = np.argsort(hashes)
    packed.decode = CountDecoder(vocab_size, hashes[order], nodes[order])
    census = Census(tree, counts.pop("documents").astype(np.int64), **counts)
    return CountedCorpus(packed, census, counted.tokens, counted.dropped, vocab_size)
