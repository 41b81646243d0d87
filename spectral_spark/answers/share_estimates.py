"""Topic shares of groups with intervals, their differences, and tests, from the sums of ``share_kernel``.

A share p behaves like a proportion of n independent draws, with variance p (1 − p) / n. The bootstrap replicates give
the variance, hence n; that of a rare topic is estimated from few documents and is drawn towards the group's n over all
topics. Intervals are Wilson's score intervals with n draws, which suit small shares; the interval of a difference joins
those of the two shares (Newcombe's method, with the correlation of the replicates where groups have documents in
common).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2, norm
from scipy.stats import t as student

_OWN_WEIGHT = 8.0           # so many documents' worth of evidence for the variance over all topics
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Shares of topics in groups.

    Attributes
    ----------
    shares : array of shape (groups, k), rows sum to one.
    draws : array of shape (groups, k), the number of independent draws n that each share is worth.
    replicates : array of shape (replicates, groups, k), the shares of the bootstrap.
    documents : array of shape (groups,).
    units : array of shape (groups,), what was drawn: documents, or clusters of them.
    """

    shares: np.ndarray
    draws: np.ndarray
    replicates: np.ndarray
    documents: np.ndarray
    units: np.ndarray

    def intervals(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the shares, arrays of shape (groups, k), each with coverage ``level``."""
        return wilson(self.shares, self.draws, _quantile(level, self.units)[:, None])

    def of(self, groups: np.ndarray) -> "GroupShares":
        """The shares of some groups, in this order."""
        return replace(
            self, shares=self.shares[groups], draws=self.draws[groups], replicates=self.replicates[:, groups],
            documents=self.documents[groups], units=self.units[groups],
        )


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


def group_shares(
    above: np.ndarray, below: np.ndarray, documents: np.ndarray, units: np.ndarray | None = None
) -> GroupShares:
    """Shares from the sums of ``ShareKernel``, arrays of shape (groups, replicates + 1, k).

    ``units`` says how many clusters were drawn in each group; by default every document is one.
    """
    units = documents if units is None else units
    quotient = np.divide(above, below, out=np.zeros_like(above), where=below > _SMALLEST)
    quotient = np.clip(quotient, 0.0, 1.0)
    totals = quotient.sum(axis=2, keepdims=True)
    shares = np.divide(quotient, totals, out=np.full_like(quotient, 1.0 / above.shape[2]), where=totals > 0)
    own, replicates = shares[:, 0], np.swapaxes(shares[:, 1:], 0, 1)
    empty = below[:, 1:].sum(axis=2) <= _SMALLEST                      # replicates that drew no document say nothing
    variance = np.ma.array(replicates, mask=np.broadcast_to(empty.T[..., None], replicates.shape)).var(axis=0, ddof=1)
    correction = np.where(units > 1, units / np.maximum(units - 1.0, 1.0), np.nan)[:, None]
    draws = _draws(own, np.ma.filled(variance, np.nan) * correction, units)
    return GroupShares(own, draws, replicates, documents, units)


def _draws(shares: np.ndarray, variance: np.ndarray, units: np.ndarray) -> np.ndarray:
    """How many independent draws the shares are worth, array of shape (groups, k)."""
    spread = shares * (1.0 - shares)
    of_all = spread.sum(axis=1, keepdims=True) / np.maximum(variance.sum(axis=1, keepdims=True), _SMALLEST)
    least = np.minimum(units, 2.0)[:, None]
    of_all = np.where(np.isfinite(of_all), np.maximum(of_all, least), least)     # one unit has no variance of its own
    inverse = np.divide(variance, spread, out=np.zeros_like(variance), where=spread > _SMALLEST)
    evidence = units[:, None] * np.minimum(1.0, shares * shares.shape[1])
    own = _OWN_WEIGHT / np.maximum(of_all, _SMALLEST)                             # a group without units has none
    pooled = (evidence * np.nan_to_num(inverse) + own) / (evidence + _OWN_WEIGHT)
    return np.where(units[:, None] > 1, 1.0 / np.maximum(pooled, _SMALLEST), least)


def wilson(shares: np.ndarray, draws: np.ndarray, z: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """The shares for which the observed ones are not further away than z standard errors (Wilson 1927)."""
    square = np.square(z)
    centre = (shares + square / (2 * draws)) / (1 + square / draws)
    half = z * np.sqrt(shares * (1 - shares) / draws + square / (4 * draws**2)) / (1 + square / draws)
    return np.clip(centre - half, 0.0, shares), np.clip(centre + half, shares, 1.0)


def differences(a: GroupShares, b: GroupShares, level: float, *, overlapping: bool = True) -> Differences:
    """The pairs of groups of ``a`` and ``b`` compared, topic by topic."""
    correlation = _correlations(a.replicates, b.replicates) if overlapping else np.zeros_like(a.shares)
    units = np.minimum(a.units, b.units)
    z = _quantile(level, units)[:, None]
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


def _quantile(level: float, units: np.ndarray) -> np.ndarray:
    """Student's quantiles: few units leave their variance uncertain."""
    return np.asarray(student.ppf(0.5 + level / 2, np.maximum(2.0 * units, 2.0)))


def _joined(first: np.ndarray, second: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(first**2 - 2 * correlation * first * second + second**2, 0.0))


def _equal_shares(a: GroupShares, b: GroupShares, correlation: np.ndarray, units: np.ndarray) -> np.ndarray:
    pooled = (a.shares * a.draws + b.shares * b.draws) / (a.draws + b.draws)
    spread = np.maximum(pooled * (1 - pooled), _SMALLEST)
    first, second = np.sqrt(spread / a.draws), np.sqrt(spread / b.draws)
    error = np.maximum(_joined(first, second, correlation), _SMALLEST)
    return np.asarray(2 * student.sf(np.abs(a.shares - b.shares) / error, np.maximum(2.0 * units, 2.0)[:, None]))


def _correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of the replicates of two sets of groups, array of shape (pairs, k)."""
    first, second = a - a.mean(axis=0), b - b.mean(axis=0)
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    return np.clip(np.divide((first * second).sum(axis=0), norms, out=np.zeros_like(norms), where=norms > 0), -1, 1)
