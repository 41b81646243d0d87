"""Whole fits on sampled rows."""

import numpy as np
import pytest

from spectral_spark.files.directories import new_directory, open_directory
from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.feature_codes import BinaryDecoder
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.likelihood import RowReader
from spectral_spark.ibp.polish import canonical_signs
from spectral_spark.ibp.row_means import MeanKernel, column_means
from spectral_spark.ibp.solve_features import IbpFit
from spectral_spark.ibp.spectrum import collect_spectrum, most_features

from .exact_moments import block_images, matched, sample


def fit(values: np.ndarray, **settings: object) -> IbpFit:
    return fit_features(local_runner(values), values.shape[1], IbpSettings(**settings))  # type: ignore[arg-type]


def image_error(rows: int, pi: float, polish: int, solver: str = "joint") -> float:
    """Mean over 10 data sets of the RMSE per pixel of the features, σ = .5."""
    truth = block_images()
    errors = []
    for seed in range(10):
        values, _ = sample("binary", truth, np.full(4, pi), 0.25, rows, seed)
        found = fit(values, k=4, polish=polish, solver=solver).model.dictionary
        errors.append(np.sqrt(((found[:, matched(found, truth)] - truth) ** 2).mean()))
    return float(np.mean(errors))


@pytest.mark.parametrize(("rows", "limit", "polished"), [(100, 0.121, 0.105), (500, 0.053, 0.044)])
def test_images_are_recovered_as_well_as_published(rows: int, limit: float, polished: float) -> None:
    assert image_error(rows, 0.5, polish=0) < limit
    assert image_error(rows, 0.5, polish=2) < polished      # σ/√(n/4) ≈ .1 and .045 is what known codes would give


def test_joint_solver_beats_the_paper_split() -> None:
    assert image_error(500, 0.3, 0) < 0.9 * image_error(500, 0.3, 0, solver="paper")


def test_rank_noise_and_codes_of_images() -> None:
    truth = block_images()
    values, codes = sample("binary", truth, np.array([0.2, 0.4, 0.5, 0.7]), 0.01, 800, 3)
    found = fit(values)
    assert found.rank.k == 4
    assert found.rank.rule == "noise edge"
    assert found.model.noise_variance == pytest.approx(0.01, rel=0.05)
    order = matched(found.model.dictionary, truth)
    decoded = BinaryDecoder(found.model).decode(values).most_likely[:, order]
    assert (decoded == codes).mean() > 0.999
    assert (np.diff(found.model.explained_variances) <= 0).all()


def test_centred_data_get_an_offset() -> None:
    truth = block_images()
    values, _ = sample("binary", truth, np.full(4, 0.4), 0.04, 2000, 5)
    centred = values - values.mean(axis=0)
    plain, moved = fit(values), fit(centred, polish=1)
    assert plain.recovery.offset == "none"
    assert moved.recovery.offset == "free"
    order = matched(moved.model.dictionary, truth)
    assert np.abs(moved.model.dictionary[:, order] - truth).max() < 0.1
    np.testing.assert_allclose(moved.model.offset, -values.mean(axis=0), atol=0.1)


@pytest.mark.parametrize("kind", ["binary", "isfa", "iica"])
def test_a_polished_model_is_in_canonical_form(kind: str) -> None:
    """Turned columns describe the same rows, and come back with the entry of largest magnitude positive."""
    rng = np.random.default_rng(3)
    model = FeatureModel(kind, rng.standard_normal((6, 4)), np.array([0.2, 0.4, 0.6, 0.9]), rng.standard_normal(6), 0.3)
    turned = canonical_signs(model, free_offset=True)
    assert turned.dictionary.max(axis=0).tolist() == np.abs(model.dictionary).max(axis=0).tolist()
    assert not np.array_equal(turned.dictionary, model.dictionary)
    values = rng.standard_normal((50, 6))
    before, after = (RowReader(one).read(values) for one in (model, turned))
    np.testing.assert_allclose(after.log_likelihood, before.log_likelihood, atol=1e-9)
    np.testing.assert_allclose(turned.reconstruct(after.codes), model.reconstruct(before.codes), atol=1e-6)
    if kind == "binary":
        assert canonical_signs(model, free_offset=False) is model


def test_polish_keeps_the_canonical_sign() -> None:
    """Columns whose two largest entries are nearly as large, with opposite signs: the polish decides which is."""
    truth = np.zeros((6, 3))
    truth[[0, 1], 0], truth[[2, 3], 1], truth[[4, 5], 2] = (1.0, -1.0), (-1.0, 1.0), (1.0, -1.0)
    for seed in range(6):
        values, _ = sample("isfa", truth, np.full(3, 0.3), 0.1, 400, seed)
        found = fit(values, kind="isfa", k=3, polish=2).model.dictionary
        assert (found[np.argmax(np.abs(found), axis=0), np.arange(3)] > 0).all()


@pytest.mark.parametrize(("kind", "limit"), [("isfa", 0.1), ("iica", 0.15)])
def test_sparse_factors_are_recovered(kind: str, limit: float) -> None:
    rng = np.random.default_rng(8)
    truth = rng.standard_normal((7, 4))
    truth *= np.sign(truth[np.argmax(np.abs(truth), axis=0), np.arange(4)])
    values, _ = sample(kind, truth, np.array([0.2, 0.3, 0.4, 0.5]), 0.01, 20000, 9)
    found = fit(values + 3.0, kind=kind, k=4).model
    order = matched(found.dictionary, truth)
    assert np.sqrt(((found.dictionary[:, order] - truth) ** 2).mean()) < limit
    np.testing.assert_allclose(found.probabilities[order], [0.2, 0.3, 0.4, 0.5], atol=0.08)
    np.testing.assert_allclose(found.offset, 3.0, atol=0.05)


