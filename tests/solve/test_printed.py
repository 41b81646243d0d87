"""The paper's algorithm as printed: the same as ours on exact moments, without our finishing touches on others."""

import numpy as np
import pytest
from solve_examples import exact_example, matched_error, nearest, orthogonal_tensor

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve import solve_tensor, solve_topics
from spectral_spark.solve.reconstruct import likely_topics, printed_topics
from spectral_spark.solve.whitening import whiten, whiten_unsigned

G = [4.0, 1.3]


def test_exact_moments_of_three_layers_give_topics_and_weights_from_eigenvalues() -> None:
    truth = exact_example(8, [G], [1.0], seed=3)
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, G, "power", printed=True)
    assert matched_error(found.topics, truth.topics) < 1e-8
    assert np.abs(found.weights[nearest(found.topics, truth.topics)] - truth.weights).max() < 1e-8
    np.testing.assert_allclose(found.sums**2, found.coefficients.c3 * found.weights, rtol=1e-7)


def test_deflation_keeps_its_errors_where_ours_removes_them() -> None:
    tensor, truth = orthogonal_tensor(np.linspace(3.0, 1.0, 12), seed=1, noise=0.05)
    printed, ours = solve_tensor(tensor, "power", printed=True), solve_tensor(tensor, "power")
    overlap = [np.abs(one.vectors.T @ one.vectors - np.eye(12)).max() for one in (printed, ours)]
    assert overlap[0] > 1e-3                                # deflated vectors are not orthogonal
    assert overlap[1] < 1e-9
    assert np.abs(truth.T @ printed.vectors).max(axis=0).min() > 0.9


def test_alternating_least_squares_depend_on_their_start() -> None:
    tensor, _ = orthogonal_tensor(np.array([3.0, 2.0, 1.0]), seed=4)
    found = [solve_tensor(tensor, "als", seed=seed, printed=True) for seed in range(12)]
    best = min(found, key=lambda one: one.residual)
    np.testing.assert_allclose(best.eigenvalues, [3.0, 2.0, 1.0], rtol=1e-3)
    assert max(one.residual for one in found) > 0.1         # other starts end with a topic missing


def test_plain_least_squares_find_some_topics_twice() -> None:
    tensor, truth = orthogonal_tensor(np.linspace(3.0, 1.0, 20), seed=5)
    found = solve_tensor(tensor, "als", printed=True)
    assert (np.abs(truth.T @ found.vectors).max(axis=1) < 0.9).any()
    assert (np.abs(truth.T @ solve_tensor(tensor, "als").vectors).max(axis=1) > 0.999).all()


def test_longer_sketches_err_less() -> None:
    tensor, truth = orthogonal_tensor(np.linspace(3.0, 2.0, 6), seed=6)
    found = [solve_tensor(tensor, "sketch", printed=True, sketch_length=length, n_sketches=5) for length in (128, 4096)]
    short, long = (1.0 - np.abs(truth.T @ one.vectors).max(axis=0).min() for one in found)
    assert long < short
    assert long > 1e-9                                      # sketched vectors keep the noise of their sketches


def test_singular_values_keep_directions_with_negative_eigenvalues() -> None:
    second = np.diag([3.0, -2.0, 1.0, 0.5])
    with pytest.raises(InputError, match="only 3 of the 4"):
        whiten(second, 4)
    found = whiten_unsigned(second, 3)
    assert found.spectrum[:3].tolist() == [3.0, -2.0, 1.0]
    np.testing.assert_allclose(found.matrix.T @ second @ found.matrix, np.diag([1.0, -1.0, 1.0]), atol=1e-12)


def test_a_note_counts_negative_directions() -> None:
    truth = exact_example(4, [G], [1.0], seed=3)
    values, vectors = np.linalg.eigh(truth.moments.second)
    second = truth.moments.second - values[-1] * np.outer(vectors[:, 0], vectors[:, 0])
    moments = ProjectedMoments(truth.moments.first, second, truth.moments.third)
    found = solve_topics(moments, None, truth.lift, truth.mean_words, 4, G, "power", printed=True)
    assert any("1 of the 4 largest singular values" in note for note in found.notes)


def test_topics_without_smoothing_are_distributions_with_zeros() -> None:
    lift, columns = np.eye(3), np.array([[2.0, 1.0], [-1.0, 1.0], [2.0, 2.0]])
    topics = printed_topics(lift, columns, np.array([0.3, 0.5]))
    np.testing.assert_allclose(topics, [[0.5, 0.25], [0.0, 0.25], [0.5, 0.5]])
    with pytest.raises(InputError, match="1 of 2 have no positive word"):
        printed_topics(lift, columns, np.array([0.3, -0.5]))
    likely = likely_topics(topics, np.array([0.5, 0.25, 0.25]))
    assert likely.min() > 0
    assert likely_topics(likely, np.array([0.5, 0.25, 0.25])) is likely


def test_options_are_those_of_the_printed_solver() -> None:
    tensor, _ = orthogonal_tensor(np.array([2.0, 1.0]), seed=1)
    with pytest.raises(SettingsError, match="has no option 'polish'"):
        solve_tensor(tensor, "power", printed=True, polish=True)
