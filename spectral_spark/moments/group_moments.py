"""Moments per group (formulas §6): sums over the documents of each bottom group, and averages over groups of products
of the groups' moments."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from spectral_spark.errors import InputError
from spectral_spark.moments.leaf_moments import contract_second, contract_words
from spectral_spark.moments.projection import ProjectedBatch
from spectral_spark.moments.symmetric_packing import pack_placements, pair_count, pair_indices, unpack2, unpack3
from spectral_spark.moments.third_moment import CubeSums, add_cubes
from spectral_spark.tree.nodes import DocumentTree, Path

FEWEST_DISTINCT = 3


class GroupSums:
    """Second moments of each group and, for averages over distinct documents, products of a document with itself.

    With u a document's weight within its group (1, or its words m), y = Bᵀc and φ1 = y/m:
    "group_second" (G, pairs), Σ u yyᵀ/(m(m−1)); "group_words" (d, G), Σ u c/(m(m−1)). For distinct documents also
    "group_square" (G, pairs), Σ u² φ1φ1ᵀ; "self_third" (2, triples), Σ a u³ φ1⊗φ1⊗φ1 and Σ e u² y⊗y⊗y/(m²(m−1)) over
    all documents, where the coefficients a, e of each group are the columns of ``shared["group_self"]`` (G, 2); and
    "self_word_third" (d, p), Σ e u² c yᵀ/(m²(m−1)).
    """

    def __init__(self, vocab_size: int, p: int, groups: int, distinct: bool, shared: Mapping[str, np.ndarray]) -> None:
        self._group = shared["group"].astype(np.int64)
        self._second, self._words = np.zeros((groups, pair_count(p))), np.zeros((vocab_size, groups))
        self._distinct = distinct
        if distinct:
            self._self_coefficients = shared["group_self"]
            self._square, self._self_words = np.zeros((groups, pair_count(p))), np.zeros((vocab_size, p))
            self._first_cubes, self._pair_cubes = CubeSums(p), CubeSums(p)

    def add(self, batch: ProjectedBatch, own: np.ndarray, third: CubeSums, third_weight: np.ndarray) -> None:
        """Add documents with weights u of shape (n,), and their cubes to ``third`` with weights of shape (n,)."""
        group = self._group[batch.documents.nodes]
        inside = group >= 0
        within = np.where(inside, own, 0.0)
        targets, weights = [third], [third_weight]
        if self._distinct:
            a, e = np.where(inside[:, None], self._self_coefficients[group], 0.0).T
            self_pair = e * within**2 * batch.per_pair * batch.per_word
            self._self_words[batch.words] += batch.word_sums(batch.y * self_pair[:, None])
            targets += [self._first_cubes, self._pair_cubes]
            weights += [a * (within * batch.per_word) ** 3, self_pair]
        add_cubes(targets, batch.by_direction, weights)
        self._add_words(batch, group, within * batch.per_pair)
        self._add_squares(batch, group, within)

    def _add_words(self, batch: ProjectedBatch, group: np.ndarray, weight: np.ndarray) -> None:
        inside = np.flatnonzero(group >= 0)
        member = sp.csr_matrix(
            (weight[inside], (inside, group[inside])), shape=(len(group), self._words.shape[1])
        )
        by_group = (batch.counts_by_word @ member).tocoo()
        self._words[batch.words[by_group.row], by_group.col] += by_group.data

    def _add_squares(self, batch: ProjectedBatch, group: np.ndarray, within: np.ndarray) -> None:
        rows, columns = pair_indices(batch.y.shape[1])
        order = np.argsort(group, kind="stable")
        numbers, starts = np.unique(group[order], return_index=True)
        for number, members in zip(numbers, np.split(order, starts[1:]), strict=True):
            if number < 0:
                continue
            y, u = batch.y[members], within[members]
            self._second[number] += ((y * (u * batch.per_pair[members])[:, None]).T @ y)[rows, columns]
            if self._distinct:
                self._square[number] += ((y * ((u * batch.per_word[members]) ** 2)[:, None]).T @ y)[rows, columns]

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"group_second": self._second, "group_words": self._words}
        if self._distinct:
            arrays["group_square"] = self._square
            arrays["self_third"] = np.stack([self._first_cubes.packed(), self._pair_cubes.packed()])
            arrays["self_word_third"] = self._self_words
        return arrays


@dataclass(frozen=True, eq=False)
class GroupAverages:
    """Weighted means over groups, in the basis; m and M2 are the first and second moment of one group.

    Attributes
    ----------
    second : array of shape (p, p), X2 = avg m mᵀ.
    third : array of shape (p, p, p), X3 = avg m⊗m⊗m.
    mixed : array of shape (p, p, p), J3 = avg sym3(M2 ⊗ m).
    """

    second: np.ndarray
    third: np.ndarray
    mixed: np.ndarray


@dataclass(frozen=True, eq=False)
class DistinctParts:
    """The contributions of products of a document with itself, which are subtracted.

    Attributes
    ----------
    square : array of shape (G, pairs), Σ u² φ1φ1ᵀ of each group.
    self_first : array of shape (triples,), Σ over groups f W/(W)₃ Σ u³ φ1⊗φ1⊗φ1.
    self_mixed : array of shape (triples,), Σ over groups f W/(W)₂ Σ u² sym3(φ2 ⊗ φ1).
    factor : array of shape (G,), the f in them: the weight of a document is f u.
    """

    square: np.ndarray
    self_first: np.ndarray
    self_mixed: np.ndarray
    factor: np.ndarray


@dataclass(frozen=True, eq=False)
class GroupStatistics:
    """Sums per group, additive over documents and days.

    Attributes
    ----------
    paths : the groups: nodes that own documents.
    by_length : whether a document weighs u = m within its group, or 1.
    counts : array of shape (G, 4): documents, Σm, Σm², Σm³.
    first : array of shape (G, p), Σ u φ1.
    second : array of shape (G, pairs), Σ u φ2 packed.
    distinct : sums for averages over distinct documents, needed by groups under about 50 documents, or None.
    """

    paths: tuple[Path, ...]
    by_length: bool
    counts: np.ndarray
    first: np.ndarray
    second: np.ndarray
    distinct: DistinctParts | None = None

    def power_sums(self) -> np.ndarray:
        """W = Σu, Σu², Σu³ of each group; array of shape (3, G)."""
        return power_sums(self.counts, self.by_length)

    def pairs(self, factor: np.ndarray) -> "GroupPairs":
        """Second moments of every group, with group weights f W, f of shape (G,)."""
        weight = factor * self.power_sums()[0]
        return GroupPairs(self, weight / weight.sum())

    def averages(self, factor: np.ndarray) -> GroupAverages:
        """Averages with group weights f W, f of shape (G,); over distinct documents if their sums were collected."""
        if len(self.paths) == 0:
            raise InputError("group statistics: no group has enough documents; solve without groups")
        return self._plug_in(factor) if self.distinct is None else self._over_distinct(self.distinct, factor)

    def _plug_in(self, factor: np.ndarray) -> GroupAverages:
        total = self.power_sums()[0]
        share = factor * total / (factor @ total)
        mean, p = self.first / total[:, None], self.first.shape[1]
        cubes = CubeSums(p)
        add_cubes([cubes], np.ascontiguousarray(mean.T), [share])
        mixed = (self.second * (share / total)[:, None]).T @ mean
        return GroupAverages(
            (mean * share[:, None]).T @ mean, unpack3(cubes.packed(), p), unpack3(pack_placements(mixed, p), p)
        )

    def _over_distinct(self, parts: DistinctParts, factor: np.ndarray) -> GroupAverages:
        if not np.array_equal(factor, parts.factor):
            raise InputError("group statistics: averages over distinct documents hold for the document weights they "
                             "were collected with; fit again, or use plug-in statistics")
        total, pairs, triples = distinct_counts(self.power_sums())
        share = factor * total / (factor @ total)
        p, s = self.first.shape[1], self.first
        second = (s * (share / pairs)[:, None]).T @ s - unpack2((share / pairs) @ parts.square, p)
        cubes = CubeSums(p)
        add_cubes([cubes], np.ascontiguousarray(s.T), [share / triples])
        squares = (parts.square * (share / triples)[:, None]).T @ s
        norm = factor @ total
        third = cubes.packed() - pack_placements(squares, p) + 2.0 * parts.self_first / norm
        mixed = pack_placements((self.second * (share / pairs)[:, None]).T @ s, p) - parts.self_mixed / norm
        return GroupAverages(second, unpack3(third, p), unpack3(mixed, p))

    def __add__(self, other: "GroupStatistics") -> "GroupStatistics":
        return self._joined(other, 1.0)

    def __sub__(self, other: "GroupStatistics") -> "GroupStatistics":
        return self._joined(other, -1.0)

    def _joined(self, other: "GroupStatistics", sign: float) -> "GroupStatistics":
        """The groups of both. Sums for distinct documents contain coefficients that depend on the group's size, so they
        are kept only if no group has documents in both; otherwise plug-in statistics remain."""
        paths = tuple(sorted(set(self.paths) | set(other.paths)))
        at = {path: number for number, path in enumerate(paths)}
        mine = np.array([at[path] for path in self.paths], dtype=np.int64)
        theirs = np.array([at[path] for path in other.paths], dtype=np.int64)

        def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            total = np.zeros((len(paths), *a.shape[1:]))
            total[mine] += a
            total[theirs] += sign * b
            return total

        distinct = None
        if self.distinct is not None and other.distinct is not None and not set(self.paths) & set(other.paths):
            a, b = self.distinct, other.distinct
            distinct = DistinctParts(
                joined(a.square, b.square), a.self_first + sign * b.self_first, a.self_mixed + sign * b.self_mixed,
                joined(a.factor, b.factor),
            )
        counts = joined(self.counts, other.counts)
        result = GroupStatistics(
            paths, self.by_length, counts, joined(self.first, other.first), joined(self.second, other.second), distinct
        )
        return result._without_empty()

    def _without_empty(self) -> "GroupStatistics":
        keep = self.counts[:, 0] > 0
        if keep.all():
            return self
        paths = tuple(path for path, kept in zip(self.paths, keep, strict=True) if kept)
        return GroupStatistics(paths, self.by_length, self.counts[keep], self.first[keep], self.second[keep], None)


@dataclass(frozen=True, eq=False)
class GroupPairs:
    """Pairs of words of one group at a time.

    Attributes
    ----------
    statistics : sums of all groups.
    share : array of shape (G,), weights of the groups, which sum to one.
    """

    statistics: GroupStatistics
    share: np.ndarray

    def of(self, group: int) -> tuple[np.ndarray, np.ndarray]:
        """Means over pairs of words inside a document, M2, and of two documents, both of shape (p, p)."""
        sums, p = self.statistics, self.statistics.first.shape[1]
        one, two, _ = sums.power_sums()[:, group]
        first = sums.first[group]
        across = np.outer(first, first)
        if sums.distinct is None:
            across /= one**2
        else:
            across = (across - unpack2(sums.distinct.square[group], p)) / (one**2 - two)
        return unpack2(sums.second[group], p) / one, across


def power_sums(counts: np.ndarray, by_length: bool) -> np.ndarray:
    """Σu, Σu², Σu³ from counts of shape (G, 4); array of shape (3, G)."""
    return counts[:, 1:4].T if by_length else np.repeat(counts[None, :, 0], 3, axis=0)


def distinct_counts(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, and the weights of ordered pairs and triples of distinct documents, (W)₂ and (W)₃; from shape (3, G)."""
    one, two, three = sums
    return one, one**2 - two, one**3 - 3.0 * one * two + 2.0 * three


