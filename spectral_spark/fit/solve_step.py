"""Solve: from moments to spectral topics, on the driver, with given, calibrated or chosen concentrations."""

from dataclasses import dataclass, replace
from typing import Any

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.errors import InputError
from spectral_spark.fit.concentration_search import choose_candidate
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.planned_passes import CANDIDATES, LARGE_TOPICS
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.level_concentrations import level_ratios
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.solve.topic_solution import TopicSolution, node_proportions

UNSCORED = 0.3              # without documents to choose with, or before refinement; small values suit text
DOCUMENT_CONCENTRATION = 1.0
CALIBRATED = "calibrated"
REFINED_TOLERANCE = 0.03    # looser tolerance of the solver if refinement follows, which corrects what is left


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution of the moments, and the topics of the model (which share its arrays)."""

    solution: TopicSolution
    topics: Topics


def solve_moments(moments: MomentState, settings: FitSettings, corpus: CountedCorpus | None, run: FitRun) -> Solved:
    """Solve the moments. With ``concentrations="auto"`` and a corpus, candidates are scored on a sample of documents.

    The candidates are a few numbers for the documents, without levels of groups and with those that pairs of documents
    suggest (formulas §14), and the numbers that the moments calibrate. Calibration is right for documents drawn from
    the model and far off on text, where words repeat; the held-out words decide.
    Refinement learns its own concentrations, and neither the concentrations of the start nor the solver's tolerance
    make a difference after it (``benchmarks/REFINE.md``). Before a refinement, candidates are therefore tried only if
    the default has no solution.
    """
    refined = corpus is not None and settings.refine_passes > 0
    if settings.concentrations != "auto":
        given = settings.concentrations
        concentrations: str | list[float] = given if isinstance(given, str) else _for_tree(list(given), moments)
        solution = _solve(moments, settings, concentrations, refined=refined)
        return _solved(moments, solution, (solution.concentrations or (DOCUMENT_CONCENTRATION,))[-1])
    if corpus is None or not settings.scores_candidates:
        try:
            return _solved(moments, _solve(moments, settings, [UNSCORED], refined=refined), DOCUMENT_CONCENTRATION)
        except InputError:
            if corpus is None:
                raise
    best = _best_candidate(moments, settings, corpus, run)
    report = {"concentration_scores": best.scores, "concentrations_chosen": best.name}
    return _solved(moments, best.solution, best.document_concentration, report)


@dataclass(frozen=True, eq=False)
class _Best:
    """The candidate with the lowest loss so far, and the losses of all."""

    solution: TopicSolution
    loss: float
    document_concentration: float
    scores: dict[str, float]
    name: str


def _best_candidate(moments: MomentState, settings: FitSettings, corpus: CountedCorpus, run: FitRun) -> _Best:
    """Solve for every candidate concentration and score the topics: all at once or, if they are large, one by one.
    Candidates whose S2 has too few positive eigenvalues are left out."""
    best: _Best | None = None
    failure: InputError | None = None
    together: dict[str, TopicSolution] = {}
    waiting: dict[str, str | list[float]] = {f"{g:g}": [g] for g in CANDIDATES}
    while waiting:
        name = next(iter(waiting))
        candidate = waiting.pop(name)
        first = next(iter(together.values()), best.solution if best else None)
        rank = first.rank if first else None
        try:
            solution = _solve(moments, replace(settings, k=rank.k) if rank else settings, candidate)
            if rank is None:
                waiting |= _more_candidates(moments, settings, solution.k)
            together[name] = replace(solution, rank=rank or solution.rank)
        except InputError as error:
            failure = error
        large = any(solution.topics.nbytes > LARGE_TOPICS for solution in together.values())
        if together and (large or not waiting):
            best = _better(best, together, moments, corpus, run, settings.seed)
            together = {}
    if best is None:
        assert failure is not None
        raise failure
    return best


def _more_candidates(moments: MomentState, settings: FitSettings, k: int) -> dict[str, str | list[float]]:
    """The same numbers with the levels of groups, and all concentrations from the moments; by name."""
    if settings.tensors == "groups":                # these need no concentrations of groups
        return {}
    pairs = moments.pairs()
    levels = level_ratios(pairs, k) if pairs is not None else None
    with_levels = {} if levels is None else {f"levels {g:g}": list(levels.concentrations(g)) for g in CANDIDATES}
    return {**with_levels, CALIBRATED: CALIBRATED}


def _better(
    best: _Best | None, candidates: dict[str, TopicSolution], moments: MomentState, corpus: CountedCorpus, run: FitRun,
    seed: int,
) -> _Best:
    """The best of these candidates, and the best one before them."""
    means, names, solutions = moments.node_means(), list(candidates), list(candidates.values())
    priors = [node_proportions(means, solution) for solution in solutions]
    step = "choose" if len(solutions) > 1 else f"choose-{names[0]}"
    choice = choose_candidate(corpus, solutions, priors, moments.mean_words(), run, seed, step=step)
    scores = {name: round(float(loss), 5) for name, loss in zip(names, choice.losses, strict=True)}
    scores = (best.scores if best else {}) | scores
    loss = float(choice.losses[choice.best])
    if best is not None and best.loss <= loss:
        return replace(best, scores=scores)
    return _Best(solutions[choice.best], loss, choice.document_concentration, scores, names[choice.best])


def _solve(
    moments: MomentState, settings: FitSettings, concentrations: str | list[float], *, refined: bool = False
) -> TopicSolution:
    alone = isinstance(concentrations, list) and len(concentrations) == 1
    given = concentrations[0] if alone else concentrations
    return solve_state(
        moments, settings.k, settings.solver, given, per_group=settings.tensors == "groups",
        rank_rule=settings.rank_rule, seed=settings.seed,
        solver_options={"tolerance": REFINED_TOLERANCE} if refined else None,
    )


def _for_tree(given: list[float], moments: MomentState) -> list[float]:
    depth = moments.census.tree.depth + 1
    if len(given) not in (1, depth):
        raise InputError(
            f"concentrations has {len(given)} numbers, the tree {depth + 1} layers; give {depth}, one per layer below "
            "the root, or one for the documents alone"
        )
    return given


def _solved(
    moments: MomentState, solution: TopicSolution, document_concentration: float, report: dict[str, Any] | None = None
) -> Solved:
    proportions = node_proportions(moments.node_means(), solution)
    smooth = smoothed_topics(solution.topics, moments.mean_words())
    topics = Topics(
        smooth, solution.weights, proportions, solution.concentrations or (), document_concentration, report or {}
    )
    return Solved(replace(solution, topics=smooth), topics)
