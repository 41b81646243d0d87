"""Missing values do not bias the moments: covariances over pairs that are there, cumulants by least squares."""

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.pairwise_kernels import PairwiseCovarianceKernel, PairwiseCumulantKernel

from .exact_moments import block_images, matched, sample


def with_gaps(values: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    values = values.copy()
    values[np.random.default_rng(seed).random(values.shape) < share] = np.nan
    return values


def fitted(values: np.ndarray, **settings: object) -> FeatureModel:
    return fit_features(local_runner(values), values.shape[1], IbpSettings(**settings)).model  # type: ignore[arg-type]


def test_sums_over_pairs_equal_brute_force() -> None:
    values = with_gaps(np.random.default_rng(1).standard_normal((60, 4)), 0.3)
    mean = np.array([0.1, -0.2, 0.3, 0.0])
    found = local_runner(values, 17)(PairwiseCovarianceKernel(), {"mean": mean}, "")
    for i in range(4):
        for j in range(4):
            both = ~np.isnan(values[:, i]) & ~np.isnan(values[:, j])
            one, two = values[both, i] - mean[i], values[both, j] - mean[j]
            assert found["pair_sums"][i, j] == pytest.approx(one.sum(), abs=1e-12)
            if i <= j:
                assert found["product"][i, j] == pytest.approx(one @ two, abs=1e-12)
                assert found["pair_counts"][i, j] == both.sum()


def test_coordinates_of_noiseless_rows_are_exact_despite_gaps() -> None:
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((12, 3)))[0] * [2.0, 1.0, 0.5]
    coordinates = rng.standard_normal((200, 3))
    values = with_gaps(coordinates @ (basis / (basis**2).sum(axis=0)).T + 1.0, 0.3)
    found = local_runner(values, 64)(PairwiseCumulantKernel(), {"mean": np.ones(12), "whitening": basis}, "")
    kept = [
        row for row, gaps in zip(coordinates, np.isnan(values), strict=True)
        if np.linalg.eigvalsh((basis / np.linalg.norm(basis, axis=0))[~gaps].T
                              @ (basis / np.linalg.norm(basis, axis=0))[~gaps])[0] >= 0.1
    ]
    y = np.array(kept)
    assert 150 < found["projected"][0] == len(y) <= 200
    np.testing.assert_allclose(found["first"], y.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(found["second"], y.T @ y, atol=1e-10)
    assert found["third"][0] == pytest.approx((y[:, 0] ** 3).sum(), abs=1e-10)
    assert found["fourth"][0] == pytest.approx((y[:, 0] ** 4).sum(), abs=1e-10)


@pytest.mark.parametrize("kind", ["binary", "isfa"])
def test_a_third_of_the_values_missing_shrinks_nothing(kind: str) -> None:
    """Filling in means shrinks the features by a fifth and more; pairs that are there leave their lengths alone."""
    truth, pi = block_images(), np.array([0.3, 0.4, 0.5, 0.4])
    values, _ = sample(kind, truth, pi, 0.09, 12000, 5)
    gaps = with_gaps(values, 0.3)
    lengths, errors = {}, {}
    for name in ("mean", "pairwise"):
        model = fitted(gaps, kind=kind, k=4, missing=name)
        order = matched(model.dictionary, truth)
        found = model.dictionary[:, order]
        lengths[name] = float(np.mean(np.linalg.norm(found, axis=0) / np.linalg.norm(truth, axis=0)))
        errors[name] = float(np.sqrt(((found - truth) ** 2).mean()))
    assert abs(lengths["pairwise"] - 1) < 0.03
    assert errors["pairwise"] < 0.05
    assert errors["mean"] > 2.5 * errors["pairwise"]
    noise = fitted(gaps, kind=kind, k=4, missing="pairwise").noise_variance
    assert noise == pytest.approx(0.09, rel=0.03)


def test_values_that_are_missing_together() -> None:
    """Half of the rows lack the same nine columns: the pattern is anything but independent."""
    truth = block_images()
    values, _ = sample("binary", truth, np.full(4, 0.4), 0.04, 6000, 5)
    values[::2, 3:30:3] = np.nan
    model = fitted(values, missing="pairwise")
    assert model.k == 4
    order = matched(model.dictionary, truth)
    assert np.sqrt(((model.dictionary[:, order] - truth) ** 2).mean()) < 0.04
    np.testing.assert_allclose(model.probabilities, 0.4, atol=0.03)


def test_wide_rows_with_gaps() -> None:
    rng = np.random.default_rng(6)
    truth = rng.standard_normal((1100, 2)) * (rng.random((1100, 2)) < 0.3)
    values, _ = sample("binary", truth, np.array([0.3, 0.5]), 0.04, 500, 7)
    model = fitted(with_gaps(values, 0.3), k=2, missing="pairwise")
    order = matched(model.dictionary, truth)
    lengths = np.linalg.norm(model.dictionary[:, order], axis=0) / np.linalg.norm(truth, axis=0)
    np.testing.assert_allclose(lengths, 1, atol=0.05)
    assert model.noise_variance == pytest.approx(0.04, rel=0.1)


def test_columns_that_never_meet_are_named() -> None:
    values, _ = sample("binary", block_images(), np.full(4, 0.4), 0.04, 300, 5)
    values[::2, 3] = np.nan
    values[1::2, 8] = np.nan
    with pytest.raises(InputError, match="no row has a value in both column 3 and column 8"):
        fitted(values, missing="pairwise")
    with pytest.raises(SettingsError, match="`polish` needs complete rows"):
        IbpSettings(missing="pairwise", polish=1)
