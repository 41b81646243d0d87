"""The passes that look at every document: the basis, then the moments in it."""

import logging
import time
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from spectral_spark.engine.checkpoints import Checkpoints
from spectral_spark.engine.counted_corpus import CensusResult
from spectral_spark.engine.passes import PassLog, run_halves, run_pass
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState, node_state_bytes
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    word_scale,
)
from spectral_spark.tree.weights import NodeWeights

NODE_STATES_LIMIT = 256 << 20
GROUP_LIMIT = 512
_log = logging.getLogger(__name__)


@dataclass
class Run:
    """What travels through a fit beside the data: progress, checkpoints, the times, and what to be warned of."""

    progress: Progress = field(default_factory=Progress)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    log: PassLog = field(default_factory=PassLog)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def timed(self, what: str, started: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - started, 3)

    def warn(self, text: str) -> None:
        """Say it now and in the run report."""
        _log.warning("%s", text)
        self.warnings.append(text)


def find_basis(
    corpus: CensusResult, weights: NodeWeights, settings: FitSettings, vocabulary: str, run: Run
) -> Basis:
    """Randomized subspace iteration for the basis, one pass per application of the second moment."""
    packed = corpus.packed
    d = packed.decode.vocab_size  # type: ignore[attr-defined]
    probe = first_probe(d, settings.basis_columns(d), settings.seed)
    kernel = RangeKernel(d, settings.cap, weights.by_length)
    scale, mean = np.ones(d), np.zeros(d)

    def applied(name: str, probe: np.ndarray) -> State:
        started = time.perf_counter()
        shared = {"probe": probe, "factor": weights.factor}
        sums = run_pass(packed, kernel, shared, name=name, progress=run.progress, state_bytes=probe.nbytes)
        run.log.timed(name, corpus.documents, started)
        return sums

    for number in range(settings.range_passes):
        name = f"range {number + 1}"
        sums = run.checkpoints.remember(name.replace(" ", "-"), partial(applied, name, probe))
        if number == 0:
            mean = mean_words(sums)
            scale = word_scale(mean, settings.word_scaling)
        probe = apply_second_moment(sums, probe)
        del sums                                            # of the size of the basis, as the probe is
        if number + 1 < settings.range_passes:
            probe = next_probe(probe, scale)
    return finish_basis(probe, scale, mean, vocabulary)


def collect_moments(
    corpus: CensusResult, basis: Basis, settings: FitSettings, run: Run, source: str
) -> MomentState:
    """The moment pass: one pass, two half samples, first moments of every node, group statistics where asked."""
    plan = plan_moments(corpus, basis, settings)

    def compute() -> State:
        started = time.perf_counter()
        halves = run_halves(
            corpus.packed, plan.kernel, plan.shared, name="moments", progress=run.progress,
            state_bytes=plan.travelling_bytes(corpus.packed.documents / corpus.packed.shards),
        )
        run.log.timed("moments", corpus.documents, started)
        return {f"{side}-{name}": sums[name] for side, sums in zip("ab", halves, strict=True) for name in sums}

    sums = run.checkpoints.remember("moments", compute)
    one, other = ({name[2:]: array for name, array in sums.items() if name.startswith(f"{side}-")} for side in "ab")
    return plan.finish(one, other, sources=[source], dropped=sum(corpus.dropped.values()))


def check_groups(corpus: CensusResult, settings: FitSettings) -> None:
    """Refuse, before any pass, tensors per group of more groups than statistics can be kept for."""
    nodes = _nodes(corpus)
    if settings.tensors == "groups" and nodes > GROUP_LIMIT:
        raise SettingsError(
            f"tensors is 'groups' and {nodes} nodes of the tree have documents, more than the {GROUP_LIMIT} whose "
            "statistics can be kept; cut the tree with layers, or take tensors='root'"
        )


def warn_of_fixed_tree(moments: MomentState, run: Run) -> None:
    """Say at once that a model will not take updates, not only when one is tried."""
    if not can_grow(moments):
        nodes = int((moments.census.documents > 0).sum())
        size = node_state_bytes(moments.basis.vocab_size, moments.basis.size, nodes) / 2**20
        run.warn(
            f"with weighting 'uniform' the sums of {nodes} nodes would take {size:,.0f} MiB, more than "
            f"{NODE_STATES_LIMIT >> 20}, and are not kept apart: this model can be used, but not updated or merged; "
            "fit with weighting 'tokens' or 'ess', or cut the tree with layers, for one that can"
        )


def can_grow(moments: MomentState) -> bool:
    """Whether documents can be added and removed."""
    return moments.weighting != "uniform" or not any(isinstance(slot, str) for slot in moments.slots)


def check_room(corpus: CensusResult, basis: Basis, settings: FitSettings) -> None:
    """Refuse, before any pass, an update in more nodes than can be kept apart."""
    if settings.weighting == "uniform" and not _node_states_fit(corpus, basis):
        raise InputError(
            f"with weighting 'uniform' the sums of the {_nodes(corpus)} nodes of these documents would take more than "
            f"{NODE_STATES_LIMIT >> 20} MiB; update with fewer groups at a time"
        )


def _nodes(corpus: CensusResult) -> int:
    return int((corpus.census.documents > 0).sum())


def _node_states_fit(corpus: CensusResult, basis: Basis) -> bool:
    return node_state_bytes(basis.vocab_size, basis.size, _nodes(corpus)) <= NODE_STATES_LIMIT


def plan_moments(corpus: CensusResult, basis: Basis, settings: FitSettings) -> MomentPlan:
    """What to sum. Averaging nodes uniformly keeps the nodes' sums apart, if they fit, so that the tree can grow."""
    return MomentPlan.make(
        basis, corpus.census, settings.weighting, cap=settings.cap,
        groups="auto" if settings.tensors == "groups" else "none",
        node_states=settings.weighting == "uniform" and _node_states_fit(corpus, basis),
    )
