"""Solve: from moments to spectral topics, on the driver, with given, calibrated or chosen concentrations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.errors import InputError
from spectral_spark.fit.concentration_search import score_candidates
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.planned_passes import AGREED, CALIBRATED, CANDIDATES, GROUP_CANDIDATES, LARGE_TOPICS
from spectral_spark.fit.settings_check import check_levels
from spectral_spark.fit.third_step import SAMPLED_ITERATIONS, SETTLED, ThirdDocuments, third_documents
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.exact_solution import exact_solution
from spectral_spark.solve.level_concentrations import LevelRatios, level_ratios
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solve_state import group_agreement, solve_state
from spectral_spark.solve.topic_solution import TopicSolution, node_proportions
from spectral_spark.tree.bounds import independent_groups

UNSCORED = 0.3              # without documents to choose with, or before refinement; small values suit text
DOCUMENT_CONCENTRATION = 1.0
PER_GROUP = "groups"
CLOSE = 0.08                # share of the gain over word frequencies within which losses do not tell concentrations
FEW_GROUPS = 64             # groups whose second moments are compared one by one
MANY_GROUPS = 20            # independent top-level groups that stand for their expectation
REFINED_TOLERANCE = 0.03    # looser tolerance of the solver if refinement follows, which corrects what is left
# The noise of a sample is larger than what further iterations would change.
SAMPLED = {"tolerance": 1e-3, "max_iterations": 100}
SAMPLED_AND_REFINED = {"tolerance": REFINED_TOLERANCE, "max_iterations": SAMPLED_ITERATIONS, "settled": SETTLED}


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution of the moments, and the topics of the model (which share its arrays)."""

    solution: TopicSolution
    topics: Topics


def solve_moments(
    moments: MomentState, settings: FitSettings, corpus: CountedCorpus | None, run: FitRun,
    sample: KeptSample | None = None, *, refined: bool = False,
) -> Solved:
    """Solve the moments. With ``concentrations="auto"`` and a corpus, candidates are scored on a sample of documents.

    ``sample`` are documents to take third moments from if the moments have none; ``refined`` says that refinement
    follows although there is no corpus to choose with.

    The candidates are a few numbers for the documents, without levels of groups and with those that pairs of documents
    suggest (formulas §14), and the numbers that the moments calibrate; with ``tensors="auto"`` also numbers for the
    documents with tensors per group (formulas §6). Calibration is right for documents drawn from the model and far off
    on text, where words repeat, and tensors per group win where groups differ; the held-out words decide.
    Refinement learns its own concentrations, and neither the concentrations of the start nor the solver's tolerance
    make a difference after it (``benchmarks/REFINE.md``). Before a refinement, one set of numbers that suits the tree
    is therefore taken, and candidates are tried only if it has no solution.
    Moments without noise, which no corpus has, tell all concentrations themselves, and nothing else is tried.
    """
    refined = settings.refines and (refined or corpus is not None)
    sampled = corpus is not None and settings.explores
    third = None if moments.has_third else third_documents(moments, sample, settings.solver, corpus, run)
    if settings.concentrations != "auto":
        check_levels(settings, moments.census.tree.depth)
        given = settings.concentrations
        concentrations: str | list[float] = given if isinstance(given, str) else list(given)
        solution = _solve(moments, settings, concentrations, third, refined=refined)
        last = (solution.concentrations or (DOCUMENT_CONCENTRATION,))[-1]
        return _solved(moments, solution, last, printed=settings.printed, sampled=sampled)
    exact = _exact(moments, settings)
    if exact is not None:
        return exact
    if corpus is None or not settings.scores_candidates:
        try:
            name, candidate = _unscored(moments, settings)
            solution = _tried(candidate, moments, settings, third, refined=refined)
            unscored = {"concentrations_chosen": name}
            return _solved(
                moments, solution, DOCUMENT_CONCENTRATION, unscored, printed=settings.printed, sampled=sampled
            )
        except InputError:
            if corpus is None:
                raise
    best = _best_candidate(moments, settings, corpus, run, third)
    chosen = best.chosen()
    report = {"concentration_scores": best.scores, "concentrations_chosen": chosen.name}
    return _solved(
        moments, chosen.solution, chosen.document_concentration, report, printed=settings.printed, sampled=sampled
    )


