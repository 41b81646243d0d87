"""Simplex projection, contrast and smoothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.solve.reconstruct import lifted_topics, project_on_simplex, smoothed_topics

FINITE = st.floats(-1e6, 1e6, allow_nan=False)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 7)), elements=FINITE))
@settings(max_examples=200, deadline=None)
def test_projection_satisfies_the_optimality_conditions(rows: np.ndarray) -> None:
    """On the simplex; moved entries share one shift, and entries at zero would have needed a larger one."""
    found = project_on_simplex(rows)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for row, point in zip(rows, found, strict=True):
        shift, slack = row - point, 1e-9 * (1.0 + np.abs(row).max())
        inside = point > 0
        assert np.ptp(shift[inside]) <= slack
        assert (shift[~inside] <= shift[inside].max() + slack).all()


def test_weighted_projection_minimises_its_distance() -> None:
    rng = np.random.default_rng(0)
    rows, spread = rng.standard_normal((5, 6)), rng.uniform(0.1, 3.0, 6)
    found = project_on_simplex(rows, spread)
    for row, point in zip(rows, found, strict=True):
        def distance(x: np.ndarray, row: np.ndarray = row) -> float:
            return float(((x - row) ** 2 / spread).sum())
        best = minimize(
            distance, np.full(6, 1 / 6), bounds=[(0, 1)] * 6, constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(point, best.x, atol=1e-5)
        assert distance(point) <= distance(best.x) + 1e-9


def test_points_of_the_simplex_stay() -> None:
    rows = np.random.default_rng(1).dirichlet(np.full(20, 0.1), 8)
    np.testing.assert_allclose(project_on_simplex(rows), rows, atol=1e-15)
    np.testing.assert_allclose(project_on_simplex(rows, np.linspace(1, 2, 20)), rows, atol=1e-15)


def test_lifted_topics_do_not_depend_on_sign_and_scale() -> None:
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(12, 0.5), 3).T
    found, sums = lifted_topics(np.eye(12), topics * [2.0, -0.01, 1e5])
    np.testing.assert_allclose(found, topics, atol=1e-12)
    np.testing.assert_allclose(sums, [2.0, -0.01, 1e5])


def test_a_column_that_sums_to_nothing_still_gives_a_topic() -> None:
    found, sums = lifted_topics(np.eye(4), np.array([[1.0], [-1.0], [0.5], [-0.5]]))
    assert np.isfinite(found).all()
    assert np.isfinite(sums).all()
    assert found.sum() == pytest.approx(1.0)


def test_a_column_of_zeros_is_refused() -> None:
    with pytest.raises(InputError, match="1 of 2 are zero over all words"):
        lifted_topics(np.eye(3), np.array([[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]))


def test_smoothing_mixes_in_the_corpus_mean() -> None:
    topics, mean = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([5.0, 3.0, 2.0])
    smooth = smoothed_topics(topics, mean, 0.1)
    np.testing.assert_allclose(smooth, [[0.95, 0.05], [0.03, 0.93], [0.02, 0.02]])
    with pytest.raises(SettingsError, match=r"smoothing: 1.5 is not in \[0, 1\]"):
        smoothed_topics(topics, mean, 1.5)


def test_projection_beside_huge_entries() -> None:
    rows = np.array([[1e16, 1.0, 2.0], [1e200, 1e200, 0.0], [3e16, 1e16, 5.0]])
    np.testing.assert_array_equal(project_on_simplex(rows), [[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0]])
    topics = np.random.default_rng(0).dirichlet(np.ones(6), 3).T
    mean = topics.mean(axis=1, keepdims=True)
    moved = project_on_simplex((mean + np.sqrt(0.5 / 1e-36) * (topics - mean)).T)
    assert (moved >= 0).all()
    np.testing.assert_allclose(moved.sum(axis=1), 1.0)
