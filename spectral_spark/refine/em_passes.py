"""A pass over the corpus is made of rounds of incremental EM in all shards, averaged after each round (formulas §11).

Nothing here touches documents: a round says what to sum over them, and the sums give the next state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.em_kernel import RefineKernel
from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState


@dataclass(frozen=True, eq=False)
class EmRound:
    """What to run over the documents of a round: the sum of the kernel's arrays over all shards is its result."""

    kernel: RefineKernel
    shared: dict[str, np.ndarray]


def refine_round(state: RefineState, settings: RefineSettings) -> EmRound:
    """The next round of incremental EM; :func:`after_round` takes its sums."""
    return EmRound(_kernel(settings), shared_arrays(state, settings))


def after_pass(state: RefineState) -> RefineState:
    """The state after the last round of a pass."""
    return replace(state, passes=state.passes + 1)


def settle_round(state: RefineState, settings: RefineSettings) -> EmRound:
    """One exact step of EM over all documents; :func:`after_settling` takes its sums."""
    return EmRound(_kernel(settings, frozen=True), shared_arrays(state, settings))


def after_settling(state: RefineState, sums: Mapping[str, np.ndarray], settings: RefineSettings) -> RefineState:
    """The state of the whole tree after an exact step, which removes the noise of mini-batches."""
    if not sums or not sums["tokens"][0]:
        return state.with_all_nodes()
    hierarchy = _learnt(state, sums["node_tables"], sums["node_spread"], sums, settings, all_nodes=True)
    statistics = sums["statistics"] * (state.tokens / float(sums["tokens"][0]))
    if state.cut is None:
        return replace(state, statistics=statistics, hierarchy=hierarchy)
    return state.replaced(statistics, hierarchy)


def _kernel(settings: RefineSettings, *, frozen: bool = False) -> RefineKernel:
    backend = backend_name(settings.backend)        # decided on the driver, so that all workers run the same loops
    smoothing = settings.final_smoothing if frozen else settings.smoothing
    return RefineKernel(settings.batch_size, settings.inner_iterations, smoothing, backend, frozen)


def drop_dead(state: RefineState, settings: RefineSettings) -> RefineState:
    """The state without topics that have almost no words; seeded ones stay."""
    seeded = 0 if state.seeds is None else state.seeds.topics
    alive = np.flatnonzero((state.weights >= settings.minimum_weight / state.k) | (np.arange(state.k) < seeded))
    return state if len(alive) == state.k else state.keep(alive)


def shared_arrays(state: RefineState, settings: RefineSettings) -> dict[str, np.ndarray]:
    """The arrays that a round broadcasts."""
    seeds = state.seeds
    prior = {} if seeds is None else {
        "seed_counts": seeds.pseudo_counts(state.statistics), "seed_allowed": seeds.allowed,
    }
    return {
        "statistics": state.statistics,
        "node_prior": state.hierarchy.proportions,
        "concentration": np.full(len(state.hierarchy.proportions), state.document_concentration),
        "node_weight": state.node_weight,
        **({} if state.cut is None else {"place": state.cut.place}),
        "rate": np.array([settings.rate(state.rounds)]),
        "documents": np.array([state.documents]),
        **prior,
    }


def after_round(state: RefineState, sums: Mapping[str, np.ndarray], settings: RefineSettings) -> RefineState:
    """Average the shards' statistics and refresh the tree from the documents' sums."""
    shards = float(sums["shards"][0]) if sums else 0.0
    if shards == 0:
        return replace(state, rounds=state.rounds + 1)       # a corpus with fewer blocks than rounds
    kept = 1.0 if state.passes == 0 else 1.0 - 1.0 / settings.rounds      # keeps the sums at about one pass
    tables = kept * state.node_tables + sums["node_tables"]
    spread = kept * state.node_spread + sums["node_spread"]
    statistics = sums["statistics"]
    statistics /= shards
    return replace(
        state, statistics=statistics, hierarchy=_learnt(state, tables, spread, sums, settings),
        node_tables=tables, node_spread=spread, rounds=state.rounds + 1,
    )


def _learnt(
    state: RefineState, tables: np.ndarray, spread: np.ndarray, sums: Mapping[str, np.ndarray],
    settings: RefineSettings, *, all_nodes: bool = False,
) -> Hierarchy:
    """The tree after a round, from the sums of the nodes that remain, or of all nodes of a cut tree."""
    cut = state.cut
    parent, level = (state.parent, state.level) if cut is None or all_nodes else (cut.parent, cut.level)
    return update_hierarchy(
        state.hierarchy, parent, level, tables, spread,
        learn=settings.learn_concentrations, bounds=settings.concentration_bounds,
        newest=(float(sums["node_tables"].sum()), float(sums["node_spread"].sum())),
        learn_documents=settings.learn_document_concentration,
        place=cut.place if cut is not None and all_nodes else None,
    )