def _exact(moments: MomentState, settings: FitSettings) -> Solved | None:
    """The solution of moments without noise; its topics are smoothed only before a refinement."""
    if settings.printed:                                    # reads the moments as printed, exact or not
        return None
    found = exact_solution(moments, settings.k, settings.solver, settings.seed, tensors=settings.tensors)
    if found is None or found.concentrations is None:
        return None
    report = {"concentrations_chosen": f"{PER_GROUP} {CALIBRATED}" if found.per_group else CALIBRATED}
    g = DOCUMENT_CONCENTRATION if settings.refines else found.concentrations[-1]
    return _solved(moments, found, g, report, printed=not settings.refines)


def _unscored(moments: MomentState, settings: FitSettings) -> tuple[str, "_Candidate"]:
    """What the moments are read with if nothing is scored: the usual number for documents, and what the tree tells.

    Few groups are far from their expectation, so their tensors are taken one by one (formulas §6). With many
    top-level groups the root's coefficients are right, and pairs of documents tell the levels (formulas §14). Few
    top-level groups without statistics of their own leave the tree out: there the coefficients of its levels hurt.
    """
    number = f"{UNSCORED:g}"
    if settings.printed:
        layers = moments.census.tree.depth + 1
        return ", ".join([number] * layers), _Candidate([UNSCORED] * layers)
    pairs, k = moments.pairs(), moments.basis.size // 2 if settings.k == "auto" else int(settings.k)
    levels = level_ratios(pairs, k) if pairs is not None else None
    if settings.tensors == "groups" or (settings.tensors == "auto" and moments.groups is not None):
        return f"{PER_GROUP} {number}", _Candidate([UNSCORED], True, levels)
    if levels is not None and independent_groups(moments.census, moments.weights) >= MANY_GROUPS:
        return f"levels {number}", _Candidate(list(levels.concentrations(UNSCORED)))
    return number, _Candidate([UNSCORED])


@dataclass(frozen=True, eq=False)
class _Scored:
    """A solution, its loss on held-out words, and the total document prior with which it was lowest."""

    name: str
    solution: TopicSolution
    loss: float
    document_concentration: float

    @property
    def documents(self) -> float:
        """The concentration of the documents that the moments were read with."""
        return (self.solution.concentrations or (DOCUMENT_CONCENTRATION,))[-1]


@dataclass(frozen=True, eq=False)
class _Best:
    """The candidate with the lowest loss so far, the one that the groups agree on, and the losses of all."""

    lowest: _Scored
    agreed: _Scored | None
    scores: dict[str, float]
    unigram_loss: float

    def chosen(self) -> _Scored:
        """The lowest loss, or the concentration that the groups agree on if it is larger and its loss hardly higher.

        Both err towards small numbers. Topics nearer to the corpus mean than they are have a lower loss where some
        topics cannot be found, and noise leaves more beside the diagonals of the groups the larger the number is.
        """
        lowest, agreed = self.lowest, self.agreed
        if agreed is None or not agreed.documents > lowest.documents:
            return lowest
        return agreed if agreed.loss - lowest.loss <= CLOSE * (self.unigram_loss - lowest.loss) else lowest


def _best_candidate(
    moments: MomentState, settings: FitSettings, corpus: CountedCorpus, run: FitRun, third: ThirdDocuments | None
) -> _Best:
    """Solve for every candidate and score the topics: all at once or, if they are large, one by one.
    Candidates whose S2 has too few positive eigenvalues are left out."""
    best: _Best | None = None
    failure: InputError | None = None
    together: dict[str, TopicSolution] = {}
    asked = settings.tensors == "groups"
    layers = moments.census.tree.depth + 1 if settings.printed else 1       # the paper's coefficients are of all layers
    waiting = {", ".join([f"{g:g}"] * layers): _Candidate([g] * layers, asked) for g in CANDIDATES}
    while waiting:
        name = next(iter(waiting))
        candidate = waiting.pop(name)
        first = next(iter(together.values()), best.lowest.solution if best else None)
        rank = first.rank if first else None
        try:
            solution = _tried(candidate, moments, replace(settings, k=rank.k) if rank else settings, third)
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


@dataclass(frozen=True)
class _Candidate:
    """Concentrations to solve with, and whether to take tensors per group."""

    concentrations: str | list[float]
    per_group: bool = False
    levels: LevelRatios | None = None


def _tried(
    candidate: _Candidate, moments: MomentState, settings: FitSettings, third: ThirdDocuments | None, *,
    refined: bool = False,
) -> TopicSolution:
    """The solution; tensors per group leave the levels of groups to the pairs of documents."""
    tensors = "groups" if candidate.per_group else "root"
    solution = _solve(moments, replace(settings, tensors=tensors), candidate.concentrations, third, refined=refined)
    if candidate.levels is None or not solution.concentrations:
        return solution
    return replace(solution, concentrations=candidate.levels.concentrations(solution.concentrations[-1]))


