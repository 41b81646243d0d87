"""Simulated corpora follow the model they claim to follow."""

import numpy as np
import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from spectral_spark.moments.coefficients import hdp_coefficients


def test_trees_of_any_shape() -> None:
    corpus = simulate_hdp((50, 3), {"a": [3, {"": 4, "x": 10}], "": 5}, [1.0, 1.0, 0.1, 0.01], 7, seed=1)
    assert corpus.tree.paths == ((), ("a",), ("a", "0"), ("a", "1"), ("a", "1", "x"))
    assert np.bincount(corpus.batch.nodes).tolist() == [5, 0, 3, 4, 10]
    assert corpus.node_proportions.shape == (5, 3)
    assert corpus.document_proportions.shape == (22, 3)
    assert np.allclose(corpus.document_proportions.sum(axis=1), 1.0)
    assert simulate_hdp((50, 3), 6, [1.0], 7).tree.paths == ((),)


def test_batches_are_well_formed_and_seeded() -> None:
    one, again, other = (simulate_hdp((40, 4), [30, 20], [2.0, 1.0], (3, 9), seed=s).batch for s in (1, 1, 2))
    for row in range(50):
        terms = one.terms[one.indptr[row] : one.indptr[row + 1]]
        assert np.all(np.diff(terms) > 0)
    assert one.lengths.min() >= 3
    assert one.lengths.max() <= 9
    assert len(np.unique(one.keys)) == 50
    assert np.array_equal(one.counts, again.counts)
    assert np.array_equal(one.keys, again.keys)
    assert not np.array_equal(one.keys, other.keys)
    given = np.arange(50)
    assert np.array_equal(simulate_hdp((40, 4), [30, 20], [2.0, 1.0], given).batch.lengths, given)


def test_proportions_have_the_moments_of_nested_draws() -> None:
    root, path = np.array([0.5, 0.3, 0.2]), [3.0, 0.8]
    corpus = simulate_hdp((5, 3), [10] * 20_000, path, 3, seed=3, root_weights=root)
    theta, c = corpus.document_proportions, hdp_coefficients(path)
    assert np.abs(theta.mean(axis=0) - root).max() < 0.01
    expected = c.c2 * np.outer(root, root) + c.c3 * np.diag(root)
    assert np.abs(theta.T @ theta / len(theta) - expected).max() < 0.01
    cubes = c.c4 * root**3 + 3 * c.c5 * c.c3 * root**2 + c.c6 * root
    assert np.abs((theta**3).mean(axis=0) - cubes).max() < 0.01


def test_words_follow_the_topics() -> None:
    topics = random_topics(30, 3, 0)
    corpus = simulate_hdp(topics, 2000, [0.5], 100, seed=4)
    expected = corpus.document_proportions @ topics.T
    totals = np.asarray(corpus.batch.matrix.sum(axis=0)).ravel()
    assert np.abs(totals / totals.sum() - expected.mean(axis=0)).max() < 0.003
    one_topic = corpus.document_proportions[:, 0] > 0.99
    frequencies = np.asarray(corpus.batch.matrix[one_topic].sum(axis=0)).ravel()
    assert np.abs(frequencies / frequencies.sum() - topics[:, 0]).max() < 0.02


def test_tiny_concentrations_do_not_underflow() -> None:
    corpus = simulate_hdp((20, 5), [50, 50], [1e-3, 1e-4], 5, seed=5)
    assert np.allclose(corpus.document_proportions.sum(axis=1), 1.0)


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SettingsError, match="needs 2 positive numbers"):
        simulate_hdp((20, 5), [5, 5], [1.0])
    with pytest.raises(SettingsError, match="needs 1 positive numbers"):
        simulate_hdp((20, 5), 5, [-1.0])
    with pytest.raises(SettingsError, match="-3 words"):
        simulate_hdp((20, 5), 5, [1.0], -3)
