"""Tensors per group: exact given the groups, and better than the root's moments when groups are few."""

from dataclasses import replace

import numpy as np
import pytest
from solve_examples import (
    dense_counts,
    dense_moments,
    dirichlet_layer,
    exact_example,
    matched_error,
    nearest,
    scaled_basis,
)

from spectral_spark.errors import InputError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ingest.simulate import SimulatedCorpus, random_topics, simulate_hdp
from spectral_spark.moments.group_moments import GroupAverages
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve import TopicSolution, solve_topics


def averages(parts: list[ProjectedMoments], shares: np.ndarray) -> tuple[ProjectedMoments, GroupAverages]:
    """Means over groups of their moments and of products of these, from the definition."""
    first, second, third = (
        np.einsum("g,g...->...", shares, np.array([getattr(part, name) for part in parts]))
        for name in ("first", "second", "third")
    )
    m, pairs = np.array([part.first for part in parts]), np.array([part.second for part in parts])
    placed = np.einsum("g,gij,gl->ijl", shares, pairs, m)
    mixed = placed + placed.transpose(0, 2, 1) + placed.transpose(2, 1, 0)
    groups = GroupAverages(
        np.einsum("g,gi,gj->ij", shares, m, m), np.einsum("g,gi,gj,gl->ijl", shares, m, m, m), mixed
    )
    return ProjectedMoments(first, second, third), groups


def test_exact_whatever_the_groups_happen_to_be() -> None:
    k, g = 5, 1.7
    truth = exact_example(k, [[g]], [1.0], seed=4)
    rng = np.random.default_rng(9)
    realised, shares = rng.dirichlet(np.full(k, 0.8), 3), np.array([0.5, 0.3, 0.2])
    inside, parts = truth.projection.T @ truth.topics, []
    for pi in realised:
        one, two, three = dirichlet_layer(g, (pi, np.outer(pi, pi), np.einsum("i,j,l->ijl", pi, pi, pi)))
        parts.append(ProjectedMoments(
            inside @ one, inside @ two @ inside.T,
            np.einsum("abc,ia,jb,lc->ijl", three, inside, inside, inside, optimize=True),
        ))
    moments, groups = averages(parts, shares)
    found = solve_topics(moments, None, truth.lift, truth.mean_words, k, (40.0, g), groups=groups)
    assert matched_error(found.topics, truth.topics) < 1e-8
    order = nearest(found.topics, truth.topics)
    np.testing.assert_allclose(found.weights[order], shares @ realised, atol=1e-8)
    calibrated = solve_topics(moments, None, truth.lift, truth.mean_words, k, "calibrated", groups=groups)
    assert calibrated.concentrations == pytest.approx((g,), rel=1e-5)


def both_ways(corpus: SimulatedCorpus, k: int, concentrations: tuple[float, float]) -> list[TopicSolution]:
    counts, nodes = dense_counts(corpus), corpus.batch.nodes
    projection, lift, _, mean = scaled_basis(counts, k + 8)
    members = [np.flatnonzero(nodes == node) for node in np.unique(nodes)]
    parts = [dense_moments(counts[rows], projection, np.ones(len(rows))) for rows in members]
    shares = np.array([len(rows) for rows in members]) / len(nodes)
    moments, groups = averages(parts, shares)
    root = solve_topics(moments, None, lift, mean, k, concentrations)
    return [root, solve_topics(moments, None, lift, mean, k, concentrations, groups=groups)]


def test_better_than_root_averages_when_groups_are_few() -> None:
    k, errors = 10, []
    for seed in range(3):
        corpus = simulate_hdp(random_topics(200, k, seed), [1500] * 4, [3.0, 1.0], lengths=50, seed=seed)
        errors.append([recovery(found.topics, corpus.topics).error for found in both_ways(corpus, k, (3.0, 1.0))])
    root, grouped = np.mean(errors, axis=0)
    assert grouped < 0.8 * root
    assert all(one[1] < one[0] for one in errors)


def test_foreign_or_broken_group_moments_are_refused() -> None:
    truth = exact_example(3, [[2.0]], [1.0], seed=1)
    p = len(truth.moments.first)
    good = GroupAverages(np.zeros((p, p)), np.zeros((p, p, p)), np.zeros((p, p, p)))
    with pytest.raises(InputError, match=r"second has shape \(2, 2\), expected"):
        solve_topics(
            truth.moments, None, truth.lift, truth.mean_words, 3, 2.0, groups=replace(good, second=np.zeros((2, 2)))
        )
    with pytest.raises(InputError, match="third is not finite"):
        solve_topics(
            truth.moments, None, truth.lift, truth.mean_words, 3, 2.0, groups=replace(good, third=good.third * np.nan)
        )
