"""Posterior of s = z ∘ y under isFA and iICA, by expectation propagation over all rows of a batch at once.

The likelihood is Gaussian in s with precision ΦᵀΦ/σ²; the prior of each s_i, a spike at zero with weight 1 − π and a
Gaussian or Laplace slab with weight π, is replaced by a Gaussian factor that matches the moments of the exact one in
the context of the others. For k = 1 the result is exact.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from spectral_spark.ibp.feature_codes import effective_noise, fill_missing
from spectral_spark.ibp.feature_model import FeatureModel

_SWEEPS, _DAMPING, _TOLERANCE, _CHUNK_VALUES = 60, 0.6, 1e-8, 1_000_000


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """Posterior of n rows.

    Attributes
    ----------
    mean : E[z ∘ y | x] of shape (n, k).
    activity : P(z = 1 | x) of shape (n, k).
    second : Σ over rows of E[s sᵀ | x], of shape (k, k).
    log_likelihood : approximate log p(x) of shape (n,), natural logarithm.
    """

    mean: np.ndarray
    activity: np.ndarray
    second: np.ndarray
    log_likelihood: np.ndarray


@dataclass(frozen=True, eq=False)
class _Tilted:
    """Moments of the exact prior of one s_i times its Gaussian context, each of shape (n, k)."""

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    activity: np.ndarray


def sparse_posterior(values: np.ndarray, model: FeatureModel) -> SparsePosterior:
    """Posterior of rows of shape (n, d); missing values (NaN) count as the offset."""
    filled = fill_missing(values, model)
    size = max(1, _CHUNK_VALUES // model.k**2)
    parts = [_posterior(filled[start : start + size], model) for start in range(0, max(len(filled), 1), size)]
    return SparsePosterior(
        np.vstack([part.mean for part in parts]),
        np.vstack([part.activity for part in parts]),
        np.sum([part.second for part in parts], axis=0),
        np.concatenate([part.log_likelihood for part in parts]),
    )


def _posterior(values: np.ndarray, model: FeatureModel) -> SparsePosterior:
    noise = effective_noise(model)
    residual = values - model.offset
    precision = model.dictionary.T @ model.dictionary / noise
    target = residual @ model.dictionary / noise
    sites = _propagate(precision, target, model)
    covariance, mean = _gaussian(precision, target, *sites)
    context = _context(covariance, mean, *sites)
    tilted = _tilt(*context, model)
    evidence = _evidence(precision, target, sites, covariance, mean, context, tilted)
    constant = -0.5 * np.einsum("nd,nd->n", residual, residual) / noise - 0.5 * model.width * np.log(2 * np.pi * noise)
    second = tilted.mean.T @ tilted.mean + covariance.sum(axis=0)
    np.fill_diagonal(second, (tilted.mean**2 + tilted.variance).sum(axis=0))
    return SparsePosterior(tilted.mean, tilted.activity, second, constant + evidence)


def _propagate(precision: np.ndarray, target: np.ndarray, model: FeatureModel) -> tuple[np.ndarray, np.ndarray]:
    """Precision and shift of the Gaussian factors, each of shape (n, k). A row is left alone once it has settled, so
    that its result does not depend on the rows beside it."""
    prior_variance = np.maximum(model.law.variance * model.probabilities, 1e-300)
    site_precision = np.broadcast_to(1 / prior_variance, target.shape).copy()
    site_shift = np.zeros(target.shape)
    moving = np.arange(len(target))
    for _ in range(_SWEEPS):
        if len(moving) == 0:
            break
        own_precision, own_shift = site_precision[moving], site_shift[moving]
        covariance, mean = _gaussian(precision, target[moving], own_precision, own_shift)
        context_mean, context_variance = _context(covariance, mean, own_precision, own_shift)
        tilted = _tilt(context_mean, context_variance, model)
        variance = np.maximum(tilted.variance, 1e-12 * context_variance)
        new_precision = np.maximum(1 / variance - 1 / context_variance, 1e-10 / prior_variance)
        new_shift = tilted.mean * (new_precision + 1 / context_variance) - context_mean / context_variance
        site_precision[moving] += _DAMPING * (new_precision - own_precision)
        site_shift[moving] += _DAMPING * (new_shift - own_shift)
        change = np.abs(tilted.mean - mean).max(axis=1)
        moving = moving[change > _TOLERANCE * np.sqrt(prior_variance.max())]
    return site_precision, site_shift


def _gaussian(
    precision: np.ndarray, target: np.ndarray, site_precision: np.ndarray, site_shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Covariance (n, k, k) and mean (n, k) of the Gaussian approximation."""
    k = precision.shape[0]
    joint = precision + site_precision[:, :, None] * np.eye(k)
    covariance = np.linalg.inv(joint)
    return covariance, np.einsum("nij,nj->ni", covariance, target + site_shift)


