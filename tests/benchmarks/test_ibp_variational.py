"""The variational method of the benchmark: every round raises its bound, which stays below the evidence."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import multivariate_normal

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from ibp_data import image_error, image_features, noisy_images
from ibp_variational import fit_variational


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_the_bound_rises_every_round(noise: float) -> None:
    found = fit_variational(noisy_images(200, noise, 0), 8, 1, noise**2)
    assert len(found.bounds) > 10
    assert (np.diff(found.bounds) > -1e-6).all()


def test_the_bound_stays_below_the_exact_evidence() -> None:
    """One feature, four rows of two columns: sticks and feature are integrated out for each of the 2⁴ codes."""
    values, alpha, noise = np.array([[1.0, 0.5], [0.9, 0.7], [0.1, -0.2], [1.1, 0.4]]), 2.0, 0.3
    terms = []
    for number in range(16):
        codes = np.array([(number >> place) & 1 for place in range(4)], float)
        covariance = np.outer(codes, codes) + noise * np.eye(4)
        on = codes.sum()
        prior = betaln(alpha + on, 1 + 4 - on) - betaln(alpha, 1.0)
        terms.append(prior + sum(multivariate_normal(np.zeros(4), covariance).logpdf(column) for column in values.T))
    evidence = float(logsumexp(terms))
    best = max(fit_variational(values, 1, seed, noise, alpha=alpha, tolerance=1e-9).bounds[-1] for seed in range(3))
    assert evidence - 1.5 < best < evidence


def test_images_are_found() -> None:
    values = noisy_images(500, 0.5, 0)
    best = max((fit_variational(values, 10, seed, 0.25) for seed in range(3)), key=lambda found: found.bounds[-1])
    assert image_error(best.dictionary, image_features()) < 0.1
