"""Concentrations: given and calibrated."""

from dataclasses import replace

import numpy as np
import pytest
from solve_examples import exact_example, matched_error

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve import solve_topics
from spectral_spark.solve.concentrations import HIGHEST, LOWEST, calibrated_concentration
from spectral_spark.solve.corrected_moments import CorrectedMoments, corrected_moments
from spectral_spark.solve.reconstruct import project_on_simplex
from spectral_spark.solve.symmetric_tensor import symmetrised


@pytest.mark.parametrize("g", [0.1, 1.0, 2.0, 10.0, 60.0])
def test_calibration_finds_the_concentration_of_two_layers(g: float) -> None:
    truth = exact_example(6, [[g]], [1.0], seed=1)
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 6, "calibrated")
    assert found.concentrations == pytest.approx((g,), rel=1e-5)
    assert matched_error(found.topics, truth.topics) < 1e-5


def test_deeper_trees_are_calibrated_up_to_contrast() -> None:
    """Three layers and the 2-layer g of the same κ give the same moments, and topics on the same rays from the mean."""
    truth = exact_example(6, [[8.0, 3.0]], [1.0], seed=2)
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 6, "calibrated")
    exact = hdp_coefficients([8.0, 3.0])
    assert found.coefficients.kappa == pytest.approx(exact.kappa, rel=1e-6)
    mean, contrast = truth.mean_words[:, None], np.sqrt(found.coefficients.c3 / exact.c3)
    moved = project_on_simplex((mean + contrast * (found.topics - mean)).T).T
    assert matched_error(moved, truth.topics) < 5e-3


def test_calibration_reports_its_bounds() -> None:
    truth = exact_example(6, [[2.0]], [1.0], seed=1)

    def correct(coefficients: object) -> CorrectedMoments:
        return corrected_moments(truth.moments, coefficients)  # type: ignore[arg-type]

    low = calibrated_concentration(correct, 6, lowest=5.0)
    assert (low.concentration, low.at_bound) == (5.0, True)
    assert low.mass < 1
    high = calibrated_concentration(correct, 6, highest=0.5)
    assert (high.concentration, high.at_bound) == (0.5, True)
    assert high.mass > 1


@pytest.mark.parametrize(("k", "g", "noise", "seed"), [(8, 40.0, 0.02, 2), (16, 10.0, 0.05, 3), (12, 40.0, 0.05, 7)])
def test_calibration_survives_noise(k: int, g: float, noise: float, seed: int) -> None:
    """Noisy tensors have several tops, and which one a solve ends on depends on where it started."""
    truth, rng = exact_example(k, [[g]], [1.0], seed), np.random.default_rng(seed)
    third, pair = symmetrised(rng.standard_normal((k + 4,) * 3)), rng.standard_normal((k + 4, k + 4))
    noisy = replace(
        truth.moments,
        third=truth.moments.third + noise * np.linalg.norm(truth.moments.third) / np.linalg.norm(third) * third,
        second=truth.moments.second
        + noise / 3 * np.linalg.norm(truth.moments.second) / np.linalg.norm(pair + pair.T) * (pair + pair.T),
    )
    found = solve_topics(noisy, None, truth.lift, truth.mean_words, k, "calibrated")
    assert found.concentrations is not None
    assert LOWEST < found.concentrations[0] < HIGHEST


def test_the_same_moments_are_solved_with_any_concentrations() -> None:
    truth = exact_example(6, [[2.0]], [1.0], seed=1)
    candidates = [0.3, 2.0, (4.0, 2.0), hdp_coefficients([9.0]), "calibrated", 0.3]
    found = [solve_topics(truth.moments, None, truth.lift, truth.mean_words, 6, g) for g in candidates]
    assert [one.concentrations for one in found[:4]] == [(0.3,), (2.0,), (4.0, 2.0), None]
    errors = [matched_error(one.topics, truth.topics) for one in (found[1], found[4])]
    assert max(errors) < 1e-5
    assert found[5].topics.tobytes() == found[0].topics.tobytes()


def test_concentrations_that_leave_too_few_eigenvalues_are_refused() -> None:
    truth = exact_example(6, [[2.0]], [1.0], seed=1)
    first = truth.moments.first
    short = replace(truth.moments, second=truth.moments.second - 0.01 * np.outer(first, first))
    assert solve_topics(short, None, truth.lift, truth.mean_words, 6, 1.0).concentrations == (1.0,)
    with pytest.raises(InputError, match="only 5 of the 6"):
        solve_topics(short, None, truth.lift, truth.mean_words, 6, 500.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, [1.0, 0.0], [np.nan], [np.inf], [], ["a"], [None]])
def test_bad_concentrations_are_refused(bad: object) -> None:
    truth = exact_example(3, [[2.0]], [1.0], seed=1)
    with pytest.raises(SettingsError, match="oncentration"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 3, bad)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="'best' is unknown"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 3, "best")


def test_moments_are_not_changed_by_solving() -> None:
    truth = exact_example(5, [[2.0]], [1.0], seed=1)
    before = ProjectedMoments(*(array.copy() for array in vars(truth.moments).values()))
    for g in (0.5, "calibrated"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 5, g)
    for name, array in vars(before).items():
        np.testing.assert_array_equal(array, getattr(truth.moments, name))