def test_always_on_gaussian_factors_are_noticed_in_samples() -> None:
    for seed in range(8):
        truth = np.random.default_rng(100 + seed).standard_normal((8, 4))
        values, _ = sample("isfa", truth, np.array([1.0, 1.0, 0.3, 0.5]), 0.1, 2000, seed)
        found = fit(values, kind="isfa", k=4)
        assert found.recovery.unidentified == 2
        always = found.model.dictionary[:, found.model.probabilities == 1.0]
        wanted = truth[:, :2] @ truth[:, :2].T
        assert np.linalg.norm(always @ always.T - wanted) < 0.15 * np.linalg.norm(wanted)


def test_frequent_factors_are_not_taken_for_always_on() -> None:
    truth = np.random.default_rng(100).standard_normal((8, 3))
    values, _ = sample("isfa", truth, np.array([0.9, 0.95, 0.3]), 0.1, 20000, 0)
    found = fit(values, kind="isfa", k=3)
    assert found.recovery.unidentified == 0
    np.testing.assert_allclose(np.sort(found.model.probabilities), [0.3, 0.9, 0.95], atol=0.04)


@pytest.mark.parametrize("kind", ["isfa", "iica"])
def test_polish_raises_the_likelihood_of_sparse_factors(kind: str) -> None:
    from spectral_spark.ibp.sparse_posterior import sparse_posterior

    truth = np.random.default_rng(2).standard_normal((8, 3))
    values, _ = sample(kind, truth, np.full(3, 0.3), 0.1, 600, 1)
    fresh, _ = sample(kind, truth, np.full(3, 0.3), 0.1, 600, 2)
    raw, polished = (fit(values, kind=kind, k=3, polish=rounds).model for rounds in (0, 3))
    assert sparse_posterior(fresh, polished).log_likelihood.mean() > sparse_posterior(fresh, raw).log_likelihood.mean()


def test_sketched_covariance_equals_the_exact_one() -> None:
    rng = np.random.default_rng(4)
    values = (rng.random((500, 5)) < 0.4) @ rng.standard_normal((5, 60)) + 0.2 * rng.standard_normal((500, 60))
    run = local_runner(values)
    means = column_means(run(MeanKernel(60), {}, ""), "refuse")
    exact, sketch = (
        collect_spectrum(run, means, 25, seed=1, power_passes=4, exact_width=w)[0] for w in (100, 10)
    )
    assert sketch.vectors.shape == (60, 25)
    np.testing.assert_allclose(sketch.values[:5], exact.values[:5], rtol=1e-8)
    assert sketch.noise_variance(5) == pytest.approx(exact.noise_variance(5), rel=1e-6)
    overlap = np.linalg.svd(sketch.vectors[:, :5].T @ exact.vectors[:, :5])[1]
    np.testing.assert_allclose(overlap, 1, atol=1e-8)


def test_wide_rows_are_fitted_without_a_square_matrix() -> None:
    rng = np.random.default_rng(6)
    truth = rng.standard_normal((3000, 3)) * (rng.random((3000, 3)) < 0.2)
    values, _ = sample("binary", truth, np.array([0.3, 0.4, 0.5]), 0.04, 600, 7)
    found = fit(values)
    assert found.rank.k == 3
    assert found.spectrum.vectors.shape[1] <= 60
    order = matched(found.model.dictionary, truth)
    assert np.sqrt(((found.model.dictionary[:, order] - truth) ** 2).mean()) < 0.05


def test_missing_values_hardly_move_the_features() -> None:
    truth = block_images()
    values, _ = sample("binary", truth, np.full(4, 0.4), 0.04, 4000, 5)
    values[np.random.default_rng(0).random(values.shape) < 0.005] = np.nan
    found = fit(values, missing="mean")
    assert found.means.missing.sum() == np.isnan(values).sum()
    order = matched(found.model.dictionary, truth)
    assert np.abs(found.model.dictionary[:, order] - truth).max() < 0.1


def test_same_seed_same_bits_and_input_untouched() -> None:
    values, _ = sample("binary", block_images(), np.full(4, 0.3), 0.1, 300, 1)
    before = values.copy()
    one, two = fit(values, polish=1), fit(values, polish=1)
    assert one.model.dictionary.tobytes() == two.model.dictionary.tobytes()
    np.testing.assert_array_equal(values, before)


def test_model_survives_the_disk(tmp_path: object) -> None:
    rng = np.random.default_rng(0)
    model = FeatureModel("iica", rng.standard_normal((5, 2)), np.array([0.2, 0.9]), rng.standard_normal(5), 0.25)
    with new_directory(f"{tmp_path}/m", "test", 1) as staging:
        model.write(staging)
    back = FeatureModel.read(open_directory(f"{tmp_path}/m", "test", 1))
    assert (back.kind, back.noise_variance) == ("iica", 0.25)
    for name in ("dictionary", "probabilities", "offset"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))


@pytest.mark.parametrize(("width", "rows", "most"), [(100, 1e9, 40), (7, 1e9, 7), (100, 55, 10), (100, 54, 9)])
def test_most_features(width: int, rows: float, most: int) -> None:
    assert most_features(width, rows) == most
