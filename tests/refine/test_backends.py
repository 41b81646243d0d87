"""The E-step and the inference against plain loops, and the two backends against each other."""

import numpy as np
import pytest
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import SettingsError
from spectral_spark.refine import infer
from spectral_spark.refine.backend import backend_name, load_backend
from tests.refine.corpora import batch_of, draw

BACKENDS = ["numba", "numpy"]


def loop_e_step(
    batch: CountBatch, rows: np.ndarray, means: np.ndarray, g: np.ndarray, iterations: int,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Topic-word statistics (d, k), proportions and expected draws (n, k), document by document, word by word."""
    k = rows.shape[1]
    weights = np.ones(batch.n_documents) if weights is None else weights
    statistics, shares, tables = np.zeros(rows.shape), np.zeros(means.shape), np.zeros(means.shape)
    for d in range(batch.n_documents):
        mine = slice(batch.indptr[d], batch.indptr[d + 1])
        words, counts = batch.terms[mine], batch.counts[mine]
        if len(words) == 0:
            continue
        theta, prior = means[d], g[d] * means[d]
        for _ in range(iterations):
            gamma = prior.copy()
            for word, count in zip(words, counts, strict=True):
                gamma += count * rows[word] * theta / (rows[word] @ theta)
            theta = np.exp(digamma(gamma) - digamma(gamma.sum()))
        expected = np.zeros(k)
        for word, count in zip(words, counts, strict=True):
            share = count * rows[word] * theta / (rows[word] @ theta)
            statistics[word] += weights[d] * share
            expected += share
        shares[d] = expected / counts.sum()
        tables[d] = prior * (digamma(prior + expected) - digamma(prior))
    return [statistics, shares, tables]


def per_node(values: np.ndarray, nodes: np.ndarray, count: int) -> np.ndarray:
    return np.stack([values[nodes == node].sum(axis=0) for node in range(count)])


def run(
    backend: str, batch: CountBatch, rows: np.ndarray, means: np.ndarray, g: np.ndarray, iterations: int,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    k, nodes = rows.shape[1], int(batch.nodes.max()) + 1
    out = [np.zeros(rows.shape), np.zeros((nodes, k)), np.zeros((nodes, k))]
    load_backend(backend).e_step(
        batch.indptr, batch.terms.astype(np.int64), batch.counts, batch.nodes.astype(np.int64), rows, means, g,
        np.ones(batch.n_documents) if weights is None else weights, iterations, *out,
    )
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("concentration", "iterations"), [(0.3, 10), (1.0, 1), (40.0, 10), (0.01, 7)])
def test_e_step_equals_a_plain_loop(backend: str, concentration: float, iterations: int) -> None:
    drawn = draw(60, seed=3)
    rng = np.random.default_rng(5)
    rows = drawn.topics + 1e-5
    means = rng.dirichlet(np.ones(8), 60)
    g = concentration * rng.uniform(0.5, 2.0, 60)
    weights = np.maximum(rng.integers(-100, 400, 60), 1) / 64             # statistics count by them, the rest does not
    statistics, shares, tables = loop_e_step(drawn.batch, rows, means, g, iterations, weights)
    got = run(backend, drawn.batch, rows, means, g, iterations, weights)
    nodes = int(drawn.batch.nodes.max()) + 1
    # exp(ψ) is approximated to 1e-11 and topics below 1e-9 words are dropped; ten iterations amplify both
    np.testing.assert_allclose(got[0], statistics, atol=1e-6)
    np.testing.assert_allclose(got[1], per_node(shares, drawn.batch.nodes, nodes), atol=1e-7)
    np.testing.assert_allclose(got[2], per_node(tables, drawn.batch.nodes, nodes), atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_token_is_given_to_topics_once(backend: str) -> None:
    drawn = draw(300, seed=4)
    got = run(backend, drawn.batch, drawn.topics + 1e-6, np.full((300, 8), 1 / 8), np.full(300, 0.5), 10)
    tokens = np.asarray(drawn.batch.matrix.sum(axis=0)).ravel()
    np.testing.assert_allclose(got[0].sum(axis=1), tokens, rtol=1e-9)
    np.testing.assert_allclose(got[1].sum(), 300, rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("k", [1, 2, 5, 33])
def test_hard_documents_stay_finite(backend: str, k: int) -> None:
    rng = np.random.default_rng(0)
    documents = [np.array([], int), np.array([3]), np.zeros(5000, int), np.arange(50), np.array([], int)]
    batch = batch_of(documents, np.zeros(5, int), 50)
    rows = rng.dirichlet(np.full(50, 0.01), k).T + 1e-12
    for concentration in (1e-4, 1e4):
        got = run(backend, batch, rows, rng.dirichlet(np.full(k, 0.05), 5) + 1e-9, np.full(5, concentration), 10)
        assert all(np.isfinite(array).all() for array in got)
        np.testing.assert_allclose(got[0].sum(), batch.counts.sum(), rtol=1e-9)


def test_no_documents_at_all() -> None:
    empty = batch_of([], np.array([], int), 10)
    for backend in BACKENDS:
        assert infer(empty, np.full((10, 3), 0.1), np.full((1, 3), 1 / 3), 1.0, backend=backend).shape == (0, 3)


def loop_infer(batch: CountBatch, topics: np.ndarray, prior: np.ndarray, iterations: int) -> np.ndarray:
    theta = prior / prior.sum(axis=1, keepdims=True)
    for d in range(batch.n_documents):
        mine = slice(batch.indptr[d], batch.indptr[d + 1])
        for _ in range(iterations):
            new = prior[d].copy()
            for word, count in zip(batch.terms[mine], batch.counts[mine], strict=True):
                new += count * topics[word] * theta[d] / (topics[word] @ theta[d])
            theta[d] = new / new.sum()
    return theta


@pytest.mark.parametrize("backend", BACKENDS)
def test_infer_equals_a_plain_loop(backend: str) -> None:
    drawn = draw(40, seed=6)
    node_prior = np.vstack([np.full(8, 1 / 8), 0.9 * drawn.groups + 0.1 / 8])
    topics = 0.99 * drawn.topics + 0.01 / 200
    got = infer(drawn.batch, topics, node_prior, 2.0, 30, backend)
    expected = loop_infer(drawn.batch, topics, 2.0 * node_prior[drawn.batch.nodes], 30)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(got.sum(axis=1), 1.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_documents_without_words_have_the_proportions_of_their_node(backend: str) -> None:
    node_prior = np.array([[0.5, 0.5], [0.9, 0.1]])
    batch = batch_of([np.array([], int), np.array([], int), np.array([0, 0])], np.array([1, 0, 1]), 4)
    got = infer(batch, np.full((4, 2), 0.25), node_prior, np.array([1.0, 3.0]), backend=backend)
    np.testing.assert_allclose(got, node_prior[[1, 0, 1]], atol=1e-12)     # topics that are alike teach nothing


def test_read_only_arrays_are_fine() -> None:
    drawn = draw(20)
    arrays = [drawn.batch.indptr, drawn.batch.terms, drawn.batch.counts, drawn.batch.nodes]
    topics, prior = drawn.topics + 1e-6, np.full((5, 8), 1 / 8)
    for array in [*arrays, topics, prior]:
        array.setflags(write=False)
    np.testing.assert_allclose(infer(drawn.batch, topics, prior, 1.0).sum(axis=1), 1.0)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(SettingsError, match="use one of auto, numba, numpy"):
        backend_name("fortran")
