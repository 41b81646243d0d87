"""The sampler of the benchmark visits codes as often as the exact posterior says."""

import sys
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.special import betaln
from scipy.stats import multivariate_normal

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from ibp_gibbs import gibbs_features


def test_gibbs_agrees_with_enumeration() -> None:
    values = np.array([[1.2, 0.1], [0.2, 0.9], [1.0, 1.1]])
    n, features, alpha, noise = 3, 2, 2.0, 0.4
    bits = (np.arange(2 ** (n * features))[:, None] >> np.arange(n * features)) & 1
    log_weights = []
    for code in bits.reshape(-1, n, features).astype(float):
        covariance = code @ code.T + noise * np.eye(n)              # Φ integrated out, one Gaussian per column
        fit = sum(multivariate_normal.logpdf(values[:, j], cov=covariance) for j in range(2))
        used = code.sum(axis=0)
        log_weights.append(fit + betaln(alpha / features + used, 1 + n - used).sum())
    exact = np.exp(log_weights - np.max(log_weights))
    exact /= exact.sum()
    visits = np.zeros(len(bits))
    powers = 2 ** np.arange(n * features)
    for state in islice(gibbs_features(values, features, 0, alpha=alpha, noise_variance=noise), 500, 20_500):
        visits[int(state.codes.ravel() @ powers)] += 1
    total_variation = np.abs(visits / visits.sum() - exact).sum() / 2
    assert total_variation < 0.05                   # twice or half of α gives .25, noise of .3 instead of .4 gives .08
