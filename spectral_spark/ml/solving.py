"""From moments to spectral topics on the driver, with the concentrations given, calibrated or chosen on documents."""

from dataclasses import dataclass, replace

from spectral_spark.engine.census import CensusResult
from spectral_spark.errors import InputError
from spectral_spark.ml.choosing import choose_candidate
from spectral_spark.ml.collecting import Run
from spectral_spark.ml.polishing import Topics
from spectral_spark.ml.settings import FitSettings
from spectral_spark.moments.state import MomentState
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solution import TopicSolution, node_proportions

CANDIDATES = (0.1, 0.3, 1.0, 3.0)
UNSCORED = 0.3              # where no documents are at hand: small is right for text
DOCUMENT_CONCENTRATION = 1.0


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution of the moments, and the topics it gives a model."""

    solution: TopicSolution
    topics: Topics


def solve_moments(moments: MomentState, settings: FitSettings, corpus: CensusResult | None, run: Run) -> Solved:
    """Solve; with ``concentrations="auto"`` and documents at hand, the candidates are scored on a sample of them."""
    if settings.concentrations != "auto":
        given = settings.concentrations
        concentrations: str | list[float] = given if isinstance(given, str) else _for_tree(list(given), moments)
        solution = _solve(moments, settings, concentrations)
        return Solved(solution, _topics(moments, solution, DOCUMENT_CONCENTRATION))
    if corpus is None:
        solution = _solve(moments, settings, [UNSCORED])
        return Solved(solution, _topics(moments, solution, DOCUMENT_CONCENTRATION))
    solutions = _candidates(moments, settings)
    priors = [node_proportions(moments.node_means(), solution) for solution in solutions]
    choice = choose_candidate(corpus, solutions, priors, moments.mean_words(), run, settings.seed)
    best = solutions[choice.best]
    topics = _topics(moments, best, choice.document_concentration)
    scores = {
        f"{solution.concentrations[-1]:g}": round(float(loss), 5)
        for solution, loss in zip(solutions, choice.losses, strict=True) if solution.concentrations
    }
    return Solved(best, replace(topics, report={"concentration_scores": scores}))


def _candidates(moments: MomentState, settings: FitSettings) -> list[TopicSolution]:
    """One solution per candidate concentration; those whose S2 has too few positive eigenvalues are left out."""
    solutions: list[TopicSolution] = []
    failure: InputError | None = None
    for candidate in CANDIDATES:
        chosen = solutions[0].rank if solutions else None
        try:
            known = replace(settings, k=chosen.k) if chosen else settings
            solution = _solve(moments, known, [candidate])
        except InputError as error:
            failure = error
        else:
            solutions.append(replace(solution, rank=chosen or solution.rank))
    if failure is not None and not solutions:
        raise failure
    return solutions


def _solve(moments: MomentState, settings: FitSettings, concentrations: str | list[float]) -> TopicSolution:
    alone = isinstance(concentrations, list) and len(concentrations) == 1
    given = concentrations[0] if alone else concentrations
    return moments.solve(
        settings.k, settings.solver, given, per_group=settings.tensors == "groups",
        rank_rule=settings.rank_rule, seed=settings.seed,
    )


def _for_tree(given: list[float], moments: MomentState) -> list[float]:
    depth = moments.census.tree.depth + 1
    if len(given) not in (1, depth):
        raise InputError(
            f"concentrations has {len(given)} numbers, the tree {depth + 1} layers; give {depth}, one per layer below "
            "the root, or one for the documents alone"
        )
    return given


def _topics(moments: MomentState, solution: TopicSolution, document_concentration: float) -> Topics:
    proportions = node_proportions(moments.node_means(), solution)
    return Topics(
        smoothed_topics(solution.topics, moments.mean_words()), solution.weights, proportions,
        solution.concentrations or (), document_concentration,
    )
