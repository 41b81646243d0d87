"""Relevance, word search and the map, against definitions and brute force."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform

from spectral_spark.report.relevance import candidates, relevance, top_words, topics_of_words, word_shares
from spectral_spark.report.topic_map import classical_mds, topic_distances


def random_model(d: int = 60, k: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(d, 0.2), size=k).T, random.dirichlet(np.ones(k))


def test_relevance_is_the_formula_of_ldavis() -> None:
    topics, weights = random_model()
    shares = word_shares(topics, weights)
    expected = 0.3 * np.log(topics[:, 2]) + 0.7 * np.log(topics[:, 2] / shares)
    np.testing.assert_allclose(relevance(topics[:, 2], shares, 0.3), expected, rtol=1e-12)


def test_top_words_are_the_best_in_order_and_never_unused_ones() -> None:
    topics, weights = random_model()
    topics[40:, 1] = 0.0
    topics[:, 1] /= topics[:, 1].sum()
    shares = word_shares(topics, weights)
    scores = relevance(topics[:, 1], shares, 0.6)
    assert top_words(topics[:, 1], shares, 7).tolist() == np.argsort(-scores, kind="stable")[:7].tolist()
    assert len(top_words(topics[:, 1], shares, 1000)) == 40
    assert len(top_words(np.zeros(60), shares, 5)) == 0


def test_candidates_hold_the_winners_at_every_mark_of_the_slider() -> None:
    topics, weights = random_model(d=500)
    shares = word_shares(topics, weights)
    chosen = set(candidates(topics[:, 0], shares, 20).tolist())
    for blend in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        assert set(top_words(topics[:, 0], shares, 20, blend).tolist()) <= chosen
    assert len(chosen) < 120


def test_topics_of_a_word_are_posterior_probabilities() -> None:
    topics, weights = random_model(d=30, k=6)
    topics[3] = 0.0
    numbers, parts = topics_of_words(topics, weights, 4)
    posterior = topics * weights / np.maximum((topics * weights).sum(axis=1, keepdims=True), 1e-300)
    for word in (0, 11, 29):
        assert numbers[word].tolist() == np.argsort(-posterior[word], kind="stable")[:4].tolist()
        np.testing.assert_allclose(parts[word], np.sort(posterior[word])[::-1][:4], rtol=1e-12)
    assert parts[3].tolist() == [0, 0, 0, 0]


def test_distances_are_jensen_shannon() -> None:
    topics, _ = random_model(k=7)
    topics[:20, 0] = 0.0
    topics[:, 0] /= topics[:, 0].sum()
    expected = squareform(pdist(topics.T, lambda p, q: jensenshannon(p, q, base=2)))
    np.testing.assert_allclose(topic_distances(topics), expected, atol=1e-9)


def test_distances_reach_their_ends() -> None:
    apart = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(topic_distances(apart), [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-7)


def test_the_map_keeps_distances_of_points_in_a_plane() -> None:
    plane = np.random.default_rng(3).normal(size=(9, 2))
    distances = squareform(pdist(plane))
    np.testing.assert_allclose(squareform(pdist(classical_mds(distances))), distances, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_map_of_few_topics(k: int) -> None:
    topics, _ = random_model(k=k)
    points = classical_mds(topic_distances(topics))
    assert points.shape == (k, 2)
    assert np.all(np.isfinite(points))
