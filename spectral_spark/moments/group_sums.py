"""Sums per group of documents, for tensors taken group by group (formulas §6)."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from spectral_spark.moments.projection import ProjectedBatch
from spectral_spark.moments.symmetric_packing import pair_count, pair_indices
from spectral_spark.moments.third_moment import CubeSums, add_cubes


class GroupSums:
    """Second moments of each group and, for averages over *distinct* documents, what pairs a document with itself.

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