def _more_candidates(moments: MomentState, settings: FitSettings, k: int) -> dict[str, _Candidate]:
    """The same numbers with the levels of groups, all concentrations from the moments, and tensors per group."""
    if settings.tensors == "groups":                # these need no concentrations of groups
        return {}
    pairs = moments.pairs()
    levels = level_ratios(pairs, k) if pairs is not None else None
    more = {}
    if levels is not None:
        more = {f"levels {g:g}": _Candidate(list(levels.concentrations(g))) for g in CANDIDATES}
    if moments.has_third and not settings.printed:  # a sample would have to be decomposed dozens of times
        more[CALIBRATED] = _Candidate(CALIBRATED)
    if settings.tensors == "auto" and moments.groups is not None and len(moments.groups.paths):
        more |= {f"{PER_GROUP} {g:g}": _Candidate([g], True, levels) for g in GROUP_CANDIDATES}
        more[f"{PER_GROUP} {CALIBRATED}"] = _Candidate(CALIBRATED, True, levels)
        agreement = group_agreement(moments, k, settings.seed) if len(moments.groups.paths) <= FEW_GROUPS else None
        if agreement is not None and agreement.clear:
            more[AGREED] = _Candidate([agreement.concentration], True, levels)
    return more


def with_chosen_tensors(settings: FitSettings, report: dict[str, Any], moments: MomentState) -> FitSettings:
    """The settings with the tensors that were chosen when the model was fitted."""
    chosen = str(report.get("concentrations_chosen", ""))
    if settings.tensors != "auto" or not chosen:
        return settings
    per_group = chosen.startswith(PER_GROUP) and moments.groups is not None
    return replace(settings, tensors="groups" if per_group else "root")


def _better(
    best: _Best | None, candidates: dict[str, TopicSolution], moments: MomentState, corpus: CountedCorpus, run: FitRun,
    seed: int,
) -> _Best:
    """The best of these candidates, and the best one before them."""
    means, names, solutions = moments.node_means(), list(candidates), list(candidates.values())
    priors = [node_proportions(means, solution) for solution in solutions]
    step = "choose" if len(solutions) > 1 else f"choose-{names[0]}"
    choice = score_candidates(corpus, solutions, priors, moments.mean_words(), run, seed, step=step)
    scored = [
        _Scored(name, solution, float(loss), float(total)) for name, solution, loss, total in
        zip(names, solutions, choice.losses, choice.document_concentrations, strict=True)
    ]
    lowest = min([best.lowest, *scored] if best else scored, key=lambda one: one.loss)
    agreed = next((one for one in scored if one.name == AGREED), best.agreed if best else None)
    scores = (best.scores if best else {}) | {one.name: round(one.loss, 5) for one in scored}
    return _Best(lowest, agreed, scores, choice.unigram_loss)


def _solve(
    moments: MomentState, settings: FitSettings, concentrations: str | list[float], third: ThirdDocuments | None, *,
    refined: bool = False,
) -> TopicSolution:
    options: dict[str, Any] = {"tolerance": REFINED_TOLERANCE} if refined and not settings.printed else {}
    if third is not None:
        options = SAMPLED_AND_REFINED if refined else SAMPLED
    alone = isinstance(concentrations, list) and len(concentrations) == 1
    given = concentrations[0] if alone else concentrations
    return solve_state(
        moments, settings.k, settings.solver, given, per_group=settings.tensors == "groups",
        rank_rule=settings.rank_rule, seed=settings.seed, solver_options=options,
        sample=None if third is None else third.sample, sketches=None if third is None else third.sketches,
        printed=settings.printed,
    )


def _solved(
    moments: MomentState, solution: TopicSolution, document_concentration: float, report: dict[str, Any] | None = None,
    *, printed: bool = False, sampled: bool = False,
) -> Solved:
    """Topics are smoothed with the corpus mean, but not as the paper prints them. Gibbs sampling, if it follows, learns
    the proportions of the nodes from its first sweep on, so those of the moments are not computed."""
    if sampled:
        proportions = np.broadcast_to(solution.weights, (len(moments.census.tree), solution.k))
    else:
        proportions = node_proportions(moments.node_means(), solution)
    smooth = solution.topics if printed else smoothed_topics(solution.topics, moments.mean_words())
    topics = Topics(
        smooth, solution.weights, proportions, solution.concentrations or (), document_concentration, report or {}
    )
    return Solved(replace(solution, topics=smooth), topics)
