"""Documents with weights: a small group beside a large one gets topics of its own, and what is counted is exact."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine import (
    DocumentSample,
    GibbsSampler,
    GibbsSettings,
    RefineKernel,
    RefineSettings,
    RefineState,
)
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import LIKELIHOOD_STEPS, PRIOR_STEPS
from spectral_spark.tree import Census, DocumentTree, group_weights
from tests.refine.corpora import LocalRounds, batch_of, draw, noisy, part, refine_pass, settle_pass
from tests.refine.test_em_passes import loss

TREE = DocumentTree.from_paths([("large",), ("small",)])
WORDS, TOPICS, OWN = 200, 8, 5         # topics of the fit, and of each group: there are fewer than needed


def two_groups(sizes: tuple[int, int], seed: int) -> CountBatch:
    """Documents of a large and of a small group, which have no topic in common."""
    topics = [np.random.default_rng(group).dirichlet(np.full(WORDS, 0.05), OWN).T for group in range(2)]
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(np.repeat([1, 2], sizes))
    documents = [
        rng.choice(WORDS, 1 + rng.poisson(40), p=topics[node - 1] @ rng.dirichlet(np.full(OWN, 0.2)))
        for node in nodes
    ]
    return batch_of(documents, nodes, WORDS)


def losses(train: CountBatch, test: CountBatch, balance: float, seed: int) -> np.ndarray:
    """Of the test documents of either group, after sampling and passes from random topics."""
    settings = RefineSettings(passes=2, rounds=4, batch_size=32, first_rate=0.2)
    start = np.random.default_rng(seed).dirichlet(np.ones(WORDS), TOPICS).T
    state = RefineState.start(
        start, np.full(TOPICS, 1 / TOPICS), TREE.parent, TREE.level, train.counts.sum(), train.n_documents,
        node_weight=group_weights(Census.count(TREE, train.nodes, train.lengths), balance),
    )
    explorer = GibbsSampler(state, DocumentSample.from_batches([train], 10**6), GibbsSettings(60), settings, seed=seed)
    for _ in range(60):
        explorer.sweep()
    state, rounds = explorer.state(), LocalRounds(train, 4)
    for _ in range(2):
        state = refine_pass(state, rounds, settings)
    state = settle_pass(state, rounds, settings)
    groups = [part(test, np.flatnonzero(test.nodes == node)) for node in (1, 2)]
    priors, own = state.hierarchy.proportions, state.document_concentration
    return np.array([loss(group, state.topics(0.05), priors, own) for group in groups])


def test_a_small_group_is_served_as_well_and_the_large_one_still_is() -> None:
    train, test = two_groups((3000, 150), 1), two_groups((300, 300), 2)
    by_documents, alike = (
        np.mean([losses(train, test, balance, seed) for seed in range(3)], axis=0) for balance in (0.0, 1.0)
    )
    gain = by_documents - alike
    assert gain[1] > 0.2                                    # the small group's
    assert gain.mean() > 0.03                               # of a test that takes as much from each
    counts = np.bincount(train.terms, train.counts, WORDS)[:, None] + 0.5
    unigram = loss(part(test, np.flatnonzero(test.nodes == 1)), counts / counts.sum(), np.ones((3, 1)), 1.0)
    assert alike[0] < unigram - 0.2                         # the large group has not been given up


def shared_of(batch: CountBatch, topics: np.ndarray, node_weight: np.ndarray) -> dict[str, np.ndarray]:
    k = topics.shape[1]
    return {
        "statistics": topics * batch.counts.sum() / k, "node_prior": np.full((len(node_weight), k), 1 / k),
        "concentration": np.ones(len(node_weight)), "node_weight": node_weight, "rate": np.array([0.3]),
        "documents": np.array([float(batch.n_documents)]),
    }


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_a_weight_is_a_document_counted_again_but_for_the_tree(backend: str) -> None:
    drawn, weight = draw(80, seed=2), np.array([1.0, 3.0, 1.0, 2.0, 5.0])
    kernel = RefineKernel(batch_size=32, backend=backend, frozen=True)

    def arrays(batch: CountBatch, weights: np.ndarray) -> dict[str, np.ndarray]:
        accumulator = kernel.start(shared_of(drawn.batch, noisy(drawn.topics), weights))
        accumulator.add(batch)
        return accumulator.arrays()

    copies = np.repeat(np.arange(80), weight[drawn.batch.nodes].astype(int))
    weighted, repeated = arrays(drawn.batch, weight), arrays(part(drawn.batch, copies), np.ones(5))
    plain = arrays(drawn.batch, np.ones(5))
    np.testing.assert_allclose(weighted["statistics"], repeated["statistics"], rtol=1e-9, atol=1e-12)
    for name in ("node_tables", "node_spread", "tokens", "documents"):
        np.testing.assert_array_equal(weighted[name], plain[name], err_msg=name)


def test_compiled_or_not_words_are_counted_without_rounding() -> None:
    drawn, rng = draw(500, seed=3), np.random.default_rng(0)
    sample = DocumentSample.from_batches([drawn.batch], 10**6)
    weights, prior = rng.integers(1, 10**12, 500), np.full((5, 8), PRIOR_STEPS)
    likelihood = np.rint(drawn.topics / drawn.topics.max(axis=1, keepdims=True) * LIKELIHOOD_STEPS).astype(np.uint16)
    for backend in ("numba", "numpy"):
        topics, counts = np.zeros(len(sample.words), np.int32), np.zeros((WORDS, 8), np.int64)
        load_backend(backend).sweep(
            sample.indptr, sample.words, topics, sample.nodes, weights, prior, likelihood, 0, 500, np.uint64(7), True,
            counts, np.zeros((5, 8), np.int64),
        )
        whole = np.zeros((WORDS, 8), object)
        for document, (first, last) in enumerate(zip(sample.indptr[:-1], sample.indptr[1:], strict=True)):
            for at in range(first, last):
                whole[sample.words[at], topics[at]] += int(weights[document])
        assert (counts == whole).all()


def test_weights_survive_checkpoints_and_dropped_topics() -> None:
    drawn, weight = draw(50), np.array([1.0, 0.5, 2.0, 1.0, 1.0])
    plain = RefineState.start(drawn.topics, np.full(8, 1 / 8), drawn.parent, drawn.level, 1000.0, 50.0)
    assert plain.node_weight.tolist() == [1.0] * 5
    state = RefineState.from_arrays(replace(plain, node_weight=weight).arrays()).keep(np.arange(4))
    np.testing.assert_array_equal(state.node_weight, weight)
