"""Input that cannot be fitted is refused with the reason and the remedy."""

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ibp import IbpSettings, fit_features, local_runner


def good(n: int = 200, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.random((n, 2)) < 0.4) @ rng.standard_normal((2, d)) + 0.1 * rng.standard_normal((n, d))


def fit(values: np.ndarray, **settings: object) -> object:
    return fit_features(local_runner(values), values.shape[1], IbpSettings(**settings))  # type: ignore[arg-type]


def test_nan_is_refused_unless_missing_values_are_allowed() -> None:
    values = good()
    values[3, 4] = values[9, 1] = np.nan
    with pytest.raises(InputError, match=r"2 values are missing.*columns 1, 4.*`missing=\"pairwise\"`"):
        fit(values)
    found = fit(values, missing="mean")
    assert found.means.missing.tolist() == [0, 1, 0, 0, 1, 0]  # type: ignore[attr-defined]


def test_infinite_values_are_refused_either_way() -> None:
    values = good()
    values[5, 2] = np.inf
    for missing in ("refuse", "mean"):
        with pytest.raises(InputError, match="1 values are infinite, in column 2"):
            fit(values, missing=missing)


def test_constant_columns_are_named() -> None:
    values = good()
    values[:, 1] = 0.1
    values[:, 5] = 1e6
    with pytest.raises(InputError, match="constant values in columns 1, 5"):
        fit(values)


def test_constant_columns_are_named_when_the_covariance_is_sketched() -> None:
    values = np.random.default_rng(0).standard_normal((60, 1100))
    values[:, 1000] = -7.3
    with pytest.raises(InputError, match="constant values in column 1000"):
        fit(values, k=2)


@pytest.mark.parametrize(("values", "message"), [
    (np.zeros((50, 4)), "all 50 rows of 4 values are zero"),
    (np.zeros((0, 4)), "no rows"),
    (np.full((50, 4), np.nan), "missing"),
])
def test_empty_data(values: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(values)


def test_a_column_without_any_value() -> None:
    values = good()
    values[:, 2] = np.nan
    with pytest.raises(InputError, match="no value at all in column 2"):
        fit(values, missing="mean")


def test_more_features_than_columns() -> None:
    with pytest.raises(InputError, match="k = 7 features in 6 columns"):
        fit(good(), k=7)


def test_fewer_rows_than_the_fourth_moment_needs() -> None:
    with pytest.raises(InputError, match=r"9 rows cannot determine.*k = 4.*at least k\(k\+1\)/2 = 10"):
        fit(good(9), k=4)


def test_more_features_than_directions() -> None:
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 6))
    with pytest.raises(InputError, match="vary in 2 directions only"):
        fit(flat, k=3)


@pytest.mark.parametrize("scale", [1e160, 1e200])
def test_values_too_large_to_be_squared(scale: float) -> None:
    with pytest.raises(InputError, match=r"too large to be squared in columns 0, 1.*divide all columns"):
        fit(scale * good(), k=2)


def test_a_known_noise_variance_decides_how_many_features_stand_out() -> None:
    assert fit(good()).rank.k == 2  # type: ignore[attr-defined]
    largest, second = fit(good()).spectrum.values[:2]  # type: ignore[attr-defined]
    assert fit(good(), noise_variance=(largest + 2 * second) / 3 / 1.5).rank.k == 1  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="a smaller noise variance if you gave one"):
        fit(good(), noise_variance=100.0)
    with pytest.raises(InputError, match=r"only 0 of k = 2.*give a smaller σ²"):
        fit(good(), k=2, noise_variance=100.0)


def test_pure_noise_has_no_features() -> None:
    with pytest.raises(InputError, match="no direction stands out of the noise"):
        fit(np.random.default_rng(2).standard_normal((4000, 10)))


@pytest.mark.parametrize("settings", [
    {"kind": "gaussian"}, {"k": 0}, {"k": 41}, {"k": "many"}, {"k": 2.5}, {"missing": "drop"}, {"solver": "power"},
    {"offset": "yes"}, {"probabilities": "guess"}, {"polish": -1}, {"power_passes": 1}, {"seed": -1},
    {"noise_variance": -1.0},
])
def test_settings_are_checked_at_once(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        IbpSettings(**settings)  # type: ignore[arg-type]
