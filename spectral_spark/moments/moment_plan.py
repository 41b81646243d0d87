"""Plans a moment pass for a corpus and turns its sums into a MomentState."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.group_moments import FEWEST_DISTINCT, GroupStatistics, group_statistics, self_coefficients
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.moment_kernel import MomentKernel
from spectral_spark.moments.moment_state import ALL, GROUPED, OUTSIDE, MomentState, Slot
from spectral_spark.tree.census import Census
from spectral_spark.tree.random_effects import VarianceComponents
from spectral_spark.tree.weights import NodeWeights, node_weights

GROUP_STATISTICS = ("none", "plug-in", "distinct", "auto")
SMALL_GROUP = 50
PAIR_COLUMNS = 250           # of the basis: beyond, moments of pairs of documents would double the time of the pass


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """A kernel, the arrays it needs on the executors, and what turns its sums into a state.

    Attributes
    ----------
    kernel : the kernel of the pass.
    shared : its shared arrays.
    basis, census, weighting : as given to :meth:`make`.
    slots : which documents each slot of the sums holds.
    group_nodes : int array of shape (G,), the nodes with group statistics.
    components : variance components behind the weights, where these are part of the sums.
    """

    kernel: MomentKernel
    shared: Mapping[str, np.ndarray]
    basis: Basis
    census: Census
    weighting: str
    slots: tuple[Slot, ...]
    group_nodes: np.ndarray
    components: VarianceComponents | None = None

    @classmethod
    def make(
        cls,
        basis: Basis,
        census: Census,
        weighting: str = "tokens",
        *,
        cap: int | None = None,
        groups: str = "none",
        node_states: bool = False,
        components: VarianceComponents | None = None,
        third: bool = True,
    ) -> "MomentPlan":
        """Plan a pass.

        Parameters
        ----------
        basis : the basis to collect in.
        census : documents and words per node after capping and dropping; Σ m³ is needed for "distinct" with weighting
            "tokens".
        weighting : "uniform", "ess" or "tokens".
        cap : highest count of a word in a document, None for no cap.
        groups : statistics per group: "none", "plug-in" (additive over days) or "distinct" (averages over distinct
            documents, for groups under about 50 documents; groups under 3 are left out of them); "auto" takes the
            latter if there are such groups.
        node_states : keep the sums of every node separately, so that the weightings "uniform" and "ess" can follow a
            growing tree.
        components : variance components for weighting "ess", needed if the nodes' sums are not kept separately.
            Without either, "ess" makes all documents equal.
        third : collect third moments. Without them, moments of pairs of documents are left out, too, of a large basis,
            unless weights need them: they would double the time of the pass.
        """
        if groups not in GROUP_STATISTICS:
            raise SettingsError(f"group statistics {groups!r}: choose one of {', '.join(GROUP_STATISTICS)}")
        if groups != "none" and not third:
            raise SettingsError("statistics of groups need third moments; collect them, or leave out the groups")
        components = None if node_states or weighting != "ess" else components
        weights = node_weights(census, weighting, components)
        by_length = weights.by_length or (weighting == "ess" and node_states)
        groups = _statistics_for(census, by_length) if groups == "auto" else groups
        fewest = {"none": np.inf, "plug-in": 1, "distinct": FEWEST_DISTINCT}[groups]
        group_nodes = np.flatnonzero(census.documents >= fewest)
        slots, slot = _slots(census, group_nodes, groups != "none", node_states)
        natural = node_states or (weighting != "uniform" and components is None)
        shared = {
            "basis": basis.projection, "factor": np.ones(len(census.tree)) if natural else weights.factor,
            "level": census.tree.level.astype(float),
        }
        if len(slots) > 1:
            shared["slot"] = slot.astype(float)
        if len(group_nodes):
            shared["group"] = np.full(len(census.tree), -1.0)
            shared["group"][group_nodes] = np.arange(len(group_nodes))
            if groups == "distinct":
                sums = _power_sums(census, by_length)[:, group_nodes]
                factor = _own_factor(weights, weighting, components)
                shared["group_self"] = self_coefficients(sums, factor[group_nodes])
        distinct = "group_self" in shared
        kernel = MomentKernel(
            basis.vocab_size, cap, by_length, len(slots), len(group_nodes), distinct,
            census.tree.depth + 1 if third or basis.size <= PAIR_COLUMNS or (weighting == "ess" and node_states) else 0,
            third,
        )
        return cls(kernel, shared, basis, census, weighting, slots, group_nodes, components)

    @property
    def state_bytes(self) -> int:
        """Size of the sums of one accumulator."""
        return self.kernel.state_bytes(self.basis.size, len(self.census.tree))

    def travelling_bytes(self, documents: float) -> int:
        """State size, counting only the nodes that this many documents can reach; other rows are not sent."""
        return self.kernel.state_bytes(self.basis.size, min(len(self.census.tree), int(2 * documents)))

    def finish(
        self,
        half_a: Mapping[str, np.ndarray],
        half_b: Mapping[str, np.ndarray],
        *,
        sources: Sequence[str] = (),
        dropped: int = 0,
    ) -> MomentState:
        """The state, from the sums over two half samples; ``dropped`` counts documents dropped before the pass."""
        counts = half_a["node_counts"] + half_b["node_counts"]
        census = Census(self.census.tree, counts[:, 0].astype(np.int64), *counts[:, 1:].T)
        self._check(census)
        b = self.basis.projection
        with ThreadPoolExecutor(2) as pool:                 # the halves do not depend on each other
            one, other = pool.map(lambda half: LeafMoments.from_sums(half, b), (half_a, half_b))
        return MomentState(
            self.basis, self.weighting, self.kernel.cap, self.slots, (one, other), census,
            half_a["node_first"] + half_b["node_first"], half_a["noise"] + half_b["noise"],
            self._groups(half_a, half_b), tuple(sorted(sources)),
            dropped + int(half_a["dropped"][0] + half_b["dropped"][0]),
            half_a["level_squares"] + half_b["level_squares"] if self.kernel.levels else None, self.components,
        )

    def _groups(self, half_a: Mapping[str, np.ndarray], half_b: Mapping[str, np.ndarray]) -> GroupStatistics | None:
        if "group" not in self.shared:
            return None
        names = [name for name in half_a if name.startswith(("group_", "self_", "node_"))]
        both = {name: half_a[name] + half_b[name] for name in names}
        weights = node_weights(self.census, self.weighting, self.components)
        factor = _own_factor(weights, self.weighting, self.components)
        return group_statistics(
            both, self.basis.projection, self.census.tree, self.group_nodes, factor[self.group_nodes],
            self.kernel.by_length,
        )

    def _check(self, counted: Census) -> None:
        """Weights that depend on the census are wrong if the pass saw other documents than the census."""
        wrong = np.flatnonzero(counted.documents != self.census.documents)
        fixed = self.weighting == "uniform" or self.components is not None or self.kernel.distinct
        if len(wrong) and fixed:
            node = int(wrong[0])
            raise InputError(
                f"moments: {counted.documents[node]} documents at '{'/'.join(counted.tree.paths[node])}', the census "
                f"counted {self.census.documents[node]}; count documents with the same cap and at least 3 words"
            )


def _own_factor(weights: NodeWeights, weighting: str, components: VarianceComponents | None) -> np.ndarray:
    """The factor of a document's own weight (m or 1) at each node, up to a constant."""
    return weights.factor if weighting == "uniform" or components is not None else np.ones(len(weights.factor))