def self_coefficients(sums: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Coefficients of each group that the sums over documents need in advance, f W/(W)₃ and f W/(W)₂; shape (G, 2)."""
    total, pairs, triples = distinct_counts(sums)
    return np.stack([factor * total / triples, factor * total / pairs], axis=1)


def group_statistics(
    sums: Mapping[str, np.ndarray],
    projection: np.ndarray,
    tree: DocumentTree,
    nodes: np.ndarray,
    factor: np.ndarray,
    by_length: bool,
) -> GroupStatistics:
    """Group statistics from the arrays of a moment pass.

    Parameters
    ----------
    sums : arrays of the pass over all documents.
    projection : array of shape (d, p), B.
    nodes : int array of shape (G,), the tree node of each group.
    factor : array of shape (G,), the document weight is factor times u.
    """
    second = sums["group_second"] - contract_second(projection, sums["group_words"])
    distinct = None
    if "self_third" in sums:
        empty = np.zeros((len(projection), 3))
        diagonal = contract_words(projection, empty, sums["self_word_third"])["third"][0]
        first, pair = sums["self_third"]
        distinct = DistinctParts(sums["group_square"], first, 3.0 * pair - diagonal, factor)
    return GroupStatistics(
        tuple(tree.paths[node] for node in nodes), by_length, sums["node_counts"][nodes], sums["node_first"][nodes],
        second, distinct,
    )
