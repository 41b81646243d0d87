"""Moments without noise: k topics explain them to rounding, and they tell all concentrations by themselves.

Measured moments always leave something beyond the topics, and their calibration is far off on real text (formulas §5).
Population moments leave nothing: their second moment has rank k, and at the right concentrations so has the third.
"""

import logging
from dataclasses import replace

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.concentrations import HIGHEST, LOWEST
from spectral_spark.solve.level_concentrations import level_ratios
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.solve.topic_solution import TopicSolution

log = logging.getLogger(__name__)

NOTHING = 1e-9              # of the largest eigenvalue of M2: a direction with less holds no topic and no noise
EXPLAINED = 1e-6            # relative residual of the third tensor: k topics explain it, but for rounding


def exact_solution(
    state: MomentState, k: int | str, solver: str, seed: int, *, tensors: str = "auto"
) -> TopicSolution | None:
    """The topics and all concentrations of moments without noise; None for measured ones.

    Parameters
    ----------
    k : number of topics, or "auto" for the rank of the second moment.
    tensors : "root", "groups", or "auto" for both: the moments of the root are without noise if they are expectations
        over groups, those of the groups already if every group has endlessly many documents.
    """
    rank = noiseless_rank(state)
    if rank is None or (k != "auto" and int(k) != rank):
        return None
    if tensors != "groups":
        found = _calibrated(state, rank, solver, seed)
        if found is not None:
            return found
    return _calibrated(state, rank, solver, seed, per_group=True) if tensors != "root" and state.groups else None


def noiseless_rank(state: MomentState) -> int | None:
    """The rank of the second moment if its basis has room for more; None where all directions hold something, and where
    the half samples, which differ by noise alone, are not the same."""
    if not state.has_third or not state.noise_of_second() < EXPLAINED:
        return None
    values = np.abs(np.linalg.eigvalsh(state.second()))
    rank = int((values > NOTHING * values.max(initial=0.0)).sum())
    return rank if 1 < rank < len(values) else None         # one topic is the mean, whatever the concentrations


def _calibrated(
    state: MomentState, k: int, solver: str, seed: int, *, per_group: bool = False
) -> TopicSolution | None:
    """Calibrated moments, if the topics explain them."""
    try:
        found = solve_state(state, k, solver, "calibrated", per_group=per_group, seed=seed)
    except InputError:
        log.debug("the moments have no noise, but cannot be calibrated")
        return None
    assert found.concentrations is not None
    g = found.concentrations[-1]
    if found.decomposition.residual > EXPLAINED or not LOWEST < g < HIGHEST:
        return None
    pairs = state.pairs() if per_group else None
    levels = None if pairs is None else level_ratios(pairs, k)
    return found if levels is None else replace(found, concentrations=levels.concentrations(g))