def _statistics_for(census: Census, by_length: bool) -> str:
    if census.tree.depth == 0 or (by_length and census.tokens_cubed is None):
        return "plug-in"
    return "distinct" if census.documents[census.documents > 0].min() < SMALL_GROUP else "plug-in"


def _slots(
    census: Census, group_nodes: np.ndarray, grouped: bool, node_states: bool
) -> tuple[tuple[Slot, ...], np.ndarray]:
    """The slots, and the slot of every node's documents."""
    slot = np.zeros(len(census.tree), dtype=np.int64)
    if node_states:
        nodes = np.flatnonzero(census.documents)
        slot[nodes] = np.arange(len(nodes))
        return tuple(census.tree.paths[node] for node in nodes), slot
    outside = census.documents > 0
    outside[group_nodes] = False
    if not grouped or not outside.any():
        return (ALL,), slot
    slot[outside] = 1
    return (GROUPED, OUTSIDE), slot


def _power_sums(census: Census, by_length: bool) -> np.ndarray:
    documents = census.documents.astype(float)
    if not by_length:
        return np.stack([documents] * 3)
    if census.tokens_cubed is None:
        raise SettingsError("group statistics over distinct documents with weighting 'tokens' need a census with Σ m³; "
                            "use weighting 'ess', or 'plug-in' statistics")
    return np.stack([census.tokens, census.tokens_squared, census.tokens_cubed])
