"""Topics from a stored :class:`MomentState`, without the documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.corrected_moments import second_corrected
from spectral_spark.solve.document_noise import DocumentNoise
from spectral_spark.solve.group_agreement import Agreement, agreed_concentration
from spectral_spark.solve.group_tensors import group_corrected_moments
from spectral_spark.solve.rank import RankChoice, RankEvidence, choose_rank
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.solve.topics_from_moments import solve_topics

LARGEST_SHOWN = 200     # columns of a basis: up to here the half samples of a given k are small beside the rest


def solve_state(
    state: MomentState,
    k: int | str = "auto",
    solver: str = "polar",
    concentrations: float | Sequence[float] | HDPCoefficients | str = 1.0,
    *,
    per_group: bool = False,
    **options: Any,
) -> TopicSolution:
    """Solve the moments of a state with any k, solver and concentrations.

    Parameters
    ----------
    per_group : decompose the average of the groups' tensors instead of the root's; needs group statistics.
    options : passed on to ``solve_topics``, for example ``rank_rule``, ``seed``,
        ``max_k`` or ``solver_options``.
    """
    numbers = None
    if not isinstance(concentrations, str | float | int | HDPCoefficients) and not per_group:
        numbers = tuple(float(g) for g in concentrations)
        concentrations = state.coefficients(concentrations)
    moments, groups = state.grouped() if per_group else (state.root(), None)
    pairs = state.pairs() if isinstance(concentrations, str) and not per_group else None
    halves = state.halves() if k == "auto" or _floor_is_cheap(state) else None
    solution = solve_topics(
        moments, halves, state.basis.lift, state.mean_words(), k, concentrations, solver,
        scale=state.basis.scale, document_noise=DocumentNoise(*state.noise_weights()), groups=groups, pairs=pairs,
        **options,
    )
    return solution if numbers is None else replace(solution, concentrations=numbers)


def group_agreement(state: MomentState, k: int, seed: int = 0) -> Agreement | None:
    """The documents' concentration that the second moments of the groups agree on; None if there is none."""
    if not state.has_third:
        return None
    moments, averages = state.grouped()
    with threadpool_limits(1):
        return agreed_concentration(
            lambda coefficients: group_corrected_moments(moments, averages, coefficients), state.group_pairs(), k, seed
        )


def state_rank(state: MomentState, coefficients: HDPCoefficients, rule: str) -> RankChoice:
    """The number of topics that a rule finds in the second moments of a state."""
    moments = state.root()
    evidence = RankEvidence(
        moments, state.halves(), second_corrected(moments, coefficients), coefficients, state.basis.lift,
        state.mean_words(), state.basis.scale, DocumentNoise(*state.noise_weights()),
    )
    return choose_rank(rule, evidence)


def _floor_is_cheap(state: MomentState) -> bool:
    """Whether a given k, which does not need the noise floor, can have it at little cost."""
    return state.basis.size <= LARGEST_SHOWN and min(state.half_sizes()) > 0
