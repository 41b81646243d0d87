"""The moment pass: everything that solving needs to know about the documents, summed in one pass."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch, joined_batches, selected_documents
from spectral_spark.data.touched_rows import RowIndex, Rows, grown
from spectral_spark.moments.group_moments import GroupSums
from spectral_spark.moments.leaf_moments import LeafSums, sums_arrays
from spectral_spark.moments.pair_moments import LevelSquares
from spectral_spark.moments.projection import ProjectedBatch, WordIndex, prepared
from spectral_spark.moments.symmetric_packing import pair_count, triple_count
from spectral_spark.moments.third_moment import add_cubes
from spectral_spark.tree.weights import document_weights

DOCUMENTS_TOGETHER = 16_384           # that wait until those of the same slot can be added together
NOISE_BINS_PER_OCTAVE, NOISE_LOWEST, NOISE_BINS = 4, -60, 320


@dataclass(frozen=True)
class MomentKernel:
    """Moments of the documents in a basis, as sums (formulas §2), and first moments of every tree node.

    ``shared`` holds "basis", B of shape (d, p); "factor" of shape (nodes,), so that a document of node v weighs
    ``factor[v] * (m if by_length else 1)``; where there are several slots "slot" of shape (nodes,), the slot of each
    node's documents; where there are groups "group" of shape (nodes,), -1 for none ("group_self": see GroupSums); and
    where there are levels "level" of shape (nodes,).
    ``moments.moment_plan`` makes all of them.

    Arrays: those of :func:`~spectral_spark.moments.leaf_moments.sums_arrays`; "node_first" (nodes, p), Σ u y/m with
    u = m or 1; "node_counts" (nodes, 4): documents, Σm, Σm², Σm³; "noise" (bins, 2): documents and Σ η/(m−1) by the
    size of η/(m−1); "dropped" (1,); with groups those of :class:`~spectral_spark.moments.group_moments.GroupSums`; and
    with levels "level_squares", of :class:`~spectral_spark.moments.pair_moments.LevelSquares`.

    Parameters
    ----------
    vocab_size : number of words d.
    cap : highest count of a word in a document, None for no cap.
    by_length : whether documents weigh in proportion to their words.
    slots : number of sets of documents that are summed separately.
    groups : number of groups with statistics of their own.
    distinct : whether to collect what averages over distinct documents need.
    levels : number of levels of the tree, for pair moments; 0 leaves them out.
    third : whether to collect third moments, whose size and cost grow with p³.
    """

    vocab_size: int
    cap: int | None = None
    by_length: bool = True
    slots: int = 1
    groups: int = 0
    distinct: bool = False
    levels: int = 0
    third: bool = True

    def start(self, shared: Mapping[str, np.ndarray]) -> "MomentAccumulator":
        return MomentAccumulator(self, shared)

    def state_bytes(self, p: int, nodes: int) -> int:
        """Size of the arrays of one accumulator."""
        d, pairs, triples = self.vocab_size, pair_count(p), triple_count(p)
        numbers = self.slots * (3 + p + pairs + 3 * d) + nodes * (p + 4) + 2 * NOISE_BINS + 1
        numbers += self.slots * (triples + d * p) if self.third else 0
        numbers += self.groups * (pairs + d) + self.levels * pairs
        if self.distinct:
            numbers += self.groups * pairs + 2 * triples + d * p
        return 8 * numbers


class MomentAccumulator:
    def __init__(self, kernel: MomentKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._kernel, self._basis, self._factor = kernel, shared["basis"], shared["factor"]
        self._slot = shared["slot"].astype(np.int64) if kernel.slots > 1 else None
        self._index = WordIndex(kernel.vocab_size)
        p, nodes = self._basis.shape[1], len(self._factor)
        self._slots = [LeafSums(kernel.vocab_size, p, kernel.third) for _ in range(kernel.slots)]
        self._groups = None
        if kernel.groups:
            self._groups = GroupSums(kernel.vocab_size, p, kernel.groups, kernel.distinct, shared)
        self._squares = LevelSquares(p, shared["level"], kernel.levels) if kernel.levels else None
        self._nodes = RowIndex(nodes)
        self._node_first, self._node_counts = np.zeros((self._nodes.used, p)), np.zeros((self._nodes.used, 4))
        self._noise, self._dropped = np.zeros((NOISE_BINS, 2)), np.zeros(1)
        self._waiting: list[CountBatch] = []

    def add(self, batch: CountBatch) -> None:
        documents, dropped = prepared(batch, self._kernel.vocab_size, self._kernel.cap)
        self._dropped += dropped
        if documents.n_documents == 0:
            return
        if self._slot is None:
            self._add(documents, self._slots[0])
            return
        self._waiting.append(documents)
        if sum(batch.n_documents for batch in self._waiting) >= DOCUMENTS_TOGETHER:
            self._add_waiting()

    def _add_waiting(self) -> None:
        """Add the documents of one slot after the other: products of many documents at once are many times as fast."""
        documents, self._waiting = joined_batches(self._waiting, self._kernel.vocab_size), []
        assert self._slot is not None
        slot = self._slot[documents.nodes]
        for number in np.unique(slot):
            self._add(selected_documents(documents, slot == number), self._slots[number])

    def _add(self, documents: CountBatch, sums: LeafSums) -> None:
        batch = ProjectedBatch(documents, self._basis, self._index)
        own = batch.lengths if self._kernel.by_length else np.ones(len(batch.lengths))
        weight = document_weights(self._factor, self._kernel.by_length, documents.nodes, batch.lengths)
        third_weight = sums.add(batch, weight)
        if self._groups is not None and sums.third is not None:
            self._groups.add(batch, own, sums.third, third_weight)
        elif sums.third is not None:
            add_cubes([sums.third], batch.by_direction, [third_weight])
        if self._squares is not None:
            self._squares.add(batch, own)
        self._add_nodes(batch, own)
        self._add_noise(weight / (batch.lengths - 1.0))

    def _add_nodes(self, batch: ProjectedBatch, own: np.ndarray) -> None:
        nodes, member = np.unique(batch.documents.nodes, return_inverse=True)
        n, m = len(member), batch.lengths
        belongs = sp.csr_matrix((np.ones(n), member, np.arange(n + 1)), shape=(n, len(nodes))).T
        rows = self._nodes.places(nodes)
        self._node_first = grown(self._node_first, self._nodes.used)
        self._node_counts = grown(self._node_counts, self._nodes.used)
        self._node_first[rows] += belongs @ (batch.y * (own * batch.per_word)[:, None])
        self._node_counts[rows] += belongs @ np.stack([np.ones(n), m, m**2, m**3], axis=1)

    def _add_noise(self, weight: np.ndarray) -> None:
        size = np.log2(np.maximum(weight, 2.0**NOISE_LOWEST)) - NOISE_LOWEST
        bins = np.minimum((NOISE_BINS_PER_OCTAVE * size).astype(np.int64), NOISE_BINS - 1)
        self._noise[:, 0] += np.bincount(bins, minlength=NOISE_BINS)
        self._noise[:, 1] += np.bincount(bins, weight, minlength=NOISE_BINS)

    def arrays(self) -> dict[str, Rows]:
        if self._waiting:
            self._add_waiting()
        return {
            **sums_arrays(self._slots),
            **(self._groups.arrays() if self._groups is not None else {}),
            **({"level_squares": self._squares.packed} if self._squares is not None else {}),
            "node_first": self._nodes.spread(self._node_first),
            "node_counts": self._nodes.spread(self._node_counts),
            "noise": self._noise,
            "dropped": self._dropped,
        }
