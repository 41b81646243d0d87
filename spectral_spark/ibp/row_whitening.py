"""Whitening of rows: k directions in which the features have unit covariance (formulas §10)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.ibp.spectrum import Spectrum


@dataclass(frozen=True, eq=False)
class RowWhitening:
    """Wᵀ (cov − σ² I) W = I.

    Attributes
    ----------
    matrix : W of shape (d, k).
    lift : (W†)ᵀ of shape (d, k), back from whitened coordinates.
    noise_variance : σ².
    """

    matrix: np.ndarray
    lift: np.ndarray
    noise_variance: float


def whiten_rows(spectrum: Spectrum, k: int, noise_variance: float | None = None) -> RowWhitening:
    """Whitening of the k leading directions; σ² is estimated from the rest of the spectrum unless it is given."""
    noise = spectrum.noise_variance(k) if noise_variance is None else noise_variance
    signal = spectrum.values[:k] - noise
    floor = 1e-14 * spectrum.values[0]
    if (signal <= floor).any():
        above = int((signal > floor).sum())
        remedy = f"give k ≤ {above}" if above else "there is nothing to find above such noise: give a smaller σ²"
        raise InputError(
            f"only {above} of k = {k} directions have more variance than the noise (σ² = {noise:.4g}); {remedy}"
        )
    scale = np.sqrt(signal)
    vectors = spectrum.vectors[:, :k]
    return RowWhitening(vectors / scale, vectors * scale, noise)
