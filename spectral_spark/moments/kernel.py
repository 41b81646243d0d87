"""The moment pass: everything a fit needs to know about the documents, summed in one pass over them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from spectral_spark.moments.batch import CountBatch
from spectral_spark.moments.cleaning import prepared, selected
from spectral_spark.moments.cubes import add_cubes
from spectral_spark.moments.leaf_sums import LeafSums, sums_arrays
from spectral_spark.moments.projection import ProjectedBatch, WordIndex


@dataclass(frozen=True)
class MomentKernel:
    """Moments of the documents in a basis, as sums (formulas §2), and first moments of every tree node.

    ``shared`` holds "basis", B of shape (d, p); "factor" of shape (nodes,), so that a document of node v weighs
    ``factor[v] * (m if by_length else 1)``; and where there are several slots "slot" of shape (nodes,), the slot of
    each node's documents. Arrays: those of :func:`~spectral_spark.moments.leaf_sums.sums_arrays`, and "node_first"
    (nodes, p), Σ u y/m with u = m or 1; "node_counts" (nodes, 4): documents, Σm, Σm², Σm³; "dropped" (1,).

    Parameters
    ----------
    vocab_size : number of words d.
    cap : highest count of a word in a document, None for no cap.
    by_length : whether documents weigh in proportion to their words.
    slots : sets of documents that are summed apart from each other.
    """

    vocab_size: int
    cap: int | None = None
    by_length: bool = True
    slots: int = 1

    def start(self, shared: Mapping[str, np.ndarray]) -> "MomentAccumulator":
        return MomentAccumulator(self, shared)


class MomentAccumulator:
    def __init__(self, kernel: MomentKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._kernel, self._basis, self._factor = kernel, shared["basis"], shared["factor"]
        self._slot = shared["slot"].astype(np.int64) if kernel.slots > 1 else None
        self._index = WordIndex(kernel.vocab_size)
        p, nodes = self._basis.shape[1], len(self._factor)
        self._slots = [LeafSums(kernel.vocab_size, p) for _ in range(kernel.slots)]
        self._node_first, self._node_counts = np.zeros((nodes, p)), np.zeros((nodes, 4))
        self._dropped = np.zeros(1)

    def add(self, batch: CountBatch) -> None:
        documents, dropped = prepared(batch, self._kernel.vocab_size, self._kernel.cap)
        self._dropped += dropped
        if documents.n_documents == 0:
            return
        if self._slot is None:
            self._add(documents, self._slots[0])
            return
        slot = self._slot[documents.nodes]
        for number in np.unique(slot):
            self._add(selected(documents, slot == number), self._slots[number])

    def _add(self, documents: CountBatch, sums: LeafSums) -> None:
        batch = ProjectedBatch(documents, self._basis, self._index)
        own = batch.lengths if self._kernel.by_length else np.ones(len(batch.lengths))
        third_weight = sums.add(batch, own * self._factor[documents.nodes])
        add_cubes([sums.third], batch.by_direction, [third_weight])
        self._add_nodes(batch, own)

    def _add_nodes(self, batch: ProjectedBatch, own: np.ndarray) -> None:
        nodes, member = np.unique(batch.documents.nodes, return_inverse=True)
        n, m = len(member), batch.lengths
        belongs = sp.csr_matrix((np.ones(n), member, np.arange(n + 1)), shape=(n, len(nodes))).T
        self._node_first[nodes] += belongs @ (batch.y * (own * batch.per_word)[:, None])
        self._node_counts[nodes] += belongs @ np.stack([np.ones(n), m, m**2, m**3], axis=1)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            **sums_arrays(self._slots),
            "node_first": self._node_first,
            "node_counts": self._node_counts,
            "dropped": self._dropped,
        }
