"""Topic shares of groups with intervals, from the sums of ``share_kernel``.

A share p behaves like a proportion of n independent draws, with variance p (1 − p) / n. The sums give the variance of
the Poisson bootstrap, hence n. That of a rare topic is estimated from few documents and is drawn towards what is
expected of it: documents whose proportions vary around those of the group, and that say Σ w of a topic's share (words
that could be of several topics say less of a rare one), are worth n ∝ Σ w, with the same factor for all topics.
Intervals are Wilson's score intervals with n draws, which suit small shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from spectral_spark.answers.share_kernel import SUMS

_OWN_WEIGHT = 8.0           # so many documents' worth of evidence for the variance over all topics
_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """What the clusters say that were drawn as a whole: arrays of shape (parts, k), and of (parts,).

    Attributes
    ----------
    above, below : the two sums of the part that a cluster has in a group.
    group, cluster : the group, and the hash of the cluster.
    """

    above: np.ndarray
    below: np.ndarray
    group: np.ndarray
    cluster: np.ndarray


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Shares of topics in groups.

    Attributes
    ----------
    shares : array of shape (groups, k), rows sum to one.
    draws : array of shape (groups, k), the number of independent draws n that each share is worth.
    documents : array of shape (groups,).
    units : array of shape (groups,), what was drawn: documents, or clusters of them.
    sums : the five sums of ``ShareKernel`` over what was drawn, arrays of shape (groups, k).
    numbers : array of shape (groups,), the groups' numbers in ``parts``.
    replicates : array of shape (replicates, groups, k), shares of the bootstrap; None if none were drawn.
    parts : what was drawn, if clusters of documents.
    """

    shares: np.ndarray
    draws: np.ndarray
    documents: np.ndarray
    units: np.ndarray
    sums: Mapping[str, np.ndarray]
    numbers: np.ndarray
    replicates: np.ndarray | None = None
    parts: ClusterSums | None = None

    def intervals(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the shares, arrays of shape (groups, k), each with coverage ``level``."""
        return wilson(self.shares, self.draws, quantiles(level, self.units)[:, None])

    def of(self, groups: np.ndarray) -> "GroupShares":
        """The shares of some groups, in this order."""
        return replace(
            self, shares=self.shares[groups], draws=self.draws[groups], documents=self.documents[groups],
            units=self.units[groups], sums={name: array[groups] for name, array in self.sums.items()},
            numbers=self.numbers[groups], replicates=None if self.replicates is None else self.replicates[:, groups],
        )


def group_shares(sums: Mapping[str, np.ndarray], parts: np.ndarray | None = None) -> GroupShares:
    """Shares from the sums of ``ShareKernel``.

    ``parts`` says that clusters were drawn: the group and the cluster of every row of the sums, array of shape
    (rows, 2). Otherwise every document was drawn by itself, and the rows are the groups.
    """
    documents, units, clusters = sums["documents"], sums["documents"], None
    if parts is not None:
        clusters = ClusterSums(sums["above"], sums["below"], parts[:, 0], parts[:, 1])
        used = clusters.group[sums["documents"] > 0]
        sums, documents = _over_clusters(clusters), np.bincount(clusters.group, documents)
        units = np.bincount(used, minlength=len(documents)).astype(float)
    shares = _normalised(sums["above"], sums["below"])
    drawn = None
    if "drawn_above" in sums:
        drawn = np.swapaxes(_normalised(sums["drawn_above"], sums["drawn_below"]), 0, 1)
    five = {name: sums[name] for name in SUMS}
    return GroupShares(
        shares, _draws(shares, five, units), documents, units, five, np.arange(len(shares)), drawn, clusters
    )


def bootstrap_variance(sums: Mapping[str, np.ndarray]) -> np.ndarray:
    """Of the quotients Σ y / Σ w over infinitely many replicates, array of shape (groups, k)."""
    share = _quotient(sums["above"], sums["below"])
    squared = sums["squares"] - 2 * share * sums["products"] + share**2 * sums["weights"]
    return _quotient(np.maximum(squared, 0.0), sums["below"] ** 2)


def _over_clusters(parts: ClusterSums) -> dict[str, np.ndarray]:
    """The five sums, of clusters in place of documents."""
    terms = (parts.above, parts.below, parts.above**2, parts.above * parts.below, parts.below**2)
    found = {}
    for name, values in zip(SUMS, terms, strict=True):
        found[name] = np.zeros((int(parts.group.max(initial=-1)) + 1, values.shape[1]))
        np.add.at(found[name], parts.group, values)
    return found


def _normalised(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    quotient = np.clip(_quotient(above, below), 0.0, 1.0)
    totals = quotient.sum(axis=-1, keepdims=True)
    return np.divide(quotient, totals, out=np.full_like(quotient, 1.0 / above.shape[-1]), where=totals > 0)


def _draws(shares: np.ndarray, sums: Mapping[str, np.ndarray], units: np.ndarray) -> np.ndarray:
    """How many independent draws the shares are worth, array of shape (groups, k)."""
    effective = _quotient(sums["below"] ** 2, sums["weights"])         # units, if all said as much
    several = (units > 1)[:, None] & (effective > 1.0 + 1e-6)
    correction = np.where(several, effective / np.maximum(effective - 1.0, 1e-6), 0.0)
    variance = bootstrap_variance(sums) * correction
    spread, said = shares * (1.0 - shares), np.maximum(sums["below"], _SMALLEST)
    factor = (spread / said).sum(axis=1, keepdims=True) / np.maximum(variance.sum(axis=1, keepdims=True), _SMALLEST)
    least = np.minimum(units, 2.0)[:, None]
    expected = np.maximum(factor * said, least)
    inverse = _quotient(variance, spread)
    evidence = units[:, None] * np.minimum(1.0, shares * shares.shape[1])
    pooled = (evidence * inverse + _OWN_WEIGHT / np.maximum(expected, _SMALLEST)) / (evidence + _OWN_WEIGHT)
    return np.where(several, 1.0 / np.maximum(pooled, _SMALLEST), least)


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > _SMALLEST)


def wilson(shares: np.ndarray, draws: np.ndarray, z: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """The shares for which the observed ones are not further away than z standard errors (Wilson 1927)."""
    square = np.square(z)
    centre = (shares + square / (2 * draws)) / (1 + square / draws)
    half = z * np.sqrt(shares * (1 - shares) / draws + square / (4 * draws**2)) / (1 + square / draws)
    return np.clip(centre - half, 0.0, shares), np.clip(centre + half, shares, 1.0)


def quantiles(level: float, units: np.ndarray) -> np.ndarray:
    """Student's quantiles of intervals with coverage ``level``, array of shape (groups,)."""
    return np.asarray(student.ppf(0.5 + level / 2, freedom(units)))


def freedom(units: np.ndarray) -> np.ndarray:
    """Degrees of freedom of Student's quantiles: few units leave their variance uncertain."""
    return np.asarray(np.maximum(2.0 * units, 2.0))
