"""Second moments of pairs of different documents, by the level of their lowest common ancestor (formulas §14).

Two documents that share their ancestors down to a node are independent given its proportions. What they have in common
therefore tells the levels of the tree apart, and no word that a document repeats enters. Everything follows from the
sums of each node and, for what a document has in common with itself, from one matrix per level.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.moments.projection import ProjectedBatch
from spectral_spark.moments.symmetric_packing import pair_count, pair_indices, unpack2
from spectral_spark.tree.nodes import DocumentTree


class LevelSquares:
    """Σ u² φ1φ1ᵀ over the documents of each level, array of shape (levels, pairs), u = 1 or the words m.

    Parameters
    ----------
    p : columns of the basis.
    node_level : array of shape (nodes,), the level of each node.
    levels : number of levels.
    """

    def __init__(self, p: int, node_level: np.ndarray, levels: int) -> None:
        self._level = node_level.astype(np.int64)
        self.packed = np.zeros((levels, pair_count(p)))

    def add(self, batch: ProjectedBatch, own: np.ndarray) -> None:
        """Add documents with weights u of shape (n,)."""
        documents: CountBatch = batch.documents
        level, rows_columns = self._level[documents.nodes], pair_indices(batch.y.shape[1])
        for number in np.unique(level):
            members = level == number
            scaled = batch.y[members] * (own * batch.per_word)[members, None]
            self.packed[number] += (scaled.T @ scaled)[rows_columns]


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Averages over pairs of different documents of one corpus.

    Attributes
    ----------
    levels : array of shape (depth + 1, p, p): E φ1(d) φ1(d')ᵀ over pairs whose lowest common ancestor is at level a.
    weights : array of shape (depth + 1,), total weight of these pairs; zero where there are none.
    inside : array of shape (p, p), M2: pairs of words inside one document.
    shares : array of shape (depth + 1,), the share of M2 that documents at nodes of each level have; sums to one.
    sums : what a jackknife over groups needs, or None.
    inside_of_groups : array of shape (top-level groups, pairs), M2 of the documents of each, packed and NaN where it is
        not known; None if nothing is known.
    """

    levels: np.ndarray
    weights: np.ndarray
    inside: np.ndarray
    shares: np.ndarray
    sums: "NodeSums | None" = None
    inside_of_groups: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class NodeSums:
    """Sums over the documents of each node, and of squares over those of each level.

    Attributes
    ----------
    tree : the document tree.
    first : array of shape (nodes, p), Σ u φ1 over each node's own documents.
    weight, weight_squared : arrays of shape (nodes,), Σ u and Σ u² over the same.
    squares : array of shape (depth + 1, p, p), Σ u² φ1φ1ᵀ over the documents of each level.
    """

    tree: DocumentTree
    first: np.ndarray
    weight: np.ndarray
    weight_squared: np.ndarray
    squares: np.ndarray

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over pairs by the level of their lowest common ancestor: (depth + 1, p, p), and weights (depth + 1,)."""
        tree, below, weight = self.tree, self._below, self.tree.sum_below(self.weight)
        sums, weights = -self.squares, -self._by_level(self.weight_squared)
        for level in range(tree.depth + 1):
            here = tree.level == level
            square, total = below[here].T @ below[here], float(weight[here] @ weight[here])
            sums[level] += square
            weights[level] += total
            if level:
                sums[level - 1] -= square
                weights[level - 1] -= total
        solid = weights > 1e-12 * max(float(weight[0]) ** 2, 1e-300)
        return sums, np.where(solid, weights, 0.0)

    def forms(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numerators and weights of the pairs that each top-level group takes part in, and last of all pairs.

        Parameters
        ----------
        direction : symmetric array of shape (p, p); numerators are inner products with it.

        Returns
        -------
        Two arrays of shape (groups + 1, depth + 1). Row j, column a holds the pairs with their lowest common ancestor
        at level a and a document in group j. Self-products are known per level, and shared by weight among its nodes.
        """
        tree, top = self.tree, np.flatnonzero(self.tree.level == 1)
        below, weight = self._below, tree.sum_below(self.weight)
        value, of_weight = ((below @ direction) * below).sum(axis=1), weight**2
        with_all = np.stack([below[top] @ (direction @ below[0]), weight[0] * weight[top]])
        across = 2.0 * (with_all - np.stack([value[top], of_weight[top]]))
        for array in (value, of_weight):
            np.subtract.at(array, tree.parent[1:], array[1:].copy())
        per_level = self._by_level(self.weight_squared)
        average = (self.squares * direction).sum(axis=(1, 2)) / np.maximum(per_level, 1e-300)
        value -= self.weight_squared * average[tree.level]
        of_weight -= self.weight_squared
        at = np.searchsorted(top, tree.top_level[1:]), tree.level[1:]
        tables = np.zeros((2, len(top) + 1, tree.depth + 1))
        for table, values, between in zip(tables, (value, of_weight), across, strict=True):
            np.add.at(table, at, values[1:])
            table[-1] = table.sum(axis=0)
            table[:-1, 0], table[-1, 0] = between, values[0]
        return tables[0], tables[1]

    @cached_property
    def _below(self) -> np.ndarray:
        """Σ u φ1 over the documents at or below each node, array of shape (nodes, p)."""
        return self.tree.sum_below(self.first)

    def _by_level(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.tree.level, values, self.tree.depth + 1).astype(float)


def pair_moments(
    sums: NodeSums, inside: np.ndarray, node_share: np.ndarray, inside_of_groups: np.ndarray | None = None
) -> PairMoments:
    """Pair moments from sums over nodes, M2 of shape (p, p), and the weight in it of each node's documents."""
    totals, weights = sums.pairs()
    levels = totals / np.where(weights > 0, weights, 1.0)[:, None, None]
    levels[weights == 0] = np.nan
    shares = np.bincount(sums.tree.level, node_share, sums.tree.depth + 1)
    return PairMoments(levels, weights, inside, shares / shares.sum(), sums, inside_of_groups)


def unpacked_squares(packed: np.ndarray, p: int) -> np.ndarray:
    """Arrays (levels, pairs) as symmetric matrices (levels, p, p)."""
    return np.stack([unpack2(row, p) for row in packed])


def joined_squares(a: np.ndarray | None, b: np.ndarray | None, *, subtract: bool) -> np.ndarray | None:
    """The sums of two states, which may have different depths; None if either lacks them."""
    if a is None or b is None:
        return None
    total = np.zeros((max(len(a), len(b)), a.shape[1]))
    total[: len(a)] += a
    total[: len(b)] += -b if subtract else b
    return total
