"""The documents' concentration from the second moments of the groups, which must all be diagonal in the topics
(formulas §6).

S2 of every group is c3 Φ diag(π_j) Φᵀ if c2 is right. In the whitened basis, turned to the topics that third moments
find, it is then diagonal, and what is left beside the diagonals is noise and the error of c2. Groups that differ much
thus tell the concentration where third-order proportions (formulas §5) are too noisy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spectral_spark.moments.coefficients import HDPCoefficients, hdp_coefficients
from spectral_spark.moments.group_moments import GroupPairs
from spectral_spark.solve.corrected_moments import CorrectedMoments
from spectral_spark.solve.polar import climb, polar
from spectral_spark.solve.symmetric_tensor import PairTensor, nearest_orthogonal
from spectral_spark.solve.whitening import signed_spectrum, usable_rank, whiten

LOWEST, HIGHEST, GRID = 0.1, 30.0, 12
REFINEMENTS = 4             # halvings of the grid's step around the best number
ROUNDING = 1e-12            # of the squared diagonals, which are about one
CLEAR = 0.8                 # share of what is left for single-topic documents below which the groups agree


@dataclass(frozen=True)
class Agreement:
    """The concentration at which the groups' second moments are most nearly diagonal in the same topics.

    Attributes
    ----------
    concentration : g of the documents.
    clear : whether what is left beside the diagonals is much smaller there than for documents of a single topic.
        It is for corpora drawn from the model; repeated words leave more than that.
    """

    concentration: float
    clear: bool


def agreed_concentration(
    correct: Callable[[HDPCoefficients], CorrectedMoments], pairs: GroupPairs, k: int, seed: int = 0
) -> Agreement | None:
    """Search over a grid, then more finely around its best number; None if that is an end of the grid, or if the
    groups are all the same and nothing is ever left.

    Parameters
    ----------
    correct : the average over groups of S2 and S3, as a function of the coefficients.
    pairs : M2 and the mean of every group.
    k : number of topics.
    """
    search = _Search(correct, pairs, k, seed)
    left = {at: search.left(at) for at in np.linspace(np.log(LOWEST), np.log(HIGHEST), GRID)}
    lowest, highest = min(left), max(left)
    best, step = min(left, key=left.__getitem__), (highest - lowest) / (GRID - 1)
    if best in (lowest, highest) or not np.isfinite(left[best]) or left[lowest] < ROUNDING * k:
        return None
    for _ in range(REFINEMENTS):
        step /= 2.0
        left |= {at: search.left(at) for at in (best - step, best + step)}
        best = min(left, key=left.__getitem__)
    return Agreement(float(np.exp(best)), bool(left[best] < CLEAR * left[lowest]))


class _Search:
    """What is left beside the diagonals; every tensor is solved from the topics of the one before."""

    def __init__(
        self, correct: Callable[[HDPCoefficients], CorrectedMoments], pairs: GroupPairs, k: int, seed: int
    ) -> None:
        self._correct, self._pairs, self._k, self._seed = correct, pairs, k, seed
        self._topics: np.ndarray | None = None

    def left(self, log_g: float) -> float:
        """Mean over groups of the squared entries beside the diagonal, with their weights."""
        coefficients = hdp_coefficients([float(np.exp(log_g))])
        corrected = self._correct(coefficients)
        if usable_rank(signed_spectrum(corrected.second)[0]) < self._k:
            return float("inf")         # centring so strongly leaves S2 indefinite: g is too large
        whitening = whiten(corrected.second, self._k)
        tensor = corrected.third_in(whitening.matrix)
        assert isinstance(tensor, np.ndarray)
        if self._topics is None:
            vectors = polar(tensor, self._seed).vectors
        else:
            vectors = climb(PairTensor(tensor), nearest_orthogonal(whitening.matrix.T @ self._topics)).vectors
        self._topics = whitening.dual @ vectors
        return self._beside(whitening.matrix @ vectors, coefficients.c2)

    def _beside(self, directions: np.ndarray, c2: float) -> float:
        total = 0.0
        for number, share in enumerate(self._pairs.share):
            inside, across = self._pairs.of(number)
            turned = directions.T @ (inside - c2 * across) @ directions
            total += float(share) * float((turned**2).sum() - (np.diag(turned) ** 2).sum())
        return total
