"""Population moments give back topics and proportions exactly, whatever the tree and the solver."""

import numpy as np
import pytest
from solve_examples import Example, exact_example, matched_error, nearest

from spectral_spark.moments.coefficients import HDPCoefficients, hdp_coefficients, node_coefficients
from spectral_spark.solve import SOLVERS, node_proportions, solve_topics
from spectral_spark.tree.nodes import DocumentTree

TREES = {
    "2 layers": ([[0.7]], [1.0]),
    "3 layers": ([[4.0, 1.3]], [1.0]),
    "4 layers": ([[6.0, 2.0, 0.9]], [1.0]),
    "unequal depth": ([[2.0], [5.0, 1.5], [5.0, 3.0, 0.8]], [0.2, 0.5, 0.3]),
}


def coefficients_of(tree: str) -> HDPCoefficients:
    paths, shares = TREES[tree]
    if len(paths) == 1:
        return hdp_coefficients(paths[0])
    nodes = DocumentTree.from_paths([("a", "b")])           # documents at the root, at its child and at its grandchild
    below_root = np.array([1.0, *paths[-1][:-1]])
    return node_coefficients(nodes, below_root, np.array([path[-1] for path in paths]), np.array(shares))


@pytest.fixture(scope="module", params=TREES)
def example(request: pytest.FixtureRequest) -> tuple[Example, HDPCoefficients]:
    paths, shares = TREES[request.param]
    return exact_example(8, paths, shares, seed=3), coefficients_of(request.param)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_recovers_topics_and_weights(example: tuple[Example, HDPCoefficients], solver: str) -> None:
    truth, coefficients = example
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, coefficients, solver)
    assert found.decomposition.converged
    assert found.decomposition.solver == solver
    assert found.decomposition.residual < 1e-9
    assert matched_error(found.topics, truth.topics) < 1e-8
    assert np.abs(found.weights[nearest(found.topics, truth.topics)] - truth.weights).max() < 1e-8


def test_eigenvalues_and_sums_follow_the_theory(example: tuple[Example, HDPCoefficients]) -> None:
    truth, c = example
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, c)
    order = nearest(found.topics, truth.topics)
    expected = c.c6 * c.c3**-1.5 / np.sqrt(truth.weights)
    np.testing.assert_allclose(found.decomposition.eigenvalues[order], expected, rtol=1e-9)
    np.testing.assert_allclose(found.sums[order] ** 2, c.c3 * truth.weights, rtol=1e-8)
    in_basis = found.whitening.dual @ found.decomposition.vectors / found.sums      # before the simplex
    np.testing.assert_allclose(in_basis[:, order], truth.projection.T @ truth.topics, atol=1e-8)


@pytest.mark.parametrize("solver", ["polar", "als"])
def test_proportions_of_nodes_are_recovered(example: tuple[Example, HDPCoefficients], solver: str) -> None:
    truth, coefficients = example
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, coefficients, solver)
    nodes = np.random.default_rng(5).dirichlet(np.full(8, 0.3), 7)
    first = nodes @ (truth.projection.T @ truth.topics).T
    proportions = node_proportions(first, found)
    np.testing.assert_allclose(proportions[:, nearest(found.topics, truth.topics)], nodes, atol=1e-7)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0, rtol=1e-12)
    assert (proportions >= 0).all()


def test_unpolished_sketch_errs_less_with_longer_sketches() -> None:
    truth = exact_example(8, [[0.7]], [1.0], seed=3)

    def error(length: int) -> float:
        options = {"sketch_length": length, "n_sketches": 4, "polish": False}
        errors = []
        for seed in range(3):
            found = solve_topics(
                truth.moments, None, truth.lift, truth.mean_words, 8, 0.7, "sketch", seed=seed, solver_options=options
            )
            distance = np.abs(found.topics[:, :, None] - truth.topics[:, None, :]).sum(axis=0) / 2
            errors.append(distance.min(axis=0).mean())
        return float(np.mean(errors))

    errors = [error(length) for length in (64, 512, 4096)]
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2]
    assert errors[2] > 1e-6


def test_one_topic() -> None:
    truth = exact_example(1, [[2.0]], [1.0], seed=1)
    for solver in SOLVERS:
        found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 1, 2.0, solver)
        assert matched_error(found.topics, truth.topics) < 1e-8
        np.testing.assert_allclose(found.weights, [1.0])
