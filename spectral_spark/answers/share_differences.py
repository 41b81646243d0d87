"""Differences between the topic shares of groups, with intervals and tests.

The interval of a difference joins those of the two shares (Newcombe's method), with the correlation of the shares where
the groups have documents in common.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, norm
from scipy.stats import t as student

from spectral_spark.answers.share_estimates import GroupShares, bootstrap_variance, freedom, quantiles, wilson

_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of shares, a − b; all arrays have the shape (pairs, k).

    Attributes
    ----------
    difference, lower, upper : the difference and its interval.
    p_value : of the score test that the shares are equal.
    q_value : the smallest share of false discoveries at which the difference would be reported, over all topics of all
        pairs (Benjamini and Hochberg 1995).
    """

    difference: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray


def differences(a: GroupShares, b: GroupShares, level: float, *, overlapping: bool = True) -> Differences:
    """The pairs of groups of ``a`` and ``b`` compared, topic by topic."""
    correlation = correlations(a, b) if overlapping else np.zeros_like(a.shares)
    units = np.minimum(a.units, b.units)
    z = quantiles(level, units)[:, None]
    low_a, high_a = wilson(a.shares, a.draws, z)
    low_b, high_b = wilson(b.shares, b.draws, z)
    gap = a.shares - b.shares
    down = _joined(a.shares - low_a, high_b - b.shares, correlation)
    up = _joined(high_a - a.shares, b.shares - low_b, correlation)
    p_value = _equal_shares(a, b, correlation, units)
    return Differences(gap, gap - down, gap + up, p_value, false_discovery(p_value.ravel()).reshape(p_value.shape))


def false_discovery(p_values: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg's q-values of an array of p-values."""
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    q_values = np.empty_like(scaled)
    q_values[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(q_values, 1.0)


def simultaneous(level: float, comparisons: int) -> float:
    """The level of one interval at which so many of them hold together with probability ``level`` (Šidák)."""
    return float(level ** (1.0 / max(comparisons, 1)))


def change_tests(groups: GroupShares, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Whether the shares differ between groups, and whether they rise or fall with the groups' positions.

    Returns
    -------
    arrays of shape (k,): ``slope`` per unit of position, ``trendPValue``, ``changePValue`` (any difference), and both
    adjusted for the number of topics, ``trendQValue`` and ``changeQValue``.
    """
    weight = groups.draws
    mean = (weight * groups.shares).sum(axis=0) / weight.sum(axis=0)
    variance = np.maximum(mean * (1 - mean), _SMALLEST) / weight
    centred = positions[:, None] - (positions[:, None] / variance).sum(axis=0) / (1 / variance).sum(axis=0)
    information = (centred**2 / variance).sum(axis=0)
    slope = (centred * groups.shares / variance).sum(axis=0) / np.maximum(information, _SMALLEST)
    freedom = max(len(groups.shares) - 1, 1)
    change = chi2.sf(((groups.shares - mean) ** 2 / variance).sum(axis=0), freedom)
    trend = 2 * norm.sf(np.abs(slope) * np.sqrt(information))
    return {
        "slope": slope, "trendPValue": trend, "trendQValue": false_discovery(trend), "changePValue": change,
        "changeQValue": false_discovery(change),
    }


def _joined(first: np.ndarray, second: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(first**2 - 2 * correlation * first * second + second**2, 0.0))


def _equal_shares(a: GroupShares, b: GroupShares, correlation: np.ndarray, units: np.ndarray) -> np.ndarray:
    pooled = (a.shares * a.draws + b.shares * b.draws) / (a.draws + b.draws)
    spread = np.maximum(pooled * (1 - pooled), _SMALLEST)
    first, second = np.sqrt(spread / a.draws), np.sqrt(spread / b.draws)
    error = np.maximum(_joined(first, second, correlation), _SMALLEST)
    return np.asarray(2 * student.sf(np.abs(a.shares - b.shares) / error, freedom(units)[:, None]))


def correlations(a: GroupShares, b: GroupShares) -> np.ndarray:
    """Of the shares of pairs of groups, array of shape (pairs, k).

    From the replicates where there are some, or from the clusters that both groups have a part of; otherwise one group
    of each pair is taken to lie within the other.
    """
    if a.replicates is not None and b.replicates is not None:
        return _of_replicates(a.replicates, b.replicates)
    if a.parts is not None:
        shared = np.array([_shared_clusters(a, b, pair) for pair in range(len(a.shares))]).reshape(a.shares.shape)
    else:
        shared = _shared_documents(a.sums, b.sums)
    scale = np.sqrt(bootstrap_variance(a.sums) * bootstrap_variance(b.sums)) * a.sums["below"] * b.sums["below"]
    return np.clip(np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0), -1.0, 1.0)


def _shared_documents(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> np.ndarray:
    """Σ (y − s w) (y − t w) over the documents of the smaller group; s and t are the shares of the two groups."""
    first, second = (part["above"] / np.maximum(part["below"], _SMALLEST) for part in (a, b))
    smaller = a["below"].sum(axis=1, keepdims=True) <= b["below"].sum(axis=1, keepdims=True)
    squares, products, weights = (np.where(smaller, a[name], b[name]) for name in ("squares", "products", "weights"))
    return np.asarray(squares - (first + second) * products + first * second * weights)


def _shared_clusters(a: GroupShares, b: GroupShares, pair: int) -> np.ndarray:
    """The same sum over the clusters that both groups of a pair have a part of, array of shape (k,)."""
    parts = a.parts
    assert parts is not None
    rows = [np.flatnonzero(parts.group == group.numbers[pair]) for group in (a, b)]
    _, *places = np.intersect1d(parts.cluster[rows[0]], parts.cluster[rows[1]], return_indices=True)
    product = np.ones(a.shares.shape[1])
    for group, at, place in zip((a, b), rows, places, strict=True):
        share = group.sums["above"][pair] / np.maximum(group.sums["below"][pair], _SMALLEST)
        product = product * (parts.above[at[place]] - share * parts.below[at[place]])
    return np.asarray(product.sum(axis=0))


def _of_replicates(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    first, second = a - a.mean(axis=0), b - b.mean(axis=0)
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    return np.clip(np.divide((first * second).sum(axis=0), norms, out=np.zeros_like(norms), where=norms > 0), -1, 1)
