"""Concentrations of the levels above the documents, from pairs of different documents (formulas §14).

X_a − X_0 is the same matrix for every level a, times 1 − c_a, where c_a is the product of g/(g + 1) over the levels
down to a. Its ratios to M2 − X_0 give every level once the documents' concentration is known.
"""

from dataclasses import dataclass

import numpy as np

from spectral_spark.moments.coefficients import HDPCoefficients, share_coefficients
from spectral_spark.moments.pair_moments import NodeSums, PairMoments
from spectral_spark.moments.symmetric_packing import pair_indices
from spectral_spark.solve.whitening import signed_spectrum

LOWEST_LEVEL, HIGHEST_LEVEL = 0.01, 1000.0
FEWEST_GROUPS = 4           # top-level groups from which leaving one out measures the uncertainty


@dataclass(frozen=True, eq=False)
class LevelRatios:
    """What pairs of documents say about the levels of a tree.

    Attributes
    ----------
    ratios : array of shape (depth,), r_a = (1 − c_a)/(1 − C2) of the levels 1 … depth; increasing, between 0 and 1.
    covariance : array of shape (depth, depth), of their errors, by a jackknife over top-level groups; None if there are
        too few groups.
    shares : array of shape (depth + 1,), the weight of the documents at nodes of each level.
    """

    ratios: np.ndarray
    covariance: np.ndarray | None
    shares: np.ndarray

    @property
    def errors(self) -> np.ndarray | None:
        """Standard errors of the ratios, of shape (depth,)."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    def concentrations(self, documents: float) -> tuple[float, ...]:
        """Concentrations of all levels, given that of the documents, which comes last."""
        return (*self._levels(self.ratios, documents), documents)

    def coefficients(self, documents: float) -> HDPCoefficients:
        """C2 … C6 of the tree with these levels, given the documents' concentration."""
        return share_coefficients(self.concentrations(documents), self.shares)

    def concentration_errors(self, documents: float) -> tuple[float, ...] | None:
        """Standard errors of the levels' concentrations, given that of the documents; to first order."""
        if self.covariance is None:
            return None
        slopes = np.empty((len(self.ratios), len(self.ratios)))
        for level, error in enumerate(np.sqrt(np.diag(self.covariance))):
            step = np.zeros(len(self.ratios))
            step[level] = max(0.01 * float(error), 1e-9)
            ends = [np.array(self._levels(self.ratios + sign * step, documents)) for sign in (1.0, -1.0)]
            slopes[:, level] = (ends[0] - ends[1]) / (2.0 * step[level])
        return tuple(float(x) for x in np.sqrt(np.maximum(np.diag(slopes @ self.covariance @ slopes.T), 0.0)))

    def _levels(self, ratios: np.ndarray, documents: float) -> tuple[float, ...]:
        """g_a = c_a/(c_{a−1} − c_a) with c_a = 1 − r_a (1 − C2); C2 follows from the documents' concentration."""
        average = float(self.shares[1:] @ ratios)
        spread = 1.0 / (1.0 + documents * (1.0 - average))              # 1 − C2
        kept = 1.0 - ratios * spread
        steps = np.diff(ratios, prepend=0.0) * spread
        return tuple(float(g) for g in np.clip(kept / np.maximum(steps, 1e-12), LOWEST_LEVEL, HIGHEST_LEVEL))


def level_ratios(pairs: PairMoments, k: int) -> LevelRatios | None:
    """The ratios of all levels; None for a tree without groups, or with a single one, whose level has no pairs.

    Parameters
    ----------
    pairs : moments of pairs of documents in the basis.
    k : number of topics: the comparison is made in the k − 1 leading directions in which documents differ.
    """
    if len(pairs.weights) < 2 or not pairs.weights[0] > 0:
        return None
    values, vectors = signed_spectrum(pairs.inside - pairs.levels[0])
    leading = vectors[:, : max(k - 1, 1)][:, values[: max(k - 1, 1)] > 0]
    direction = leading @ leading.T                 # traces: least squares is biased where groups are few
    inside = float((pairs.inside * direction).sum())
    ratios = _ratios(np.nansum(pairs.levels * direction, axis=(1, 2)), pairs.weights, inside)
    if ratios is None:
        return None
    covariance = None if pairs.sums is None else _jackknife(pairs.sums, direction, inside, pairs.inside_of_groups)
    return LevelRatios(ratios, covariance, pairs.shares)


def _ratios(means: np.ndarray, weights: np.ndarray, inside: float) -> np.ndarray | None:
    """r_1 … r_depth, made increasing; levels without pairs lie evenly between their neighbours."""
    there, whole = weights > 1e-9 * weights.sum(), inside - means[0]
    if not there[0] or not there[1:].any() or not whole > 0:
        return None
    levels = np.arange(1, len(weights))
    ratios = np.interp(levels, np.r_[0, levels[there[1:]]], np.r_[0.0, (means[1:][there[1:]] - means[0]) / whole])
    increasing: np.ndarray = np.maximum.accumulate(np.clip(ratios, 0.0, 1.0 - 1e-6))
    return increasing


def _jackknife(
    sums: NodeSums, direction: np.ndarray, inside: float, inside_of_groups: np.ndarray | None
) -> np.ndarray | None:
    """Covariance of the ratios by leaving out one top-level group at a time."""
    numerators, weights = sums.forms(direction)
    groups, tree = len(weights) - 1, sums.tree
    size = tree.sum_below(sums.weight)[tree.level == 1]
    apart = _groups_apart(numerators, weights, size)
    if groups < FEWEST_GROUPS or apart is None:
        return None
    if inside_of_groups is not None:
        rows, columns = pair_indices(len(direction))
        twice = np.where(rows == columns, 1.0, 2.0) * direction[rows, columns]
        own = inside_of_groups @ twice
        apart = np.where(np.isfinite(own), own - inside, apart)
    shift = size / np.maximum(sums.weight.sum() - size, 1e-300) * apart
    left_out = []
    for group in range(groups):
        weight = np.maximum(weights[-1] - weights[group], 0.0)
        means = (numerators[-1] - numerators[group]) / np.maximum(weight, 1e-300)
        left_out.append(_ratios(means, weight, inside - shift[group]))
    found = np.array([ratios for ratios in left_out if ratios is not None])
    if len(found) < FEWEST_GROUPS:
        return None
    scatter = found - found.mean(axis=0)
    covariance: np.ndarray = (len(found) - 1) / len(found) * (scatter.T @ scatter)
    return covariance


def _groups_apart(numerators: np.ndarray, weights: np.ndarray, size: np.ndarray) -> np.ndarray | None:
    """How much M2 of each top-level group differs from that of all, where the groups' own were not collected: as much
    as the part that its documents have in common. That leaves out how the groups' documents differ otherwise."""
    own, of_own = numerators[:-1, 1:].sum(axis=1), weights[:-1, 1:].sum(axis=1)
    known = of_own > 1e-9 * of_own.max(initial=0.0)
    if not known.any():
        return None
    common = np.divide(own, of_own, out=np.zeros(len(own)), where=known)
    average = float(size[known] @ common[known]) / float(size[known].sum())
    apart: np.ndarray = np.where(known, common - average, 0.0)
    return apart
