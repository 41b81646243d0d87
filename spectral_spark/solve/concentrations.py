"""Concentrations for reading the moments: given as numbers, or calibrated from the moments (formulas §5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from spectral_spark.moments.coefficients import HDPCoefficients, checked_concentrations, hdp_coefficients
from spectral_spark.solve.corrected_moments import CorrectedMoments
from spectral_spark.solve.polar import climb
from spectral_spark.solve.symmetric_tensor import PairTensor, nearest_orthogonal, random_orthogonal
from spectral_spark.solve.whitening import signed_spectrum, usable_rank, whiten

Correction = Callable[[HDPCoefficients], CorrectedMoments]
Family = Callable[[float], HDPCoefficients]

LOWEST, HIGHEST, GRID = 0.01, 300.0, 12


@dataclass(frozen=True)
class Calibration:
    """The documents' concentration, found from the moments.

    Attributes
    ----------
    concentration : g.
    mass : Σ_i C6²/(C3³λ_i²) at g; one at an exact root.
    at_bound : True if there is no root between the lowest and the highest g that were tried.
    """

    concentration: float
    mass: float
    at_bound: bool


def as_concentrations(values: float | Sequence[float]) -> tuple[float, ...]:
    """Concentrations g_1 … g_{L−1} from the root's children to the documents; a single number is the documents'."""
    return tuple(checked_concentrations([values] if isinstance(values, int | float) else values).tolist())


def two_layers(g: float) -> HDPCoefficients:
    """The coefficients of a tree without groups."""
    return hdp_coefficients([g])


def calibrated_concentration(
    correct: Correction, k: int, seed: int = 0, lowest: float = LOWEST, highest: float = HIGHEST,
    family: Family = two_layers,
) -> Calibration:
    """The documents' g for which the third-order proportions κ²/λ_i² sum to one.

    Right on corpora drawn from the model. On real, bursty words the result is far too large: prefer to compare several
    values on held-out documents.

    Parameters
    ----------
    correct : the moments as a function of the coefficients they are corrected with.
    k : number of topics.
    family : the coefficients for a value of g: those of two layers, or of a tree whose other levels follow from g.
    """
    mass = _Mass(correct, k, seed, family)
    # Upwards to the first change of sign: far beyond it centring leaves S2 nearly singular and the mass is noise.
    grid = np.log(np.geomspace(lowest, highest, GRID))
    value = mass(grid[0])
    if value <= 0:
        return Calibration(lowest, float(np.exp(value)), True)
    for below, above in pairwise(grid):
        value = mass(above)
        if value < 0:
            root = float(brentq(mass, below, above, xtol=1e-9, rtol=1e-9))
            return Calibration(float(np.exp(root)), float(np.exp(mass(root))), False)
    return Calibration(highest, float(np.exp(value)), True)


class _Mass:
    """log Σ_i κ²/λ_i² as a function of log g; each tensor is solved from the topics of the one before.

    On noisy tensors another start can reach another maximum, so values are cached: a root search that evaluates the
    ends of its bracket again must find the same signs.
    """

    def __init__(self, correct: Correction, k: int, seed: int, family: Family) -> None:
        self._correct, self._k, self._family = correct, k, family
        self._start = random_orthogonal(k, np.random.default_rng(seed))
        self._topics: np.ndarray | None = None
        self._known: dict[float, float] = {}

    def __call__(self, log_g: float) -> float:
        if log_g not in self._known:
            self._known[log_g] = self._solved(log_g)
        return self._known[log_g]

    def _solved(self, log_g: float) -> float:
        coefficients = self._family(float(np.exp(log_g)))
        corrected = self._correct(coefficients)
        if usable_rank(signed_spectrum(corrected.second)[0]) < self._k:
            return -1.0  # centring so strongly leaves S2 indefinite: g is too large
        whitening = whiten(corrected.second, self._k)
        third = corrected.third_in(whitening.matrix)
        pairs = PairTensor(third) if isinstance(third, np.ndarray) else third
        if self._topics is not None:
            self._start = nearest_orthogonal(whitening.matrix.T @ self._topics)
        vectors = climb(pairs, self._start).vectors
        self._topics = whitening.dual @ vectors
        eigenvalues = (pairs.contract(vectors) * vectors).sum(axis=0)
        shares = (coefficients.kappa / np.maximum(np.abs(eigenvalues), 1e-12)) ** 2
        return float(np.log(shares.sum()))
