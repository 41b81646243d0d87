"""The moment state: a small, additive summary of a corpus that can be solved for any k, solver and concentrations.

Sums are unnormalised and use each document's own weight, so that the states of two days add up to that of both.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from spectral_spark.data.row_sums import add_to_rows
from spectral_spark.errors import InputError
from spectral_spark.files.directories import SavedDirectory, Staging, new_directory, open_directory
from spectral_spark.files.formats import STATE_KIND, STATE_VERSION
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.coefficients import HDPCoefficients, hdp_coefficients, level_coefficients
from spectral_spark.moments.group_moments import GroupAverages, GroupPairs, GroupStatistics
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.moment_files import read_fields, state_version, write_fields
from spectral_spark.moments.pair_moments import NodeSums, PairMoments, pair_moments, unpacked_squares
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.moments.state_arithmetic import identical, joined, relative_difference
from spectral_spark.moments.symmetric_packing import pair_indices, unpack2, unpack3
from spectral_spark.moments.variance_components import variance_components
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import Path
from spectral_spark.tree.random_effects import VarianceComponents
from spectral_spark.tree.weights import NodeWeights, node_weights

ALL, GROUPED, OUTSIDE = "all", "grouped", "outside"
Slot = str | Path


@dataclass(frozen=True, eq=False)
class MomentState:
    """Moments of a corpus in one basis; states of the same basis add and subtract.

    Attributes
    ----------
    basis : the basis B the moments are in.
    weighting : "uniform", "ess" or "tokens" (see ``tree.node_weights``).
    cap : highest count of a word in a document that was counted, or None.
    slots : which documents each slot of the sums holds: "all"; "grouped" and "outside" (in groups with statistics, and
        not); or the path of a tree node, where weights must follow a tree that grows.
    half_samples : sums over the two half samples.
    census : documents and (capped) words per tree node.
    node_first : array of shape (nodes, p), Σ u Bᵀc/m over each node's own documents, u = m or 1.
    noise : array of shape (bins, 2), documents by the size of η/(m−1) (see ``MomentKernel``).
    groups : statistics per group, or None.
    sources : fingerprints of what was added and of what was removed (see ``moments.sources``).
    dropped : number of documents that were too short.
    level_squares : array of shape (depth + 1, pairs), what pair moments need (see ``moments.pair_moments``); None in
        states of version 0.1.0.
    components : variance components of weighting "ess", if they are part of the sums. Where the sums of every node are
        kept, they follow from the sums.
    """

    basis: Basis
    weighting: str
    cap: int | None
    slots: tuple[Slot, ...]
    half_samples: tuple[LeafMoments, LeafMoments]
    census: Census
    node_first: np.ndarray
    noise: np.ndarray
    groups: GroupStatistics | None = None
    sources: tuple[str, ...] = ()
    dropped: int = 0
    level_squares: np.ndarray | None = None
    components: VarianceComponents | None = None

    @property
    def has_third(self) -> bool:
        """Whether third moments were collected; without them, solving needs a sample of the documents."""
        return self.half_samples[0].third.shape[1] > 0

    @property
    def documents(self) -> int:
        return int(self.census.documents.sum())

    @property
    def tokens(self) -> int:
        """Words after capping."""
        return int(self.census.tokens.sum())

    @cached_property
    def weights(self) -> NodeWeights:
        """Document weights for the current tree."""
        return node_weights(self.census, self.weighting, self.variances)

    @property
    def kept_by_node(self) -> bool:
        """Whether the sums of every node are kept separately."""
        return not any(isinstance(slot, str) for slot in self.slots)

    @cached_property
    def variances(self) -> VarianceComponents | None:
        """Variance components of weighting "ess"; None for other weightings and in states of version 0.1.0."""
        if self.weighting != "ess" or self.components is not None or not self.kept_by_node:
            return self.components
        tree, p, pairs = self.census.tree, self.basis.size, np.zeros(len(self.census.tree))
        diagonal = np.eye(p)[pair_indices(p)] > 0
        assert self.level_squares is not None
        pairs[[tree.index(slot) for slot in self.slots]] = self._both.second[:, diagonal].sum(axis=1)
        alone = float(self._both.words.sum(axis=0) @ (self.basis.projection**2).sum(axis=1))
        squares = float(self.level_squares[:, diagonal].sum())
        return variance_components(self.census, self.node_first, pairs, squares, alone)

    @property
    def effective_sample_size(self) -> float:
        return float(self.weights.effective_sample_size[0])

    def root(self) -> ProjectedMoments:
        """Moments of the whole corpus."""
        return self._normalised(self._total)

    def second(self) -> np.ndarray:
        """M2 of the whole corpus alone, array of shape (p, p)."""
        return unpack2(self._total.second[0] / self._total.totals[0, 0], self.basis.size)

    def noise_of_second(self) -> float:
        """The difference of M2 between the half samples, relative to M2: noise alone. 0.0 if a half is empty."""
        halves = [half.combined(self._slot_factor) for half in self.half_samples]
        weights = [float(half.totals[0, 0]) for half in halves]
        if not min(weights) > 0:
            return 0.0
        one, other = (half.second[0] / weight for half, weight in zip(halves, weights, strict=True))
        return float(np.abs(one - other).max() / max(np.abs(one).max(), 1e-300))

    def half_sizes(self) -> tuple[int, int]:
        """The number of documents of each half sample."""
        one, other = (int(half.totals[:, 1].sum()) for half in self.half_samples)
        return one, other

    def halves(self) -> tuple[ProjectedMoments, ProjectedMoments]:
        """Moments of the two half samples, whose difference is noise."""
        one, other = (half.combined(self._slot_factor) for half in self.half_samples)
        sizes = self.half_sizes()
        if not min(sizes) > 0:
            raise InputError(
                f"half samples of {sizes[0]} and {sizes[1]} documents: both need documents; "
                "fit more documents, or give k instead of choosing it automatically"
            )
        return self._normalised(one), self._normalised(other)

    def grouped(self) -> tuple[ProjectedMoments, GroupAverages]:
        """Moments of the documents in groups, and averages over these groups, with the same weights."""
        if self.groups is None:
            raise InputError("these moments hold no group statistics; collect them in the fit, or solve without groups")
        paths = set(self.groups.paths)
        inside = np.array([slot in (ALL, GROUPED) or slot in paths for slot in self.slots])
        factor = self._group_factor(self.groups)
        if self.weighting == "ess" and self.kept_by_node:
            return self._normalised(self._both.combined(1.0 * inside)), self.groups.averages(factor)
        return self._normalised(self._both.combined(self._slot_factor * inside)), self.groups.averages(factor)

    def group_pairs(self) -> GroupPairs:
        """Second moments of every group, with the weights of ``grouped``."""
        if self.groups is None:
            raise InputError("these moments hold no group statistics; collect them in the fit, or solve without groups")
        return self.groups.pairs(self._group_factor(self.groups))

    def _group_factor(self, groups: GroupStatistics) -> np.ndarray:
        """The factor of the documents' weights in every group."""
        if self.weighting == "ess" and self.kept_by_node:       # given the groups, there is no variance between them
            return np.ones(len(groups.paths))
        factor: np.ndarray = self._node_factor[[self.census.tree.index(path) for path in groups.paths]]
        return factor

    def mean_words(self) -> np.ndarray:
        """M1 over words, array of shape (d,), sums to one."""
        return self._total.words[0] / self._total.totals[0, 0]

    def node_means(self) -> np.ndarray:
        """BᵀM1 of the documents at or below each node, with the document weights; array of shape (nodes, p).

        A node whose documents were all removed gets the mean of its parent.
        """
        tree, census = self.census.tree, self.census
        if self.weighting == "uniform":
            means = self.node_first.copy()
            share = _inverse(census.children.astype(float))[:, None]
            for nodes in tree.levels_upwards:
                means[nodes] *= share[nodes]
                add_to_rows(means, tree.parent[nodes], means[nodes])
            means[0] *= share[0]
        elif self.variances is not None:
            factor = self.weights.factor
            means = tree.sum_below(self.node_first * factor[:, None])
            means *= _inverse(tree.sum_below(factor * census.tokens))[:, None]
        else:
            own = census.tokens if self.weights.by_length else census.documents.astype(float)
            means = tree.sum_below(self.node_first) * _inverse(tree.sum_below(own))[:, None]
        for nodes in tree.levels_upwards[::-1]:
            empty = nodes[census.documents_below[nodes] == 0]
            means[empty] = means[tree.parent[empty]]
        return means

    def pairs(self) -> PairMoments | None:
        """Moments of pairs of different documents; None where their sums were not collected.

        Every document counts 1 or its words, whatever the weighting of the tree's nodes.
        """
        if self.level_squares is None:
            return None
        census = self.census
        weight, squared = census.documents.astype(float), census.documents.astype(float)
        if self.weights.by_length:
            weight, squared = census.tokens, census.tokens_squared
        squares = unpacked_squares(self.level_squares, self.basis.size)
        sums = NodeSums(census.tree, self.node_first, weight, squared, squares)
        return pair_moments(sums, self.second(), self.weights.factor * weight, self._inside_of_top_groups())

    def _inside_of_top_groups(self) -> np.ndarray | None:
        """M2 of the documents below each top-level node, (nodes, pairs), from the statistics of the groups."""
        if self.groups is None:
            return None
        tree, factor = self.census.tree, self._group_factor(self.groups)
        nodes = np.array([tree.index(path) for path in self.groups.paths], dtype=np.int64)
        below, top = nodes > 0, np.flatnonzero(tree.level == 1)
        at = np.searchsorted(top, tree.top_level[nodes[below]])
        second, weight = np.zeros((len(top), self.groups.second.shape[1])), np.zeros(len(top))
        np.add.at(second, at, (factor[:, None] * self.groups.second)[below])
        np.add.at(weight, at, (factor * self.groups.power_sums()[0])[below])
        mean: np.ndarray = second / np.where(weight > 0, weight, np.nan)[:, None]
        return mean

    def coefficients(self, concentrations: Sequence[float]) -> HDPCoefficients:
        """HDP coefficients of this tree, also at unequal depth; a single number is the documents' concentration."""
        if len(concentrations) == 1:
            return hdp_coefficients(concentrations)
        own = self.census.tokens if self.weights.by_length else self.census.documents
        return level_coefficients(self.census.tree, concentrations, self.weights.factor * own)

    def noise_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Documents by η/(m−1), η summing to one: the mean of each bin and how many it holds, shapes (bins,)."""
        filled = self.noise[self.noise[:, 0] > 0.5]
        weight = self._total.totals[0, 0]
        if self.follows_tree and self.kept_by_node:
            weight = self.tokens if self.weights.by_length else self.documents
        return filled[:, 1] / filled[:, 0] / weight, filled[:, 0]

    def __add__(self, other: "MomentState") -> "MomentState":
        """The state of both corpora."""
        return joined(self, other, subtract=False)

    def __sub__(self, other: "MomentState") -> "MomentState":
        """The state without the documents of ``other``, which must all be in it."""
        return joined(self, other, subtract=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MomentState) and identical(self, other)

    __hash__ = None  # type: ignore[assignment]

    def difference(self, other: "MomentState") -> float:
        """The largest difference of any sum, relative to the largest of its kind; infinite if shapes differ."""
        return relative_difference(self, other)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a directory of .npy, Parquet and JSON files. Either all of it is there afterwards or nothing."""
        with new_directory(path, STATE_KIND, state_version(self.half_samples), overwrite=overwrite) as staging:
            self.write_into(staging, "")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "MomentState":
        """Read a directory that :meth:`save` wrote."""
        return cls.read_from(open_directory(path, STATE_KIND, STATE_VERSION), "")

    def write_into(self, staging: Staging, prefix: str = "moments/") -> None:
        """Write into a directory that holds other things too."""
        write_fields({field.name: getattr(self, field.name) for field in fields(self)}, staging, prefix)

    @classmethod
    def read_from(cls, saved: SavedDirectory, prefix: str = "moments/") -> "MomentState":
        """Read from a directory that holds other things too."""
        return cls(**read_fields(saved, prefix))

    @cached_property
    def _both(self) -> LeafMoments:
        return self.half_samples[0] + self.half_samples[1]

    @cached_property
    def _total(self) -> LeafMoments:
        return self._both.combined(self._slot_factor)

    @cached_property
    def _node_factor(self) -> np.ndarray:
        """The factor of a document's own weight (m or 1) at each node: one unless weights follow the tree."""
        return self.weights.factor if self.follows_tree else np.ones(len(self.census.tree))

    @property
    def follows_tree(self) -> bool:
        """Whether a document's weight depends on the tree around it."""
        return self.weighting == "uniform" or self.variances is not None

    @cached_property
    def _slot_factor(self) -> np.ndarray:
        """The same for each slot; sums that are not kept by node contain their factors already."""
        index = self.census.tree.index
        return np.array([1.0 if isinstance(slot, str) else self._node_factor[index(slot)] for slot in self.slots])

    def _normalised(self, moments: LeafMoments) -> ProjectedMoments:
        weight, p = float(moments.totals[0, 0]), self.basis.size
        if not weight > 0:
            raise InputError(f"moments of {int(moments.totals[0, 1])} documents with weight {weight}: nothing to solve")
        third = unpack3(moments.third[0] / weight, p) if self.has_third else None
        return ProjectedMoments(moments.first[0] / weight, unpack2(moments.second[0] / weight, p), third)


def _inverse(sizes: np.ndarray) -> np.ndarray:
    """1/size, and zero where there is nothing."""
    return np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