def _context(
    covariance: np.ndarray, mean: np.ndarray, site_precision: np.ndarray, site_shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each coordinate without its own factor (the cavity)."""
    own = np.einsum("nii->ni", covariance)
    context_precision = np.maximum(1 / own - site_precision, 1e-10 / own)
    return (mean / own - site_shift) / context_precision, 1 / context_precision


def _tilt(mean: np.ndarray, variance: np.ndarray, model: FeatureModel) -> _Tilted:
    pi = np.clip(model.probabilities, 1e-300, 1 - 1e-15)
    slab = _gaussian_slab if model.kind == "isfa" else _laplace_slab
    slab_mass, slab_mean, slab_second = slab(mean, variance)
    log_on = np.log(pi) + slab_mass
    log_off = np.log1p(-pi) - 0.5 * np.log(2 * np.pi * variance) - 0.5 * mean**2 / variance
    log_mass = np.logaddexp(log_on, log_off)
    activity = np.exp(log_on - log_mass)
    tilted_mean = activity * slab_mean
    return _Tilted(log_mass, tilted_mean, np.maximum(activity * slab_second - tilted_mean**2, 0.0), activity)


def _gaussian_slab(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log ∫ N(s; mean, variance) N(s; 0, 1) ds, and the mean and second moment of that product."""
    total = variance + 1
    log_mass = -0.5 * np.log(2 * np.pi * total) - 0.5 * mean**2 / total
    slab_mean = mean / total
    return log_mass, slab_mean, slab_mean**2 + variance / total


def _laplace_slab(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with ½ exp(−|s|) for N(s; 0, 1): two truncated Gaussians with means moved by ∓ the variance."""
    deviation = np.sqrt(variance)
    masses, firsts, seconds = [], [], []
    for sign in (1.0, -1.0):
        centre = sign * mean - variance                      # of |s| on this side
        cut = centre / deviation
        log_inside = log_ndtr(cut)
        hazard = np.exp(-0.5 * cut**2 - 0.5 * np.log(2 * np.pi) - log_inside)
        first = np.maximum(centre + deviation * hazard, 0.0)
        masses.append(np.log(0.5) + variance / 2 - sign * mean + log_inside)
        firsts.append(sign * first)
        seconds.append(np.maximum(variance + centre * first, first**2))
    log_mass = np.logaddexp(masses[0], masses[1])
    share = np.exp(masses[0] - log_mass)
    return (
        log_mass,
        share * firsts[0] + (1 - share) * firsts[1],
        share * seconds[0] + (1 - share) * seconds[1],
    )


def _evidence(
    precision: np.ndarray, target: np.ndarray, sites: tuple[np.ndarray, np.ndarray], covariance: np.ndarray,
    mean: np.ndarray, context: tuple[np.ndarray, np.ndarray], tilted: _Tilted,
) -> np.ndarray:
    """log ∫ exp(−½ sᵀAs + bᵀs) p(s) ds under the approximation, of shape (n,)."""
    k = precision.shape[0]
    (site_precision, site_shift), (context_mean, context_variance) = sites, context
    joint = precision + site_precision[:, :, None] * np.eye(k)
    whole = 0.5 * k * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(joint)[1]
    whole += 0.5 * ((target + site_shift) * mean).sum(axis=1)
    own = np.einsum("nii->ni", covariance)
    factors = 0.5 * np.log(own / context_variance) + 0.5 * mean**2 / own - 0.5 * context_mean**2 / context_variance
    return np.asarray(whole + (tilted.log_mass - factors).sum(axis=1))
