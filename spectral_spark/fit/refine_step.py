"""Settle: passes of incremental EM over all documents, with priors from the document tree, then an exact step of EM."""

import time

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.tree_sum import State
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.gibbs_step import refine_options
from spectral_spark.refine.cut_tree import cut_tree
from spectral_spark.refine.em_passes import (
    EmRound,
    after_pass,
    after_round,
    after_settling,
    drop_dead,
    refine_round,
    settle_round,
)
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState


def settle_topics(
    start: RefineState, corpus: CountedCorpus, settings: FitSettings, run: FitRun, *, passes: int | None = None
) -> Topics:
    """``passes`` (or ``settings.passes``) passes over the corpus, then exact steps that settle the topics."""
    state, options, tree = start, refine_options(corpus, settings), corpus.census.tree
    rounds = settings.passes(corpus.tokens) if passes is None else passes
    if rounds:                                      # the exact step that follows gives all nodes proportions again
        state = start.cut_to(cut_tree(tree.parent, tree.level, corpus.census.tokens, start.k))
    for number in range(rounds):
        state = _refine_pass(state, f"refine {number + 1}", corpus, options, run)
    state = drop_dead(state, options)
    for number in range(settings.settling(corpus.tokens) if passes is None else options.settling):
        state = drop_dead(_settle_pass(state, f"settle {number + 1}", corpus, options, run), options)
    sweeps = {"sweeps": settings.sweeps(corpus.tokens) if settings.explores else 0}
    if settings.samples_all(corpus.tokens):
        sweeps["corpus_sweeps"] = settings.corpus_sweeps(corpus.tokens)
    return _refined(state.with_all_nodes(), options, start.k, sweeps)


def _refine_pass(
    start: RefineState, name: str, corpus: CountedCorpus, options: RefineSettings, run: FitRun
) -> RefineState:
    """One pass in rounds; the shards' statistics are averaged after each."""

    def compute() -> dict[str, np.ndarray]:
        started, state = time.perf_counter(), start
        for number in range(options.rounds):
            title = f"{name}, round {number + 1} of {options.rounds}" if options.rounds > 1 else name
            sums = _sum(corpus, refine_round(state, options), title, number, options.rounds)
            state = after_round(state, sums, options)
        run.finished_pass(name, corpus.documents, started)
        return after_pass(state).arrays()

    return RefineState.from_arrays(run.resumable(name, compute))


def _settle_pass(
    start: RefineState, name: str, corpus: CountedCorpus, options: RefineSettings, run: FitRun
) -> RefineState:
    """One exact step of EM over all documents."""

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        sums = _sum(corpus, settle_round(start, options), name)
        run.finished_pass(name, corpus.documents, started)
        return after_settling(start, sums, options).arrays()

    return RefineState.from_arrays(run.resumable(name, compute))


def _sum(corpus: CountedCorpus, planned: EmRound, name: str, number: int = 0, rounds: int = 1) -> State:
    return corpus.packed.sum(
        planned.kernel, planned.shared, name=name, round=number, rounds=rounds,
        state_bytes=planned.shared["statistics"].nbytes, may_be_empty=True,
    )


def _refined(state: RefineState, options: RefineSettings, k_before: int, sweeps: dict[str, int]) -> Topics:
    """The topics of a finished refinement, which followed so many sweeps of Gibbs sampling."""
    kept = {int(topic) for topic in state.topic_ids}
    dropped = [topic for topic in range(k_before) if topic not in kept]
    seeds = state.seeds
    return Topics(
        state.topics(options.final_smoothing), state.weights, state.hierarchy.proportions,
        tuple(float(g) for g in state.hierarchy.concentrations), state.document_concentration,
        {**sweeps, "passes": state.passes, "rounds": options.rounds, "dropped_topics": dropped}, seeds,
        None if seeds is None else state.statistics[seeds.listed],
    )
