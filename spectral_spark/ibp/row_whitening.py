"""Whitening of rows: k directions in which the features have unit covariance (formulas §10)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.ibp.spectrum import MEAN, Spectrum


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


def whiten_rows(
    spectrum: Spectrum, k: int, noise_variance: float | None = None, noise_rule: str = MEAN
) -> RowWhitening:
    """Whitening of the k leading directions; σ² is estimated from the spectrum by a rule unless it is given."""
    noise = spectrum.noise_variance(k, noise_rule) if noise_variance is None else noise_variance
    signal = spectrum.values[:k] - noise
    refuse_below_noise(signal, 1e-14 * spectrum.values[0], k, noise)
    scale = np.sqrt(signal)
    vectors = spectrum.vectors[:, :k]
    return RowWhitening(vectors / scale, vectors * scale, noise)


def refuse_below_noise(signal: np.ndarray, floor: float, k: int, noise: float) -> None:
    """Raise if one of k directions has no variance beyond the noise."""
    if (signal <= floor).any():
        above = int((signal > floor).sum())
        remedy = f"give k ≤ {above}" if above else "there is nothing to find above such noise: give a smaller σ²"
        raise InputError(
            f"only {above} of k = {k} directions have more variance than the noise (σ² = {noise:.4g}); {remedy}"
        )
