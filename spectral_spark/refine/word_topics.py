"""Documents whose every word holds a topic, and the kernel that draws these topics once more (formulas §11).

A sweep draws given topics and priors that stay fixed, the random numbers of a document come from its key, and counts
are whole numbers. So it does not matter which documents share a block, a task or a machine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import FIXED_POINT, PRIOR_STEPS
from spectral_spark.refine.gibbs import LONGEST
from spectral_spark.refine.topic_counts import count_type


@dataclass(frozen=True, eq=False)
class WordBlock:
    """Documents as lists of words, sorted by node.

    Attributes
    ----------
    indptr : int64 array of shape (n + 1,), where the words of each document begin.
    words : int32 array of shape (tokens,), word ids.
    nodes : int32 array of shape (n,), the tree node of each document.
    streams : uint64 array of shape (n,), where the random numbers of each document begin.
    topics : int32 array of shape (tokens,), the topic of every word; zeros before the first sweep.
    """

    indptr: np.ndarray
    words: np.ndarray
    nodes: np.ndarray
    streams: np.ndarray
    topics: np.ndarray

    @property
    def documents(self) -> int:
        return len(self.nodes)


def word_blocks(shards: Iterable[Sequence[CountBatch]], most_words: int) -> Iterator[WordBlock]:
    """The documents of whole shards in blocks of about ``most_words`` words; a very long document becomes several.

    Larger blocks are swept faster: they have more documents of the same node.
    """
    waiting: list[_Listed] = []
    words = 0
    for shard in shards:
        waiting.append(_Listed.of(shard))
        words += len(waiting[-1].words)
        if words >= most_words:
            yield from _cut(waiting, most_words)
            words = 0
    if waiting:
        yield from _cut(waiting, most_words)


def blocks_by_node(shards: Iterable[Sequence[CountBatch]], most_words: int) -> list[WordBlock]:
    """The same documents, in the order of their nodes from the first block to the last.

    What is computed once for every word and node of a block is then hardly ever computed twice.
    """
    return list(_cut([_Listed.of(shard) for shard in shards], most_words))


@dataclass(frozen=True, eq=False)
class _Listed:
    """Documents of whole shards in their order: lengths, nodes and random streams of each, and all their words."""

    lengths: np.ndarray
    nodes: np.ndarray
    streams: np.ndarray
    words: np.ndarray

    @classmethod
    def of(cls, shard: Sequence[CountBatch]) -> "_Listed":
        return cls(
            np.concatenate([batch.lengths for batch in shard]).astype(np.int64),
            np.concatenate([batch.nodes for batch in shard]).astype(np.int32),
            document_streams(np.concatenate([batch.keys for batch in shard])),
            np.concatenate([np.repeat(batch.terms, batch.counts.astype(np.int64)) for batch in shard]).astype(np.int32),
        )


def _cut(listed: list[_Listed], most_words: int) -> Iterator[WordBlock]:
    """Blocks of documents sorted by node; of a document in n pieces, each piece has every n-th word.

    The list is emptied: its words would take as much memory again as the blocks.
    """
    if not listed:
        return
    lengths, nodes, streams, words = (
        np.concatenate([getattr(part, name) for part in listed]) for name in ("lengths", "nodes", "streams", "words")
    )
    listed.clear()
    pieces = -(-lengths // LONGEST)                                  # none of an empty document
    owner = np.repeat(np.arange(len(lengths)), pieces)
    owner = owner[np.argsort(nodes[owner], kind="stable")]
    number = _repetitions(owner)
    step = pieces[owner]
    size = (lengths[owner] - number + step - 1) // step
    start = (np.cumsum(lengths) - lengths)[owner] + number
    parts = np.cumsum(size) // (2 * max(most_words, 1))
    for rows in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(parts)) + 1):
        if len(rows):
            indptr = np.concatenate([[0], np.cumsum(size[rows])]).astype(np.int64)
            at = np.arange(indptr[-1])                               # in place: blocks are large
            at -= np.repeat(indptr[:-1], size[rows])
            at *= np.repeat(step[rows], size[rows])
            at += np.repeat(start[rows], size[rows])
            own = streams[owner[rows]] + number[rows].astype(np.uint64)
            yield WordBlock(indptr, words[at], nodes[owner[rows]], own, np.zeros(len(at), np.int32))


def document_streams(keys: np.ndarray) -> np.ndarray:
    """Where the random numbers of each document begin; documents with the same key, next to each other, differ."""
    return mixed_bits(keys.astype(np.int64).view(np.uint64) + _repetitions(keys).astype(np.uint64) * GOLDEN_GAMMA)


def _repetitions(values: np.ndarray) -> np.ndarray:
    """How often the same value stands directly before each one."""
    places = np.arange(len(values))
    first = np.concatenate([np.ones(min(len(values), 1), bool), values[1:] != values[:-1]])
    repeated: np.ndarray = places - np.maximum.accumulate(np.where(first, places, 0))
    return repeated


@dataclass(frozen=True)
class SweepKernel:
    """Draws the topic of every word once more.

    ``shared`` holds ``likelihood`` (d, k) uint16 and ``prior`` (nodes, k) int64 in the units of ``fixed_point``,
    ``weights`` (nodes,) int64, what a word of such a document adds to the counts, and ``seed`` (1,) uint64; ``cold``
    (1,) is true if no topics were drawn before. Where the tree is cut (``cut_tree``), ``place`` of shape (nodes of the
    whole tree,) is the row of ``prior`` for each node, and ``weights`` are those of the whole tree.

    With ``all_nodes``, the tables of all nodes of a cut tree are counted as well.
    """

    backend: str = "auto"
    all_nodes: bool = False

    def start(self, shared: Mapping[str, np.ndarray]) -> "SweepAccumulator":
        return SweepAccumulator(self, shared)


class SweepAccumulator:
    """Sums over blocks: ``counts`` (d, k), uint32 as long as they fit, and ``tables`` (nodes, k), int64 (see
    ``gibbs.GibbsSampler.draw``), and of a cut tree, if asked for, ``all_tables`` (nodes of the whole tree, k)."""

    def __init__(self, kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._backend, self._shared = load_backend(kernel.backend), shared
        self._sums = {name: np.zeros(shape, np.int64) for name, shape in sum_shapes(kernel, shared).items()}
        self._sums["counts"], self._most = np.zeros(self._sums["counts"].shape, np.uint32), 0

    def add(self, block: WordBlock) -> WordBlock:
        """The same words with new topics."""
        shared, topics = self._shared, block.topics.copy()
        rows = shared["place"][block.nodes].astype(np.int32) if "place" in shared else block.nodes
        weights = shared["weights"][block.nodes]
        self._most += int(np.diff(block.indptr) @ weights)
        self._sums["counts"] = self._sums["counts"].astype(count_type(self._most), copy=False)
        self._backend.sweep(
            block.indptr, block.words, topics, rows, weights, shared["prior"],
            shared["likelihood"], 0, block.documents, shared["seed"][0], bool(shared["cold"][0]), self._sums["counts"],
            self._sums["tables"], block.streams,
        )
        swept = replace(block, topics=topics)
        if "all_tables" in self._sums:
            _add_tables(swept, shared["prior"], rows, self._sums["all_tables"])
        return swept

    def arrays(self) -> dict[str, np.ndarray]:
        return self._sums


def sum_shapes(kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """The shapes of the sums of a sweep."""
    (words, k), nodes = shared["likelihood"].shape, len(shared["prior"])
    further = {"all_tables": (len(shared["place"]), k)} if kernel.all_nodes else {}
    return {"counts": (words, k), "tables": (nodes, k), **further}


def _add_tables(block: WordBlock, prior: np.ndarray, rows: np.ndarray, tables: np.ndarray) -> None:
    """The expected tables α(ψ(α + n) − ψ(α)) of every document, at its own node."""
    k = prior.shape[1]
    owner = np.repeat(np.arange(block.documents), np.diff(block.indptr))
    cells, words = np.unique(owner * k + block.topics, return_counts=True)
    document, topic = cells // k, cells % k
    alpha = prior[rows[document], topic] / PRIOR_STEPS
    draws = alpha * (digamma(alpha + words) - digamma(alpha))
    np.add.at(tables.reshape(-1), block.nodes[document].astype(np.int64) * k + topic,
              (draws * FIXED_POINT).astype(np.int64))
