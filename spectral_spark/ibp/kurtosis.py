"""The kurtosis of the sources, from fourth and sixth moments along the features (formulas §10).

Along a feature, a whitened row is s + noise with s = z ∘ y of variance one: E s⁴ = κ₄/π and E s⁶ = κ₆/π², with κ₄ and
κ₆ of y. The ratio E s⁶ / (E s⁴)² = κ₆/κ₄² does not depend on π. Among the densities exp(−|y|^β), Gaussian for β = 2 and
Laplace for β = 1, it determines β, and with it the kurtosis. Cumulants of the noise beyond the second are zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from spectral_spark.data.dense_batch import DenseBatch

ESTIMATE = "estimate"
_FLATTEST, _SHARPEST = 20.0, 0.4          # β: κ is 1.8 and 52 there


@dataclass(frozen=True)
class PowerKernel:
    """Σ t², Σ t⁴ and Σ t⁶ of t = Dᵀ(x − μ) over complete rows. Shared: ``mean`` (d,), ``directions`` D (d, k)."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "_PowerAccumulator":
        return _PowerAccumulator(shared["mean"], shared["directions"])


class _PowerAccumulator:
    def __init__(self, mean: np.ndarray, directions: np.ndarray) -> None:
        self._mean, self._directions = mean, directions
        self._rows, self._powers = 0, np.zeros((3, directions.shape[1]))

    def add(self, batch: DenseBatch) -> None:
        complete = ~np.isnan(batch.values).any(axis=1)
        rows = DenseBatch(batch.values[complete], batch.keys[complete])
        self._rows += rows.n_rows
        squares = (rows.centred(self._mean) @ self._directions) ** 2
        self._powers += np.stack([squares.sum(axis=0), (squares**2).sum(axis=0), (squares**3).sum(axis=0)])

    def arrays(self) -> dict[str, np.ndarray]:
        return {"rows": np.array([float(self._rows)]), "second": self._powers[0], "fourth": self._powers[1],
                "sixth": self._powers[2]}


def estimate_kurtosis(sums: Mapping[str, np.ndarray]) -> float:
    """κ of the sources, from the state of :class:`PowerKernel`; features count by how often they are on."""
    second, fourth, sixth = (sums[name] / max(float(sums["rows"][0]), 1.0) for name in ("second", "fourth", "sixth"))
    of_four = fourth - 3 * second**2 + 3                       # E s⁴ and E s⁶ of s, without the noise in t
    of_six = sixth - 15 * fourth * second + 30 * second**3 + 15 * of_four - 30
    weights = 1 / np.maximum(of_four, 1.0)
    ratio = float((of_six / np.maximum(of_four, 1.0) ** 2) @ weights / weights.sum())
    return kurtosis_of(_shape(ratio))


def kurtosis_of(shape: float) -> float:
    """E y⁴ / (E y²)² for a density proportional to exp(−|y|^β)."""
    return float(np.exp(gammaln(5 / shape) + gammaln(1 / shape) - 2 * gammaln(3 / shape)))


def moment_ratio(shape: float) -> float:
    """E y⁶ E y² / (E y⁴)² for the same density: κ₆/κ₄², which falls as β grows."""
    return float(np.exp(gammaln(7 / shape) + gammaln(3 / shape) - 2 * gammaln(5 / shape)))


def _shape(ratio: float) -> float:
    """β for a ratio; the nearest end of the range where there is none."""
    if ratio <= moment_ratio(_FLATTEST):
        return _FLATTEST
    if ratio >= moment_ratio(_SHARPEST):
        return _SHARPEST
    return float(brentq(lambda shape: moment_ratio(shape) - ratio, _SHARPEST, _FLATTEST))
