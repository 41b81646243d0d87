"""Rules for the rank, the noise and the sources, and the Indian Buffet Process's own numbers."""

from itertools import pairwise, product
from math import factorial

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.buffet_prior import buffet_concentration, log_prior_of_codes
from spectral_spark.ibp.kurtosis import kurtosis_of, moment_ratio
from spectral_spark.ibp.spectrum import Spectrum, choose_feature_count, exact_spectrum

from .exact_moments import matched


def test_the_margin_vanishes_on_exact_moments() -> None:
    """Features that are nearly always off, or on, vary little: a margin of 5% of the noise hid one of them."""
    pi = np.array([0.01, 0.5, 0.99])
    for seed in range(20):
        truth = np.random.default_rng(seed).standard_normal((9, 3))
        covariance = (truth * (pi - pi**2)) @ truth.T + 0.5 * np.eye(9)
        assert choose_feature_count(exact_spectrum(covariance, np.inf), "auto").k == 3


def test_the_margin_shrinks_with_the_rows_and_pure_noise_stays_below() -> None:
    edges = [choose_feature_count(Spectrum(np.array([4.0] + [1.0] * 19), np.eye(20), 23.0, n), "auto").noise_edge
             for n in (1e3, 1e5, 1e7, 1e9)]
    beyond = [edge / (1 + np.sqrt(19 / n)) ** 2 - 1 for edge, n in zip(edges, (1e3, 1e5, 1e7, 1e9), strict=True)]
    assert beyond[0] < 0.0501
    assert all(later < earlier / 5 for earlier, later in pairwise(beyond))
    rng = np.random.default_rng(3)
    for _ in range(40):
        noise = rng.standard_normal((2000, 20))
        noise[:, 0] *= 3
        assert choose_feature_count(exact_spectrum(np.cov(noise.T), 2000), "auto").k == 1


def test_rules_of_the_paper_by_name() -> None:
    values = np.array([9.0, 8.0, 3.0, 1.2, 1.1, 0.8])
    spectrum = Spectrum(values, np.eye(6), float(values.sum()), 1e4)
    found = choose_feature_count(spectrum, "auto", rank_rule="largest-slope")
    assert (found.k, found.rule) == (2, "largest slope")
    assert spectrum.noise_variance(3, "smallest-eigenvalue") == 0.8
    assert spectrum.noise_variance(3) == pytest.approx(3.1 / 3)
    sketched = Spectrum(values[:3], np.eye(6)[:, :3], float(values.sum()), 1e4)
    with pytest.raises(SettingsError, match="needs all 6 eigenvalues"):
        sketched.noise_variance(3, "smallest-eigenvalue")
    flat = Spectrum(np.ones(6), np.eye(6), 6.0, 1e4)
    with pytest.raises(InputError, match="no drop to cut at"):
        choose_feature_count(flat, "auto", rank_rule="largest-slope")


def test_rules_of_the_paper_in_a_fit() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((4000, 2)) < 0.5) @ (4 * rng.standard_normal((2, 8))) + rng.standard_normal((4000, 8))
    ours, paper = (fit_features(local_runner(values), 8, IbpSettings(**rules)) for rules in (
        {}, {"rank_rule": "largest-slope", "noise_rule": "smallest-eigenvalue"}))
    assert paper.rank.rule == "largest slope"
    assert paper.model.noise_variance == pytest.approx(np.linalg.eigvalsh(np.cov(values.T, bias=True))[0])
    assert paper.model.noise_variance < ours.model.noise_variance


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)


SOURCES = {
    "uniform": (uniform, 1.8, 0.1), "Gaussian": (lambda rng, shape: rng.standard_normal(shape), 3.0, 0.3),
    "Laplace": (lambda rng, shape: rng.laplace(size=shape) / np.sqrt(2), 6.0, 1.2),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_with_a_kurtosis_that_is_given_or_estimated(name: str) -> None:
    draw, kurtosis, tolerance = SOURCES[name]
    rng = np.random.default_rng(4)
    truth, pi = rng.standard_normal((7, 3)), np.array([0.3, 0.5, 0.7])
    codes = (rng.random((60000, 3)) < pi) * draw(rng, (60000, 3))
    values = codes @ truth.T + 0.1 * rng.standard_normal((60000, 7))
    given, estimated, wrong = (
        fit_features(local_runner(values), 7, IbpSettings(kind="isfa", k=3, kurtosis=value))  # type: ignore[arg-type]
        for value in (kurtosis, "estimate", kurtosis + 1.5)
    )
    assert estimated.kurtosis == pytest.approx(kurtosis, abs=tolerance)
    assert given.kurtosis == kurtosis
    error = {
        what: np.abs(np.sort(fit.model.probabilities) - pi).max()
        for what, fit in (("given", given), ("estimated", estimated), ("wrong", wrong))
    }
    assert error["given"] < 0.06
    assert error["estimated"] < 0.12
    assert error["wrong"] > 2 * error["given"]
    order = matched(np.abs(given.model.dictionary), np.abs(truth))
    np.testing.assert_allclose(np.abs(given.model.dictionary[:, order]), np.abs(truth), atol=0.12)


def test_densities_between_gaussian_and_laplace() -> None:
    assert [kurtosis_of(shape) for shape in (2.0, 1.0)] == pytest.approx([3.0, 6.0])
    assert [moment_ratio(shape) for shape in (2.0, 1.0)] == pytest.approx([15 / 9, 90 / 36])
    with pytest.raises(SettingsError, match="binary features have none"):
        IbpSettings(kurtosis=4.0)


def test_probability_of_codes_equals_its_definition() -> None:
    counts, n, alpha = np.array([3.0, 1.0, 5.0]), 6, 1.7
    harmonic = sum(1 / i for i in range(1, n + 1))
    expected = 3 * np.log(alpha) - alpha * harmonic
    expected += sum(np.log(factorial(n - int(m)) * factorial(int(m) - 1) / factorial(n)) for m in counts)
    assert log_prior_of_codes(n, counts / n, alpha) == pytest.approx(expected, rel=1e-12)
    best = buffet_concentration(n, 3)
    assert best == pytest.approx(3 / harmonic)
    largest = log_prior_of_codes(n, counts / n, best)
    assert all(largest > log_prior_of_codes(n, counts / n, best * factor) for factor in (0.9, 1.1))


def test_probabilities_of_all_codes_add_up_to_those_of_their_number() -> None:
    """Over all binary matrices with every column used, ordered columns: Σ p(Z) K!-fold is Poisson(α H_N) in K."""
    n, alpha = 3, 0.8
    harmonic = 1 + 1 / 2 + 1 / 3
    total = 0.0
    for columns in product(range(1, 2**n), repeat=2):
        used = np.array([bin(column).count("1") for column in columns])
        total += np.exp(log_prior_of_codes(n, used / n, alpha)) / 2
    poisson = np.exp(-alpha * harmonic) * (alpha * harmonic) ** 2 / 2
    assert total == pytest.approx(poisson, rel=1e-12)
