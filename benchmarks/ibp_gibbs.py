"""A Gibbs sampler for binary linear-Gaussian features, the competitor of the benchmark.

The Indian Buffet Process as the limit of π_k ~ Beta(α/K, 1) with K larger than needed; given the features and π the
rows are independent, so one step updates a feature of all rows at once. No package on the usual index that does this is
maintained; this one is checked against the exact posterior of a tiny data set in the tests.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class GibbsState:
    """One state of the chain: codes (n, K), dictionary (d, K), probabilities (K,), noise variance."""

    codes: np.ndarray
    dictionary: np.ndarray
    probabilities: np.ndarray
    noise_variance: float


def gibbs_features(
    values: np.ndarray, truncation: int, seed: int, *, alpha: float = 2.0, feature_variance: float = 1.0,
    noise_variance: float | None = None,
) -> Iterator[GibbsState]:
    """States of the chain, one per sweep, without end. The noise variance is sampled unless it is given."""
    rng = np.random.default_rng(seed)
    n, d = values.shape
    codes = (rng.random((n, truncation)) < 0.5).astype(np.float64)
    noise = values.var() if noise_variance is None else noise_variance
    pi = np.full(truncation, 0.5)
    while True:
        dictionary = _sample_dictionary(values, codes, noise, feature_variance, rng)
        residual = values - codes @ dictionary.T
        for k in rng.permutation(truncation):
            residual += np.outer(codes[:, k], dictionary[:, k])
            fit = (residual @ dictionary[:, k] - 0.5 * dictionary[:, k] @ dictionary[:, k]) / noise
            odds = np.clip(fit + np.log(pi[k]) - np.log1p(-pi[k]), -700, 700)
            codes[:, k] = rng.random(n) < 1 / (1 + np.exp(-odds))
            residual -= np.outer(codes[:, k], dictionary[:, k])
        used = codes.sum(axis=0)
        pi = np.clip(rng.beta(alpha / truncation + used, 1 + n - used), 1e-12, 1 - 1e-12)
        if noise_variance is None:
            noise = (1.0 + 0.5 * (residual**2).sum()) / rng.gamma(1.0 + 0.5 * n * d)
        yield GibbsState(codes.copy(), dictionary, pi, float(noise))


def _sample_dictionary(
    values: np.ndarray, codes: np.ndarray, noise: float, feature_variance: float, rng: np.random.Generator
) -> np.ndarray:
    """Φ given the codes: Gaussian, independent over columns of the data."""
    precision = codes.T @ codes / noise + np.eye(codes.shape[1]) / feature_variance
    root = np.linalg.cholesky(precision)
    mean = np.linalg.solve(precision, codes.T @ values / noise)
    return (mean + np.linalg.solve(root.T, rng.standard_normal(mean.shape))).T


def posterior_dictionary(
    values: np.ndarray, truncation: int, sweeps: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the second half of the sweeps of Φ (d, K) and of how often each feature is used (K,)."""
    total, used, kept = np.zeros((values.shape[1], truncation)), np.zeros(truncation), 0
    for sweep, state in enumerate(gibbs_features(values, truncation, seed)):
        if sweep >= sweeps // 2:
            total, used, kept = total + state.dictionary, used + state.codes.mean(axis=0), kept + 1
        if sweep + 1 >= sweeps:
            break
    return total / kept, used / kept
