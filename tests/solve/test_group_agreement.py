"""The documents' concentration that the second moments of the groups agree on."""

import numpy as np
import pytest
from solve_examples import dense_counts, dense_moments, dirichlet_layer, exact_example, scaled_basis
from test_group_tensors import averages

from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from spectral_spark.moments.group_moments import GroupPairs, GroupStatistics
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.moments.symmetric_packing import pair_indices
from spectral_spark.solve import solve_topics
from spectral_spark.solve.group_agreement import Agreement, agreed_concentration
from spectral_spark.solve.group_tensors import group_corrected_moments

STEP = 0.04     # the search ends between two numbers that are three per cent apart


def agreement(parts: list[ProjectedMoments], documents: np.ndarray, k: int) -> Agreement | None:
    """Of groups with these moments and numbers of documents."""
    first, second = (np.array([getattr(part, name) for part in parts]) for name in ("first", "second"))
    rows, columns = pair_indices(first.shape[1])
    statistics = GroupStatistics(
        tuple((str(number),) for number in range(len(parts))), False, np.repeat(documents[:, None], 4, axis=1),
        documents[:, None] * first, documents[:, None] * second[:, rows, columns],
    )
    shares = documents / documents.sum()
    pairs = statistics.pairs(np.ones(len(parts)))
    assert isinstance(pairs, GroupPairs)
    np.testing.assert_allclose(pairs.share, shares)
    moments, groups = averages(parts, shares)
    return agreed_concentration(lambda c: group_corrected_moments(moments, groups, c), pairs, k)


@pytest.mark.parametrize("g", [0.4, 1.7, 6.0])
def test_exact_moments_tell_it(g: float) -> None:
    k, rng = 5, np.random.default_rng(9)
    truth = exact_example(k, [[g]], [1.0], seed=4)
    inside, parts = truth.projection.T @ truth.topics, []
    for pi in rng.dirichlet(np.full(k, 0.8), 3):
        one, two, three = dirichlet_layer(g, (pi, np.outer(pi, pi), np.einsum("i,j,l->ijl", pi, pi, pi)))
        parts.append(ProjectedMoments(
            inside @ one, inside @ two @ inside.T,
            np.einsum("abc,ia,jb,lc->ijl", three, inside, inside, inside, optimize=True),
        ))
    found = agreement(parts, np.array([500.0, 300.0, 200.0]), k)
    assert found is not None
    assert found.concentration == pytest.approx(g, rel=STEP)
    assert found.clear


def test_right_where_third_order_proportions_are_not() -> None:
    k, g, factors = 12, 5.0, []
    for seed in (1, 2):
        corpus = simulate_hdp(random_topics(300, k, seed), [1500] * 4, [1.0, g], lengths=80, seed=seed)
        counts, nodes = dense_counts(corpus), corpus.batch.nodes
        projection, lift, _, mean = scaled_basis(counts, k + 8)
        members = [np.flatnonzero(nodes == node) for node in np.unique(nodes)]
        parts = [dense_moments(counts[rows], projection, np.ones(len(rows))) for rows in members]
        found = agreement(parts, np.full(4, 1500.0), k)
        assert found is not None
        assert found.clear
        assert found.concentration == pytest.approx(g, rel=0.25)
        moments, groups = averages(parts, np.full(4, 0.25))
        calibrated = solve_topics(moments, None, lift, mean, k, "calibrated", groups=groups)
        factors.append((calibrated.concentrations or (0.0,))[-1] / g)
    assert max(factors) > 2.0


def test_groups_that_are_all_alike_do_not_tell() -> None:
    """One group twice: S2 of both is their average, and whitened it is the identity for every number."""
    k, g = 5, 1.7
    truth = exact_example(k, [[g]], [1.0], seed=4)
    inside, pi = truth.projection.T @ truth.topics, np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    one, two, three = dirichlet_layer(g, (pi, np.outer(pi, pi), np.einsum("i,j,l->ijl", pi, pi, pi)))
    part = ProjectedMoments(
        inside @ one, inside @ two @ inside.T,
        np.einsum("abc,ia,jb,lc->ijl", three, inside, inside, inside, optimize=True),
    )
    assert agreement([part, part], np.array([500.0, 500.0]), k) is None
