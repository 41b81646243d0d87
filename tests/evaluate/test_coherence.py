"""Coherence, diversity and recovery against their definitions, word by word."""

import numpy as np
import pytest
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError
from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words, umass
from spectral_spark.evaluate.diversity import topic_diversity
from spectral_spark.evaluate.recovery import recovery


def batch_from(dense: np.ndarray) -> CountBatch:
    rows = sp.csr_matrix(dense.astype(float))
    n, d = dense.shape
    return CountBatch(rows.indptr, rows.indices, rows.data, np.zeros(n, np.int32), np.arange(n, dtype=np.int64), d)


def counted(batches: list[CountBatch], words: np.ndarray, d: int) -> dict[str, np.ndarray]:
    accumulator = CooccurrenceKernel().start(cooccurrence_inputs(words, d))
    for batch in batches:
        accumulator.add(batch)
    return accumulator.arrays()


@pytest.fixture
def dense() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.4, 1.0, 30), (200, 30))


def test_counts_and_scores_equal_the_definition(dense: np.ndarray) -> None:
    topics = np.random.default_rng(1).dirichlet(np.full(30, 0.3), 6).T
    words = top_words(topics, 5)
    union = np.unique(words)
    state = counted([batch_from(dense[:90]), batch_from(dense[90:])], words, 30)
    places, together, n = np.searchsorted(union, words), state["together"], state["documents"][0]
    has = dense > 0
    expected_npmi, expected_umass = np.zeros(6), np.zeros(6)
    for topic, row in enumerate(words):
        pairs = [(row[j], row[i]) for i in range(5) for j in range(i)]
        for better, worse in pairs:
            both, first, second = (has[:, better] & has[:, worse]).sum(), has[:, better].sum(), has[:, worse].sum()
            pmi = np.log(both * 200 / (first * second)) if both else 0.0
            expected_npmi[topic] += (pmi / -np.log(both / 200) if both else -1.0) / len(pairs)
            expected_umass[topic] += np.log((both + 1) / max(first, 1)) / len(pairs)
    assert n == 200
    assert np.array_equal(state["occurrences"], dense.sum(axis=0))
    assert npmi(places, together, n) == pytest.approx(expected_npmi, rel=1e-12)
    assert umass(places, together) == pytest.approx(expected_umass, rel=1e-12)


def test_extremes_of_npmi() -> None:
    dense = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]])
    state = counted([batch_from(dense)], np.arange(4), 4)
    pairs = np.array([[0, 1], [0, 2], [3, 3], [0, 3]])
    assert npmi(pairs, state["together"], 4) == pytest.approx([1, -1, 1, 0])


def test_words_that_never_occur_are_counted_as_never_meeting() -> None:
    state = counted([batch_from(np.array([[1, 0, 0], [2, 0, 0]]))], np.arange(3), 3)
    assert npmi(np.array([[0, 1], [1, 2]]), state["together"], 2) == pytest.approx([-1, -1])
    assert np.isfinite(umass(np.array([[1, 2]]), state["together"])).all()


def test_top_words_best_first_ties_by_id() -> None:
    topics = np.array([[0.2, 0.1], [0.2, 0.6], [0.5, 0.1], [0.1, 0.2]])
    assert top_words(topics, 3).tolist() == [[2, 0, 1], [1, 3, 0]]
    assert top_words(topics, 9).shape == (2, 4)


def test_diversity_of_equal_and_of_disjoint_topics() -> None:
    assert topic_diversity(np.eye(6)[:, :3], 1) == 1.0
    assert topic_diversity(np.tile(np.linspace(0.1, 1, 30)[:, None], 4), 25) == 0.25


def test_recovery_finds_the_permutation_and_reports_the_missing() -> None:
    truth = np.random.default_rng(2).dirichlet(np.full(40, 0.2), 7).T
    order = np.random.default_rng(3).permutation(7)
    exact = recovery(truth[:, order], truth)
    assert np.array_equal(order[exact.match], np.arange(7))
    assert exact.error == pytest.approx(0, abs=1e-15)
    partial = recovery(truth[:, :5], truth)
    assert partial.match[:5].tolist() == [0, 1, 2, 3, 4]
    assert partial.match[5:].tolist() == [-1, -1]
    assert partial.error == pytest.approx(2 / 7)


def test_recovery_error_is_half_the_l1_distance() -> None:
    result = recovery(np.array([[0.5, 0.1], [0.5, 0.9]]), np.array([[0.2, 0.6], [0.8, 0.4]]))
    assert result.match.tolist() == [1, 0]
    assert result.errors == pytest.approx([0.1, 0.1])
    with pytest.raises(InputError, match="words"):
        recovery(np.ones((3, 1)), np.ones((2, 1)))
