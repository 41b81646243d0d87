"""What a topic is worth, and what becomes of those that are worth little."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from spectral_spark.moments.batch import CountBatch
from spectral_spark.refine import RefineSettings, RefineState, TopicValueKernel, reseed
from tests.refine.corpora import Drawn, draw

SETTINGS = RefineSettings(passes=2, reseeded=0.5, advantage=3.0)


@pytest.fixture(scope="module")
def corpus() -> Drawn:
    return draw(300, seed=4)


def values(corpus: Drawn, topics: np.ndarray, backend: str = "auto") -> np.ndarray:
    k = topics.shape[1]
    nodes = int(corpus.batch.nodes.max()) + 1
    shared = {
        "topics": topics, "node_prior": np.full((nodes, k), 1 / k), "concentration": np.full(nodes, 1.0),
    }
    accumulator = TopicValueKernel(backend).start(shared)
    accumulator.add(corpus.batch)
    return np.asarray(accumulator.arrays()["values"])


def best_likelihood(counts: np.ndarray, words: np.ndarray, prior: np.ndarray) -> float:
    """max over θ of Σ c log(φθ) + Σ α log θ, by a general optimiser; the likelihood part at the maximum."""
    def negative(x: np.ndarray) -> float:
        theta = np.exp(x - x.max())
        theta /= theta.sum()
        return float(-(counts @ np.log(words @ theta) + prior @ np.log(theta)))

    x = minimize(negative, np.zeros(len(prior)), method="BFGS").x
    theta = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    return float(counts @ np.log(words @ theta))


def test_a_value_is_the_likelihood_lost_without_the_topic(corpus: Drawn) -> None:
    """Beside a general optimiser that finds a document's proportions with and without the topic."""
    batch, k = corpus.batch, corpus.topics.shape[1]
    span = slice(batch.indptr[7], batch.indptr[8])
    one = CountBatch(
        np.array([0, span.stop - span.start]), batch.terms[span], batch.counts[span], batch.nodes[7:8],
        batch.keys[7:8], batch.vocab_size,
    )
    topics = corpus.topics * 0.99 + 0.01 / len(corpus.topics)
    found = values(replace(corpus, batch=one), topics)
    words, prior = topics[one.terms], np.full(k, 1 / k)
    whole = best_likelihood(one.counts, words, prior)
    largest = int(found.argmax())
    others = np.arange(k) != largest
    lost = whole - best_likelihood(one.counts, words[:, others], prior[others])
    assert found[largest] == pytest.approx(lost, rel=0.05)      # a fixed number of iterations stops a little short
    assert lost > 1.0


def test_a_copy_of_a_topic_is_worth_nothing_and_a_true_one_much(corpus: Drawn) -> None:
    topics = np.hstack([corpus.topics, corpus.topics[:, :1]]) * 0.99 + 0.01 / len(corpus.topics)
    found = values(corpus, topics)
    assert max(found[0], found[-1]) < 0.02 * np.median(found[1:-1])


def test_backends_agree_on_the_values(corpus: Drawn) -> None:
    topics = corpus.topics * 0.99 + 0.01 / len(corpus.topics)
    np.testing.assert_allclose(values(corpus, topics, "numba"), values(corpus, topics, "numpy"), rtol=1e-8)


def start(k: int = 6, d: int = 40) -> RefineState:
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(d, 0.3), k).T
    return RefineState.start(
        topics, rng.dirichlet(np.full(k, 3.0)), np.array([-1, 0, 0]), np.array([0, 1, 1]), 1000.0, 50.0
    )


def test_the_least_valuable_topics_become_halves_of_the_most_valuable() -> None:
    before = start()
    after, moved = reseed(before, np.array([5.0, 90.0, 0.0, 40.0, 100.0, 45.0]), SETTINGS, seed=3)
    assert moved == [2, 0]                                      # 40 is worth too much to make room for 45
    rich = before.statistics[:, 4]
    scale = before.statistics.sum() / (before.statistics.sum() - before.statistics[:, [2, 0]].sum())
    np.testing.assert_allclose(after.statistics[:, 2] + after.statistics[:, 4], rich * scale)
    assert after.statistics.sum() == pytest.approx(before.statistics.sum())
    assert np.abs(after.statistics[:, 2] / after.statistics[:, 2].sum() - rich / rich.sum()).sum() > 0.1
    np.testing.assert_allclose(after.hierarchy.proportions.sum(axis=1), 1.0)
    np.testing.assert_allclose(after.statistics[:, 3], before.statistics[:, 3] * scale)
    again, _ = reseed(before, np.array([5.0, 90.0, 0.0, 40.0, 100.0, 45.0]), SETTINGS, seed=3)
    np.testing.assert_array_equal(again.statistics, after.statistics)


def test_topics_of_like_value_stay_where_they_are() -> None:
    before = start()
    after, moved = reseed(before, np.array([50.0, 90.0, 40.0, 45.0, 100.0, 60.0]), SETTINGS, seed=3)
    assert moved == []
    np.testing.assert_allclose(after.statistics, before.statistics)
