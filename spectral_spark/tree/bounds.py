"""Bounds on the error of estimated moments (formulas §7).

With n = 1/‖η‖² they hold given the realised proportions of the groups: documents of one group are not independent
otherwise. Whole top-level groups are independent, so with :func:`independent_groups` for n they hold for the distance
to the expectation over groups as well.
"""

from math import log, sqrt

import numpy as np

from spectral_spark.errors import SettingsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.weights import NodeWeights


def moment_bound(effective_sample_size: float, delta: float = 0.05) -> float:
    """sup |M_r(u) − M̂_r(u)| over unit vectors u stays below this with probability 1 − delta, for r = 1, 2, 3."""
    _check(effective_sample_size, delta)
    return (2.0 + sqrt(log(1.0 / delta))) / sqrt(effective_sample_size)


def tensor_bound(effective_sample_size: float, delta: float = 0.05) -> float:
    """sup |S_2(u) − Ŝ_2(u)| over unit vectors u stays below this with probability 1 − delta."""
    _check(effective_sample_size, delta)
    return 3.0 * (2.0 + sqrt(log(3.0 / delta))) / sqrt(effective_sample_size)


def third_tensor_bound(effective_sample_size: float, c2: float, c4: float, c5: float, delta: float = 0.05) -> float:
    """sup |S_3(u) − Ŝ_3(u)| over unit vectors u stays below this with probability 1 − delta.

    With e the bound of M1, M2 and M3 together: M3 adds e, C4 M1⊗M1⊗M1 adds 3 C4 e, and C5 sym3(S2 ⊗ M1) adds
    3 C5 ((1 + 2 C2) e + e), since no norm exceeds one.
    """
    each = moment_bound(effective_sample_size, delta / 3.0)
    return each * (1.0 + 3.0 * c4 + 6.0 * c5 * (1.0 + c2))


def independent_groups(census: Census, weights: NodeWeights) -> float:
    """1/Σ λ² over the weights λ of the top-level groups and of the documents that are at the root itself."""
    own = census.tokens if weights.by_length else census.documents.astype(float)
    squares = census.tokens_squared if weights.by_length else census.documents.astype(float)
    shares = census.tree.sum_below(weights.factor * own)[census.tree.level == 1]
    return 1.0 / float(np.sum(shares**2) + weights.factor[0] ** 2 * squares[0])


def _check(effective_sample_size: float, delta: float) -> None:
    if not effective_sample_size > 0:
        raise SettingsError(f"effective sample size {effective_sample_size}: a bound needs at least one document")
    if not 0 < delta < 1:
        raise SettingsError(f"delta = {delta}: give a probability between 0 and 1")
