"""The additive state of a feature model: sums equal brute force, add up, and give the features for any k."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.errors import InputError
from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.feature_state import FeatureBasis, FeatureState
from spectral_spark.ibp.packed_cumulants import quadruple_indices
from spectral_spark.ibp.solve_features import collect_state, solve_state
from spectral_spark.moments.symmetric_packing import pack2, triple_indices

from .exact_moments import block_images, matched, sample

RNG = np.random.default_rng(11)
TRUTH = 2 * RNG.standard_normal((7, 3))
VALUES, _ = sample("binary", TRUTH, np.array([0.3, 0.4, 0.6]), 0.05, 900, 2)
BASIS = FeatureBasis(RNG.standard_normal(7), np.linalg.qr(RNG.standard_normal((7, 4)))[0] * [1.0, 2.0, 0.5, 1.0])


def state_of(
    values: np.ndarray, missing: str = "refuse", source: str = "a", basis: FeatureBasis = BASIS
) -> FeatureState:
    return collect_state(local_runner(values, 128), basis, missing, source)


def assert_same(one: FeatureState, two: FeatureState, tolerance: float = 1e-12) -> None:
    assert one.sums.keys() == two.sums.keys()
    for name, array in one.sums.items():
        scale = max(np.abs(array).max(), 1.0)
        np.testing.assert_allclose(two.sums[name] / scale, array / scale, atol=tolerance, err_msg=name)


def test_sums_equal_brute_force() -> None:
    found, centred = state_of(VALUES).sums, VALUES - BASIS.centre
    y = centred @ BASIS.directions
    i, j, l = triple_indices(4)
    expected = {
        "rows": [900], "present": np.full(7, 900), "sum": centred.sum(axis=0), "product": pack2(centred.T @ centred),
        "projected": [900], "first": y.sum(axis=0), "second": y.T @ y,
        "third": (y[:, i] * y[:, j] * y[:, l]).sum(axis=0),
        "fourth": np.prod(y[:, quadruple_indices(4)], axis=1).sum(axis=0), "nonzero": np.full(7, 900),
    }
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("missing", ["refuse", "mean", "pairwise"])
def test_states_are_added_and_subtracted(missing: str) -> None:
    values = VALUES.copy()
    if missing != "refuse":
        values[np.random.default_rng(0).random(values.shape) < 0.1] = np.nan
    one, two, both = (state_of(part, missing, name) for part, name in (
        (values[:500], "a"), (values[500:], "b"), (values, "c")))
    assert_same(one + two, both)
    assert_same((one + two) - two, one)
    assert (one + two).sources == ("a", "b")
    assert ((one + two) - two).sources == ("a", "removed:b")


def test_what_does_not_belong_together_is_refused() -> None:
    one = state_of(VALUES)
    with pytest.raises(InputError, match="would count twice"):
        _ = one + one
    with pytest.raises(InputError, match="all 900 rows would be removed"):
        _ = one - state_of(VALUES, source="b")
    with pytest.raises(InputError, match="`missing` is 'refuse' in one model and 'pairwise'"):
        _ = one + state_of(VALUES, "pairwise", "b")
    other = replace(BASIS, centre=BASIS.centre + 1)
    with pytest.raises(InputError, match=r"different bases.*setBasis\(model.basis\)"):
        _ = one + state_of(VALUES, source="b", basis=other)


def test_a_basis_of_all_columns_can_be_changed() -> None:
    turns = [np.linalg.qr(np.random.default_rng(seed).standard_normal((7, 7)))[0] * 1.5 for seed in (1, 2)]
    mine, theirs = (FeatureBasis(np.full(7, 1.0 + seed), turn) for seed, turn in enumerate(turns))
    moved = state_of(VALUES, basis=theirs).in_basis(mine)
    assert_same(state_of(VALUES, basis=mine), moved, 1e-11)


@pytest.mark.parametrize("kind", ["binary", "isfa", "iica"])
def test_another_set_of_rows_added_equals_one_fit_of_all(kind: str) -> None:
    """With as many directions as columns nothing is lost: the moments of all rows are those of one fit."""
    values, _ = sample(kind, TRUTH, np.array([0.3, 0.4, 0.6]), 0.05, 3000, 4)
    settings = IbpSettings(kind=kind, k=3)
    first, whole = (fit_features(local_runner(part), 7, settings) for part in (values[:1000], values))
    assert first.state.basis.spans_everything
    rest = collect_state(local_runner(values[1000:]), first.state.basis, "refuse", "rest")
    updated = solve_state(first.state + rest, settings)
    np.testing.assert_allclose(updated.model.dictionary, whole.model.dictionary, atol=1e-7)
    np.testing.assert_allclose(updated.model.probabilities, whole.model.probabilities, atol=1e-7)
    assert updated.model.noise_variance == pytest.approx(whole.model.noise_variance, rel=1e-9)
    back = solve_state((first.state + rest) - rest, settings).model
    np.testing.assert_allclose(back.dictionary, first.model.dictionary, atol=1e-7)


def test_features_outside_of_the_basis_are_lifted_by_the_covariance() -> None:
    """36 columns, 12 directions from only 150 rows: the update recovers nearly what a fit of all rows does."""
    truth = block_images()
    values, _ = sample("binary", truth, np.full(4, 0.4), 0.25, 6000, 3)
    first = fit_features(local_runner(values[:150]), 36, IbpSettings(k=4))
    assert first.state.basis.size == 12
    total = first.state + collect_state(local_runner(values[150:]), first.state.basis, "refuse", "rest")
    errors = []
    for fit in (first, solve_state(total, IbpSettings(k=4)), fit_features(local_runner(values), 36, IbpSettings(k=4))):
        found = fit.model.dictionary
        errors.append(np.sqrt(((found[:, matched(found, truth)] - truth) ** 2).mean()))
    assert errors[0] > 0.08
    assert errors[1] < 1.15 * errors[2] < 0.03


def test_another_k_from_the_sums_alone() -> None:
    values, _ = sample("binary", TRUTH, np.array([0.3, 0.4, 0.6]), 0.05, 2000, 4)
    four = fit_features(local_runner(values), 7, IbpSettings(k=4))
    again, fresh = solve_state(four.state, IbpSettings(k=3)), fit_features(local_runner(values), 7, IbpSettings(k=3))
    np.testing.assert_allclose(again.model.dictionary, fresh.model.dictionary, atol=1e-7)
    assert solve_state(four.state, IbpSettings()).rank.k == 3
    small = fit_features(local_runner(values), 7, IbpSettings(k=2, basis_size=3)).state
    with pytest.raises(InputError, match="kept in 3 directions"):
        solve_state(small, IbpSettings(k=4))


def test_wide_rows_keep_the_covariance_within_the_basis() -> None:
    rng = np.random.default_rng(6)
    truth = rng.standard_normal((1100, 2)) * (rng.random((1100, 2)) < 0.3)
    values, _ = sample("binary", truth, np.array([0.3, 0.5]), 0.04, 500, 7)
    first = fit_features(local_runner(values[:300]), 1100, IbpSettings(k=2))
    assert "squares" in first.state.sums
    assert "product" not in first.state.sums
    total = first.state + collect_state(local_runner(values[300:]), first.state.basis, "refuse", "rest")
    found = solve_state(total, IbpSettings(k=2)).model
    order = matched(found.dictionary, truth)
    assert np.sqrt(((found.dictionary[:, order] - truth) ** 2).mean()) < 0.05
    assert found.noise_variance == pytest.approx(0.04, rel=0.05)
