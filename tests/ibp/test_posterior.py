"""Codes and posteriors of rows against enumeration and numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import laplace, multivariate_normal, norm

from spectral_spark.ibp.feature_codes import BinaryDecoder, all_codes
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.sparse_posterior import sparse_posterior

from .exact_moments import sample


def model_of(kind: str, d: int, k: int, noise: float, seed: int = 0) -> FeatureModel:
    rng = np.random.default_rng(seed)
    return FeatureModel(kind, rng.standard_normal((d, k)), rng.uniform(0.1, 0.7, k), rng.standard_normal(d), noise)


def rows_of(model: FeatureModel, n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    values, codes = sample(model.kind, model.dictionary, model.probabilities, model.noise_variance, n, seed)
    return values + model.offset, codes


def enumerate_codes(model: FeatureModel, values: np.ndarray) -> np.ndarray:
    """log P(x, z) for every row and code, from the density itself."""
    codes = all_codes(model.k)
    prior = np.log(np.where(codes == 1, model.probabilities, 1 - model.probabilities)).sum(axis=1)
    deviation = model.noise_variance**0.5
    fits = np.array([norm.logpdf(values, model.reconstruct(code), deviation).sum(axis=1) for code in codes])
    return (fits + prior[:, None]).T


@pytest.mark.parametrize("exact_features", [12, 0])
def test_most_likely_codes_equal_enumeration(exact_features: int) -> None:
    model = model_of("binary", 7, 6, 0.8)
    values, _ = rows_of(model, 300)
    scores = enumerate_codes(model, values)
    found = BinaryDecoder(model, exact_features=exact_features, beam=64).decode(values)
    np.testing.assert_array_equal(found.most_likely, all_codes(6)[np.argmax(scores, axis=1)])
    np.testing.assert_allclose(found.log_likelihood, logsumexp(scores, axis=1), rtol=1e-9)


def test_beam_finds_nearly_all_codes_that_enumeration_finds() -> None:
    model = model_of("binary", 10, 12, 1.0)                 # more features than columns: ΦᵀΦ is singular
    values, _ = rows_of(model, 400)
    exact, beam = (BinaryDecoder(model, exact_features=limit).decode(values) for limit in (12, 0))
    same = (exact.most_likely == beam.most_likely).all(axis=1)
    assert same.mean() > 0.97
    gap = exact.log_likelihood - beam.log_likelihood
    assert gap.min() > -1e-9                                # a lower bound
    assert np.median(gap) < 0.2


def test_many_features_are_decoded() -> None:
    model = model_of("binary", 120, 40, 0.1)
    values, codes = rows_of(model, 200)
    np.testing.assert_array_equal(BinaryDecoder(model).decode(values).most_likely, codes)


def test_noiseless_rows_are_decoded() -> None:
    model = model_of("binary", 12, 5, 0.0)
    values, codes = rows_of(model, 50)
    np.testing.assert_array_equal(BinaryDecoder(model).decode(values).most_likely, codes)


def test_no_rows_give_no_codes() -> None:
    model = model_of("binary", 4, 2, 0.1)
    assert BinaryDecoder(model).decode(np.zeros((0, 4))).most_likely.shape == (0, 2)
    assert sparse_posterior(np.zeros((0, 4)), model_of("isfa", 4, 2, 0.1)).mean.shape == (0, 2)


@pytest.mark.parametrize("kind", ["isfa", "iica"])
def test_one_factor_is_integrated_exactly(kind: str) -> None:
    model = model_of(kind, 3, 1, 0.5)
    values, _ = rows_of(model, 12)
    found = sparse_posterior(values, model)
    slab = norm if kind == "isfa" else laplace
    pi, column = model.probabilities[0], model.dictionary[:, 0]
    for row in range(len(values)):
        def density(s: float, power: int, row: int = row) -> float:
            fit = norm.logpdf(values[row] - model.offset - column * s, scale=0.5**0.5).sum()
            return float(s**power * np.exp(fit + slab.logpdf(s)) * pi)

        spike = (1 - pi) * np.exp(norm.logpdf(values[row] - model.offset, scale=0.5**0.5).sum())
        mass, first = (quad(density, -12, 12, args=(power,), points=[0.0], limit=200)[0] for power in (0, 1))
        assert found.log_likelihood[row] == pytest.approx(np.log(spike + mass), abs=1e-6)
        assert found.activity[row, 0] == pytest.approx(mass / (spike + mass), abs=1e-6)
        assert found.mean[row, 0] == pytest.approx(first / (spike + mass), abs=1e-6)


def test_gaussian_posterior_is_close_to_enumeration_of_the_supports() -> None:
    model = model_of("isfa", 8, 5, 0.3)
    values, _ = rows_of(model, 200)
    centred = values - model.offset
    scores, means = [], []
    for code in all_codes(5):
        used = model.dictionary * code
        covariance = used @ used.T + 0.3 * np.eye(8)
        prior = np.log(np.where(code == 1, model.probabilities, 1 - model.probabilities)).sum()
        scores.append(multivariate_normal.logpdf(centred, cov=covariance) + prior)
        means.append(centred @ np.linalg.solve(covariance, used))
    scores_array = np.array(scores).T
    exact = logsumexp(scores_array, axis=1)
    weights = np.exp(scores_array - exact[:, None])
    found = sparse_posterior(values, model)
    assert np.abs(found.log_likelihood - exact).mean() < 0.05
    assert np.abs(found.activity - weights @ all_codes(5)).mean() < 0.02
    assert np.sqrt(((found.mean - np.einsum("nc,cnk->nk", weights, np.array(means))) ** 2).mean()) < 0.03


@pytest.mark.parametrize("kind", ["isfa", "iica"])
def test_posterior_mean_beats_the_linear_estimate(kind: str) -> None:
    model = model_of(kind, 12, 20 if kind == "isfa" else 8, 0.05, seed=4)
    values, codes = rows_of(model, 300)
    found = sparse_posterior(values, model)
    spread = model.law.variance * model.probabilities
    covariance = (model.dictionary * spread) @ model.dictionary.T + 0.05 * np.eye(12)
    linear = (values - model.offset) @ np.linalg.solve(covariance, model.dictionary * spread)
    assert ((found.mean - codes) ** 2).mean() < 0.9 * ((linear - codes) ** 2).mean()
    active = found.activity > 0.5
    assert (active == (codes != 0)).mean() > 0.75


def test_missing_values_of_new_rows_are_expected_values() -> None:
    model = model_of("binary", 6, 2, 0.1)
    values, _ = rows_of(model, 20)
    values[0, 0] = np.nan
    filled = values.copy()
    filled[0, 0] = (model.offset + model.dictionary @ model.probabilities)[0]
    found, expected = BinaryDecoder(model).decode(values), BinaryDecoder(model).decode(filled)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-12)
