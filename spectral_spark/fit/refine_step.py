"""From spectral topics to refined ones: sampling, then passes of incremental EM with priors from the document tree."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spectral_spark.engine.counted_corpus import CensusResult
from spectral_spark.engine.passes import run_pass
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.gibbs_step import explore_topics
from spectral_spark.fit.moment_step import Run
from spectral_spark.refine.em_kernel import RefineKernel
from spectral_spark.refine.em_passes import RunRound, drop_dead, refine_pass, settle_pass
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState
from spectral_spark.tree.group_balance import group_weights

Step = Callable[[RefineState, RunRound, RefineSettings], RefineState]


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics and what surrounds them, on their way to a model.

    Attributes
    ----------
    topics : array of shape (d, k), positive, columns sum to one.
    weights : array of shape (k,), sums to one; shares of the words, each as often as its document counted.
    node_proportions : array of shape (nodes, k), rows sum to one.
    concentrations : of the layers below the root, the documents' last.
    document_concentration : the documents' total prior.
    report : what the refinement says about itself.
    """

    topics: np.ndarray
    weights: np.ndarray
    node_proportions: np.ndarray
    concentrations: tuple[float, ...]
    document_concentration: float
    report: dict[str, Any] = field(default_factory=dict)


def refine_topics(
    start: Topics, corpus: CensusResult, settings: FitSettings, run: Run, *, options: RefineSettings | None = None
) -> Topics:
    """Sampling, then ``settings.refine_passes`` passes over the corpus and one that settles; no passes, no change."""
    if settings.refine_passes == 0:
        return start
    per_shard = corpus.packed.documents / corpus.packed.shards
    options = options or RefineSettings.for_corpus(
        settings.refine_passes, per_shard, explored=settings.explores
    )
    tree = corpus.census.tree
    state = RefineState.start(
        start.topics, start.weights, tree.parent, tree.level, float(corpus.tokens), float(corpus.documents),
        node_proportions=_smoothed(start.node_proportions),
        node_weight=group_weights(corpus.census, settings.group_balance),
    )

    def passed(step: Step, name: str, state: RefineState) -> RefineState:
        def compute() -> dict[str, np.ndarray]:
            started = time.perf_counter()
            after = step(state, _runner(corpus, run, name), options)
            run.log.timed(name, corpus.documents, started)
            return after.arrays()

        return RefineState.from_arrays(run.checkpoints.remember(name.replace(" ", "-"), compute))

    if settings.explores:
        state = explore_topics(state, corpus, settings, options, run)
    for number in range(settings.refine_passes):
        state = passed(refine_pass, f"refine {number + 1}", state)
    state = drop_dead(state, options)
    for number in range(options.settling):
        state = drop_dead(passed(settle_pass, f"settle {number + 1}", state), options)
    sweeps = settings.sweeps(corpus.tokens) if settings.explores else 0
    return _refined(state, options, start.topics.shape[1], sweeps)


def _refined(state: RefineState, options: RefineSettings, k_before: int, sweeps: int) -> Topics:
    """What a refinement found, after so many sweeps of sampling."""
    kept = {int(topic) for topic in state.topic_ids}
    dropped = [topic for topic in range(k_before) if topic not in kept]
    return Topics(
        state.topics(options.final_smoothing), state.weights, state.hierarchy.proportions,
        tuple(float(g) for g in state.hierarchy.concentrations), state.document_concentration,
        {"sweeps": sweeps, "passes": state.passes, "rounds": options.rounds, "dropped_topics": dropped},
    )


def _runner(corpus: CensusResult, run: Run, name: str) -> Any:
    def run_round(
        kernel: RefineKernel, shared: Mapping[str, np.ndarray], number: int, rounds: int
    ) -> dict[str, np.ndarray]:
        return run_pass(
            corpus.packed, kernel, shared, name=f"{name}, round {number + 1} of {rounds}" if rounds > 1 else name,
            round=number, rounds=rounds,
            state_bytes=shared["statistics"].nbytes, progress=run.progress, may_be_empty=True,
        )

    return run_round


def _smoothed(proportions: np.ndarray) -> np.ndarray:
    """No node starts without a topic."""
    floor = proportions + 0.1 / proportions.shape[1]
    return floor / floor.sum(axis=1, keepdims=True)
