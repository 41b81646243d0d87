"""Bounds on reconstructed topics and weights: never broken, not empty for small errors, silent for large ones."""

import numpy as np
import pytest
from solve_examples import Example, exact_example

from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.reconstruction_bounds import ReconstructionBounds, reconstruction_bounds
from spectral_spark.solve.symmetric_tensor import symmetrised
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.solve.topics_from_moments import solve_topics

G, K = (4.0, 1.3), 4


def disturbed(truth: Example, size: float, seed: int) -> tuple[TopicSolution, float, float]:
    """A solution of disturbed moments, and bounds on the errors of S2 and S3 in the basis."""
    c, rng, p = hdp_coefficients(G), np.random.default_rng(seed), len(truth.moments.first)
    noise = rng.standard_normal((p, p))
    second = truth.moments.second + size * (noise + noise.T)
    third = truth.moments.third + size * symmetrised(rng.standard_normal((p, p, p)))
    moments = ProjectedMoments(truth.moments.first, second, third)
    solution = solve_topics(moments, None, truth.lift, truth.mean_words, K, list(G))
    second_error = float(np.linalg.norm(second - truth.moments.second, 2))
    third_error = float(np.linalg.norm(third - truth.moments.third))
    third_error += 3.0 * c.c5 * second_error * float(np.linalg.norm(moments.first))     # of sym3(S2 ⊗ M1)
    return solution, second_error, third_error


def in_basis(truth: Example) -> tuple[np.ndarray, np.ndarray]:
    return truth.projection.T @ truth.topics, truth.weights


def bounds_of(truth: Example, size: float, seed: int) -> tuple[ReconstructionBounds, TopicSolution]:
    solution, second, third = disturbed(truth, size, seed)
    return reconstruction_bounds(solution, np.eye(len(truth.moments.first)), second, third), solution


@pytest.mark.parametrize("size", [1e-8, 1e-7, 1e-6])
def test_no_bound_is_broken(size: float) -> None:
    counted = 0
    for seed in range(12):
        truth = exact_example(K, [list(G)], [1.0], seed=seed)
        bounds, found = bounds_of(truth, size, seed)
        if bounds.missing:
            continue
        counted += 1
        topics, weights = in_basis(truth)
        c, values = found.coefficients, found.decomposition.eigenvalues
        printed = found.whitening.dual @ found.decomposition.vectors * (values * c.c3 / c.c6)
        order = np.abs(printed[:, :, None] - topics[:, None, :]).sum(axis=0).argmin(axis=1)
        assert sorted(order) == list(range(K))
        true_values = c.kappa / np.sqrt(weights[order])
        assert (bounds.eigenvalues[:, 0] <= true_values).all()
        assert (true_values <= bounds.eigenvalues[:, 1]).all()
        assert (bounds.weights[:, 0] <= weights[order]).all()
        assert (weights[order] <= bounds.weights[:, 1]).all()
        assert (np.linalg.norm(printed - topics[:, order], axis=0) <= bounds.topics).all()
    assert counted >= 8


def test_the_bounds_shrink_with_the_errors() -> None:
    truth = exact_example(K, [list(G)], [1.0], seed=2)
    large, small = (bounds_of(truth, size, 5)[0] for size in (1e-7, 1e-9))
    assert small.topics.max() < 0.05 * large.topics.max()
    assert small.tensor < 0.05 * large.tensor


def test_large_errors_leave_nothing_and_say_why() -> None:
    truth = exact_example(K, [list(G)], [1.0], seed=2)
    solution = solve_topics(truth.moments, None, truth.lift, truth.mean_words, K, list(G))
    basis = np.eye(len(truth.moments.first))
    vacuous = reconstruction_bounds(solution, basis, 1.0, 1.0)
    assert vacuous.topics is None
    assert vacuous.weights is None
    assert "the error of S2 must be below its smallest eigenvalue" in vacuous.missing
    third = reconstruction_bounds(solution, basis, 0.0, 1.0)
    assert "the error of the whitened tensor must be below" in third.missing
