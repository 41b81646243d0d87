"""Variance components in the basis: how much nodes, documents and words scatter (formulas §15)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.moments.projection import ProjectedBatch, WordIndex, prepared
from spectral_spark.tree.census import Census
from spectral_spark.tree.random_effects import VarianceComponents, level_variances


@dataclass(frozen=True)
class VarianceKernel:
    """What the components need, where the moments of every node are not kept.

    ``shared`` holds "basis", B of shape (d, p). Arrays, with y = Bᵀc: "node_first" (nodes, p), Σ y; "node_pairs"
    (nodes,), Σ m tr φ2; "squares" (2,), Σ ‖y‖² and Σ c_w ‖b_w‖².
    """

    vocab_size: int
    cap: int | None
    nodes: int

    def start(self, shared: Mapping[str, np.ndarray]) -> "VarianceAccumulator":
        return VarianceAccumulator(self, shared["basis"])


class VarianceAccumulator:
    def __init__(self, kernel: VarianceKernel, basis: np.ndarray) -> None:
        self._kernel, self._basis, self._sizes = kernel, basis, (basis**2).sum(axis=1)
        self._index = WordIndex(kernel.vocab_size)
        self._first, self._pairs = np.zeros((kernel.nodes, basis.shape[1])), np.zeros(kernel.nodes)
        self._squares = np.zeros(2)

    def add(self, batch: CountBatch) -> None:
        documents, _ = prepared(batch, self._kernel.vocab_size, self._kernel.cap)
        if documents.n_documents == 0:
            return
        seen = ProjectedBatch(documents, self._basis, self._index)
        square = (seen.y**2).sum(axis=1)
        alone = np.asarray(documents.matrix @ self._sizes)          # pairs of a word with itself
        np.add.at(self._first, documents.nodes, seen.y)
        np.add.at(self._pairs, documents.nodes, (square - alone) / (seen.lengths - 1.0))
        self._squares += square.sum(), alone.sum()

    def arrays(self) -> dict[str, np.ndarray]:
        return {"node_first": self._first, "node_pairs": self._pairs, "squares": self._squares}


def variance_components(
    census: Census, node_first: np.ndarray, node_pairs: np.ndarray, squares: float, alone: float
) -> VarianceComponents:
    """The components from sums over documents, each weighted by its words m.

    Parameters
    ----------
    census : documents and words per node.
    node_first : array of shape (nodes, p), Σ m φ1 over each node's own documents.
    node_pairs : array of shape (nodes,), Σ m tr φ2 over the same: pairs of words inside a document.
    squares, alone : Σ m² ‖φ1‖² and Σ c_w ‖b_w‖² over all documents, b_w the row of the basis for word w.
    """
    tokens = np.maximum(census.tokens, 1.0)
    inside = node_pairs / tokens                                    # ‖p‖² of an average document of the node
    pairs = np.maximum(census.tokens**2 - census.tokens_squared, 0.0)
    documents = 0.0
    if pairs.sum() > 1e-9 * (tokens**2).sum():
        across = ((node_first**2).sum() - squares) / pairs.sum()    # pairs of different documents of a node
        documents = max(float(pairs @ inside / pairs.sum() - across), 0.0)
    words = (alone - float(node_pairs.sum())) / max(float(census.tokens.sum()), 1.0)
    return level_variances(census, node_first / tokens[:, None], documents, max(words, 0.0))
