"""Bounds on the error of estimated moments, given the effective sample size (formulas §7).

They hold given the realised proportions of the groups: documents of one group are not independent otherwise.
"""

from math import log, sqrt

from spectral_spark.errors import SettingsError


def moment_bound(effective_sample_size: float, delta: float = 0.05) -> float:
    """sup |M_r(u) − M̂_r(u)| over unit vectors u stays below this with probability 1 − delta, for r = 1, 2, 3."""
    _check(effective_sample_size, delta)
    return (2.0 + sqrt(log(1.0 / delta))) / sqrt(effective_sample_size)


def tensor_bound(effective_sample_size: float, delta: float = 0.05) -> float:
    """sup |S_2(u) − Ŝ_2(u)| over unit vectors u stays below this with probability 1 − delta."""
    _check(effective_sample_size, delta)
    return 3.0 * (2.0 + sqrt(log(3.0 / delta))) / sqrt(effective_sample_size)


def _check(effective_sample_size: float, delta: float) -> None:
    if not effective_sample_size > 0:
        raise SettingsError(f"effective sample size {effective_sample_size}: a bound needs at least one document")
    if not 0 < delta < 1:
        raise SettingsError(f"delta = {delta}: give a probability between 0 and 1")
