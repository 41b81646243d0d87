"""The passes that look at every document: the basis, then the moments in it."""

import time
from dataclasses import dataclass, field

import numpy as np

from spectral_spark.engine.census import CensusResult
from spectral_spark.engine.checkpoint import Checkpoints
from spectral_spark.engine.order import State
from spectral_spark.engine.passes import PassLog, run_halves, run_pass
from spectral_spark.engine.progress import Progress
from spectral_spark.ml.settings import FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.plan import MomentPlan
from spectral_spark.moments.range import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    word_scale,
)
from spectral_spark.moments.state import MomentState, node_state_bytes
from spectral_spark.tree.weights import NodeWeights

NODE_STATES_LIMIT = 256 << 20
GROUP_LIMIT = 512


@dataclass
class Run:
    """What travels through a fit beside the data: progress, checkpoints and the times."""

    progress: Progress = field(default_factory=Progress)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    log: PassLog = field(default_factory=PassLog)
    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, what: str, started: float) -> None:
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - started, 3)


def find_basis(
    corpus: CensusResult, weights: NodeWeights, settings: FitSettings, vocabulary: str, run: Run
) -> Basis:
    """Randomized subspace iteration for the basis, one pass per application of the second moment."""
    packed = corpus.packed
    d = packed.decode.vocab_size  # type: ignore[attr-defined]
    probe = first_probe(d, settings.basis_columns(d), settings.seed)
    kernel = RangeKernel(d, settings.cap, weights.by_length)
    scale, mean, image = np.ones(d), np.zeros(d), probe
    for number in range(settings.range_passes):
        name = f"range {number + 1}"
        shared = {"probe": probe, "factor": weights.factor}

        def compute(name: str = name, shared: dict[str, np.ndarray] = shared) -> State:
            started = time.perf_counter()
            sums = run_pass(
                packed, kernel, shared, name=name, progress=run.progress, state_bytes=shared["probe"].nbytes
            )
            run.log.timed(name, corpus.documents, started)
            return sums

        sums = run.checkpoints.remember(name.replace(" ", "-"), compute)
        image = apply_second_moment(sums, probe)
        if number == 0:
            mean = mean_words(sums)
            scale = word_scale(mean, settings.word_scaling)
        if number + 1 < settings.range_passes:
            probe = next_probe(image, scale)
    return finish_basis(image, scale, mean, vocabulary)


def collect_moments(
    corpus: CensusResult, basis: Basis, settings: FitSettings, run: Run, source: str
) -> MomentState:
    """The moment pass: one pass, two half samples, first moments of every node, group statistics where asked."""
    plan = plan_moments(corpus, basis, settings)

    def compute() -> State:
        started = time.perf_counter()
        halves = run_halves(
            corpus.packed, plan.kernel, plan.shared, name="moments", state_bytes=plan.state_bytes, progress=run.progress
        )
        run.log.timed("moments", corpus.documents, started)
        return {f"{side}-{name}": sums[name] for side, sums in zip("ab", halves, strict=True) for name in sums}

    sums = run.checkpoints.remember("moments", compute)
    one, other = ({name[2:]: array for name, array in sums.items() if name.startswith(f"{side}-")} for side in "ab")
    return plan.finish(one, other, sources=[source], dropped=sum(corpus.dropped.values()))


def plan_moments(corpus: CensusResult, basis: Basis, settings: FitSettings) -> MomentPlan:
    """What to sum. Averaging nodes uniformly keeps the nodes' sums apart, if they fit, so that the tree can grow."""
    nodes = int((corpus.census.documents > 0).sum())
    uniform = settings.weighting == "uniform"
    fits = node_state_bytes(basis.vocab_size, basis.size, nodes) <= NODE_STATES_LIMIT
    return MomentPlan.make(
        basis, corpus.census, settings.weighting, cap=settings.cap,
        groups="auto" if settings.tensors == "groups" and nodes <= GROUP_LIMIT else "none",
        node_states=uniform and fits and nodes > 1,
    )
