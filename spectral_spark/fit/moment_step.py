"""Moments: the one pass that collects them in the basis."""

import time

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.leaf_moments import node_state_bytes
from spectral_spark.moments.moment_plan import SMALL_GROUP, MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.symmetric_packing import pair_count
from spectral_spark.moments.variance_components import VarianceKernel, variance_components
from spectral_spark.tree.random_effects import VarianceComponents

NODE_STATES_LIMIT = 256 << 20
CHEAP_NODE_SUMS = 64 << 20                          # bytes of the nodes' sums during the pass, if nobody asked for them
GROUP_LIMIT, GROUPS_LIMIT = 512, 64 << 20           # groups whose statistics are kept; bytes if nobody asked for them
FEW_GROUPS = 64


def collect_moments(
    corpus: CountedCorpus, basis: Basis, settings: FitSettings, run: FitRun, source: str,
    joining: MomentState | None = None, *, third: bool = True, name: str = "moments",
) -> MomentState:
    """One pass: moments of two half samples, first moments of every node, and statistics of groups if asked for.

    ``joining`` are moments that these will be added to or subtracted from; ``third`` tells whether to collect third
    moments, which are too large for many topics; ``name`` is that of the pass.
    """
    plan = plan_moments(corpus, basis, settings, run, joining, third=third)

    def compute() -> State:
        started = time.perf_counter()
        halves = corpus.packed.sum_halves(
            plan.kernel, plan.shared, name=name, state_bytes=plan.travelling_bytes(corpus.documents_per_shard)
        )
        run.finished_pass(name, corpus.documents, started)
        return {f"{side}-{name}": sums[name] for side, sums in zip("ab", halves, strict=True) for name in sums}

    sums = run.resumable(name, compute)
    one, other = ({name[2:]: array for name, array in sums.items() if name.startswith(f"{side}-")} for side in "ab")
    return plan.finish(one, other, sources=[source], dropped=sum(corpus.dropped.values()))


def check_groups(corpus: CountedCorpus, settings: FitSettings) -> None:
    """Refuse, before any pass, tensors per group for too many groups that were asked for."""
    nodes = _nodes(corpus)
    if settings.tensors == "groups" and nodes > GROUP_LIMIT:
        raise SettingsError(
            f"tensors is 'groups', but {nodes} nodes of the tree have documents, more than the {GROUP_LIMIT} whose "
            "statistics can be kept; use fewer layers, or tensors='root'"
        )


def warn_of_fixed_tree(moments: MomentState, run: FitRun) -> None:
    """Warn at the time of the fit that the model cannot be updated."""
    if not can_grow(moments):
        nodes = int((moments.census.documents > 0).sum())
        size = node_state_bytes(moments.basis.vocab_size, moments.basis.size, nodes)
        could = "`nodeSums=keep`, with " if size <= NODE_STATES_LIMIT else ""
        run.warn(
            f"with `weighting={moments.weighting}` the sums of {nodes} nodes would take {size / 2**20:,.0f} MiB and "
            "are not kept apart: this model can be used, but not updated or merged; for one that can, fit with "
            f"{could}`weighting=tokens`, or cut the tree with `layers`"
        )


def can_grow(moments: MomentState) -> bool:
    """Whether documents can be added to the moments and removed from them."""
    return moments.kept_by_node or (moments.weighting != "uniform" and moments.components is None)


def check_room(corpus: CountedCorpus, moments: MomentState) -> None:
    """Refuse, before any pass, an update of more nodes than can be kept apart."""
    if moments.weighting != "tokens" and moments.kept_by_node and not _node_states_fit(corpus, moments.basis):
        raise InputError(
            f"with `weighting={moments.weighting}` the sums of the {_nodes(corpus)} nodes of these documents would "
            f"take more than {NODE_STATES_LIMIT >> 20} MiB; update with fewer groups at a time"
        )


def _nodes(corpus: CountedCorpus) -> int:
    return int((corpus.census.documents > 0).sum())


def _node_states_fit(corpus: CountedCorpus, basis: Basis) -> bool:
    return node_state_bytes(basis.vocab_size, basis.size, _nodes(corpus)) <= NODE_STATES_LIMIT


def _keeps_nodes(corpus: CountedCorpus, basis: Basis, settings: FitSettings) -> bool:
    """Whether to keep the nodes' sums apart: during the pass they take a row of the basis for every word and node."""
    during = 8 * _nodes(corpus) * basis.vocab_size * basis.size
    return _node_states_fit(corpus, basis) and (settings.node_sums == "keep" or during <= CHEAP_NODE_SUMS)


def plan_moments(
    corpus: CountedCorpus, basis: Basis, settings: FitSettings, run: FitRun, joining: MomentState | None = None, *,
    third: bool = True,
) -> MomentPlan:
    """What to sum. Weightings that follow the tree keep the nodes' sums apart, if they are small or asked for, so that
    the tree can grow; otherwise the documents' weights follow from the census, and all are summed as one."""
    apart = joining.kept_by_node if joining is not None else _keeps_nodes(corpus, basis, settings)
    apart = apart and settings.weighting != "tokens"
    components = None
    if settings.weighting == "ess" and not apart and joining is None:
        components = measure_variances(corpus, basis, settings, run)
    return MomentPlan.make(
        basis, corpus.census, settings.weighting, cap=settings.cap,
        groups="auto" if third and _with_groups(corpus, basis, settings, joining) else "none", node_states=apart,
        components=components, third=third,
    )


def _with_groups(
    corpus: CountedCorpus, basis: Basis, settings: FitSettings, joining: MomentState | None
) -> bool:
    """Whether to collect statistics of groups. Automatically, only where they can be chosen and are small; before a
    refinement only of a few large groups, where they cost next to nothing and updates can add to them.
    """
    if settings.tensors != "auto":
        return settings.tensors == "groups"
    if joining is not None:
        return joining.groups is not None
    nodes = _nodes(corpus)
    size = 8 * nodes * (pair_count(basis.size) + basis.vocab_size)
    if not 1 < nodes <= GROUP_LIMIT or size > GROUPS_LIMIT or settings.concentrations != "auto":
        return False
    documents = corpus.census.documents
    return settings.scores_candidates or (nodes <= FEW_GROUPS and int(documents[documents > 0].min()) >= SMALL_GROUP)


def measure_variances(
    corpus: CountedCorpus, basis: Basis, settings: FitSettings, run: FitRun
) -> VarianceComponents:
    """One pass for the variance components, where the moments of the nodes cannot be kept apart."""
    kernel = VarianceKernel(corpus.vocab_size, settings.cap, len(corpus.census.tree))

    def compute() -> State:
        started = time.perf_counter()
        sums = corpus.packed.sum(kernel, {"basis": basis.projection}, name="variances")
        run.finished_pass("variances", corpus.documents, started)
        return sums

    sums = run.resumable("variances", compute)
    return variance_components(corpus.census, sums["node_first"], sums["node_pairs"], *map(float, sums["squares"]))
