"""Sampling: what it draws, that nobody can tell who drew it, and that it leaves places where EM stays."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from spectral_spark.data.hashing import GOLDEN_GAMMA
from spectral_spark.errors import SettingsError
from spectral_spark.refine import DocumentSample, GibbsSampler, GibbsSettings, RefineSettings, RefineState
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import FIXED_POINT, LIKELIHOOD_STEPS, PRIOR_STEPS
from spectral_spark.refine.gibbs import LONGEST
from tests.refine.corpora import Drawn, LocalRounds, batch_of, draw, error, noisy, refine_pass

BACKENDS = ["numba", "numpy"]


def swept(
    backend: str, sample: DocumentSample, prior: np.ndarray, likelihood: np.ndarray, sweeps: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Topics of the words after some sweeps from nothing, and what the last one counted: words and tables."""
    topics = np.zeros(len(sample.words), np.int32)
    counts, tables = np.zeros(likelihood.shape, np.int64), np.zeros(prior.shape, np.int64)
    weights = 1 + np.arange(sample.documents) % 3
    for number in range(sweeps):
        counts[:], tables[:] = 0, 0
        load_backend(backend).sweep(
            sample.indptr, sample.words, topics, sample.nodes, weights, prior, likelihood, 0, sample.documents,
            np.uint64((seed * 1000 + number + 1) * 7919), number == 0, counts, tables,
        )
    return topics, counts, tables


def whole(prior: np.ndarray, likelihood: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Priors and likelihoods as sweeps take them."""
    steps = np.rint(likelihood / likelihood.max(axis=1, keepdims=True) * LIKELIHOOD_STEPS)
    return np.rint(prior * PRIOR_STEPS).astype(np.int64), steps.astype(np.uint16)


def state_of(drawn: Drawn, topics: np.ndarray) -> RefineState:
    k = topics.shape[1]
    tokens = float(drawn.batch.counts.sum())
    return RefineState.start(
        topics, np.full(k, 1 / k), drawn.parent, drawn.level, tokens, float(drawn.batch.n_documents)
    )


def explored(start: RefineState, sample: DocumentSample, sweeps: int, *, backend: str = "auto", threads: int = 1,
             seed: int = 0, learn: bool = True) -> RefineState:
    options = RefineSettings(backend=backend, learn_concentrations=learn)
    explorer = GibbsSampler(start, sample, GibbsSettings(sweeps), options, seed=seed, threads=threads)
    for _ in range(sweeps):
        explorer.sweep()
    return explorer.state()


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_are_drawn_from_their_posterior(backend: str) -> None:
    n, prior = 20_000, np.array([[0.5, 1.0, 0.2]])
    likelihood = np.array([[1.0, 0.2, 0.1], [0.3, 1.0, 0.6], [0.1, 0.1, 1.0]])
    words = np.array([0, 1, 2], np.int32)
    sample = DocumentSample(np.arange(0, 3 * n + 1, 3), np.tile(words, n), np.zeros(n, np.int32))
    topics, *_ = swept(backend, sample, *whole(prior, likelihood), 12)
    seen = np.bincount(np.ravel_multi_index(topics.reshape(n, 3).T, (3, 3, 3)), minlength=27) / n
    exact = np.array([
        np.log(likelihood[words, list(z)]).sum() + gammaln(prior[0] + np.bincount(z, minlength=3)).sum()
        for z in product(range(3), repeat=3)
    ])
    exact = np.exp(exact - exact.max())
    exact /= exact.sum()
    assert np.abs(seen - exact).sum() < 5 * np.sqrt(exact * (1 - exact) / n).sum() / 2
    assert exact.max() < 0.5                                        # there was something to draw


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_are_the_expected_draws_from_the_node(backend: str) -> None:
    drawn = draw(300, seed=3)
    sample = DocumentSample.from_batches([drawn.batch], 10**6)
    rng = np.random.default_rng(0)
    prior, likelihood = whole(rng.gamma(0.5, size=(5, 8)) + 0.01, drawn.topics)
    topics, words, tables = swept(backend, sample, prior, likelihood, 2)
    owner = np.repeat(np.arange(sample.documents), np.diff(sample.indptr))
    counts = np.zeros((sample.documents, 8))
    np.add.at(counts, (owner, topics), 1)
    alpha = prior[sample.nodes] / PRIOR_STEPS
    draws = alpha * (digamma(alpha + counts) - digamma(alpha))
    expected = np.stack([draws[sample.nodes == node].sum(axis=0) for node in range(5)])
    np.testing.assert_allclose(tables / FIXED_POINT, expected, rtol=1e-9, atol=1e-6)
    weighted = np.zeros(likelihood.shape, int)
    np.add.at(weighted, (sample.words, topics), 1 + owner % 3)
    np.testing.assert_array_equal(words, weighted)


def test_both_loops_draw_the_same_from_any_numbers() -> None:
    """Documents of one word and of thousands, priors of next to nothing and of many words, a topic no word likes."""
    rng = np.random.default_rng(2)
    lengths = np.array([1, 1, 2, 3, LONGEST, 40, 700, 5] * 4)
    sample = DocumentSample(
        np.concatenate([[0], np.cumsum(lengths)]), rng.integers(0, 30, lengths.sum()).astype(np.int32),
        np.sort(rng.integers(0, 4, len(lengths))).astype(np.int32),
    )
    likelihood = rng.dirichlet(np.full(30, 0.02), 20).T + 1e-12
    likelihood[:, 7] = 0.0
    prior = np.array([np.full(20, 1 / PRIOR_STEPS), np.full(20, 50.0), rng.gamma(0.1, size=20) + 1e-4, np.ones(20)])
    one, other = (swept(backend, sample, *whole(prior, likelihood), 4) for backend in BACKENDS)
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (np.bincount(one[0], minlength=20) > 0).sum() > 10


@pytest.mark.parametrize("weights", [(64, 64, 64, 64, 64), (64, 1, 37, 64, 901), (64, 1 << 30, 1, 64, 64)])
def test_compiled_or_not_and_any_number_of_threads_give_the_same_bits(weights: tuple[int, ...]) -> None:
    drawn = draw(400, k=6, seed=1)
    sample, start = DocumentSample.from_batches([drawn.batch], 10**6), state_of(drawn, noisy(drawn.topics))
    start = replace(start, node_weight=np.array(weights) / 64)
    one = explored(start, sample, 8, backend="numba")
    for other in (explored(start, sample, 8, backend="numpy"), explored(start, sample, 8, threads=3)):
        np.testing.assert_array_equal(one.statistics, other.statistics)
        np.testing.assert_array_equal(one.hierarchy.proportions, other.hierarchy.proportions)
        np.testing.assert_array_equal(one.hierarchy.concentrations, other.hierarchy.concentrations)
    assert (explored(start, sample, 8, seed=1).statistics != one.statistics).any()


def test_no_sweep_repeats_the_random_numbers_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, seeds, words = draw(20, seed=6), [], 10**5
    start = state_of(drawn, drawn.topics)
    backend = load_backend("numba")

    def note(*given: Any) -> None:
        seeds.append(int(given[9]))
        given[11][:] = 1

    monkeypatch.setattr(backend, "sweep", note)
    explored(start, DocumentSample.from_batches([drawn.batch], 10**6), 30, backend="numba")
    place = np.sort(np.array([seed * pow(int(GOLDEN_GAMMA), -1, 2**64) % 2**64 for seed in seeds], np.uint64))
    assert len(place) == 30
    assert (np.diff(place) > words).all()               # counted in words of one document's generator


def test_a_topic_held_twice_finds_the_one_that_is_missing() -> None:
    drawn = draw(3000, k=6, groups=2, group_concentration=50.0, seed=3)
    true = drawn.topics
    poor = np.column_stack([true[:, [0, 0, 1, 2, 3]], (true[:, 4] + true[:, 5]) / 2])
    start, rounds = state_of(drawn, 0.9 * poor + 0.1 / len(poor)), LocalRounds(drawn.batch, 4)
    sample = DocumentSample.from_batches([drawn.batch], 10**6)

    def worst(state: RefineState) -> float:
        """How far the nearest topic is from the true one that is missed most."""
        for _ in range(2):
            state = refine_pass(state, rounds, RefineSettings(passes=2, rounds=4, first_rate=0.2))
        found = state.topics(0.05)
        return max(min(np.abs(found[:, j] - true[:, i]).sum() / 2 for j in range(6)) for i in range(6))

    assert worst(start) > 0.3
    assert sum(worst(explored(start, sample, 100, seed=seed)) < 0.1 for seed in range(4)) >= 2       # not always


def test_what_the_sample_has_not_is_kept() -> None:
    drawn = draw(600, seed=4)
    words = np.array([0, 1, 2])
    few = batch_of([np.repeat(words, 3) for _ in range(20)], np.ones(20, int), drawn.batch.vocab_size)
    start = state_of(drawn, noisy(drawn.topics))
    after = explored(start, DocumentSample.from_batches([few], 10**6), 4)
    np.testing.assert_array_equal(after.statistics[3:], start.statistics[3:])
    assert (after.statistics[:3] != start.statistics[:3]).any()
    assert after.statistics.sum() == pytest.approx(start.statistics.sum())
    assert after.document_concentration == start.document_concentration


def test_given_concentrations_stay() -> None:
    drawn = draw(300, seed=5)
    start = state_of(drawn, noisy(drawn.topics))
    after = explored(start, DocumentSample.from_batches([drawn.batch], 10**6), 4, learn=False)
    np.testing.assert_array_equal(after.hierarchy.concentrations, start.hierarchy.concentrations)
    assert error(after.topics(0.05), drawn.topics) < 1


def test_a_sample_has_whole_documents_and_no_more_words_than_asked() -> None:
    documents = [np.zeros(4, int), np.zeros(0, int), np.zeros(LONGEST + 1, int), np.array([1, 1, 2]), np.arange(5)]
    batch = batch_of(documents, np.arange(5), 5)
    everything = DocumentSample.from_batches([batch, batch], 10**9)
    assert everything.nodes.tolist() == [0, 3, 4, 0, 3, 4]
    assert everything.words[everything.indptr[1] : everything.indptr[2]].tolist() == [1, 1, 2]
    some = DocumentSample.from_batches([batch, batch], 9)
    assert some.nodes.tolist() == [0, 3]
    assert some.indptr.tolist() == [0, 4, 7]
    for nothing in (DocumentSample.from_batches([], 9), DocumentSample.from_batches([batch], 0)):
        drawn = draw(50)
        start = state_of(drawn, drawn.topics)
        assert nothing.documents == 0
        np.testing.assert_array_equal(explored(start, nothing, 2).statistics, start.statistics)


@pytest.mark.parametrize("wrong", [
    {"sweeps": 0}, {"blur": 1.0}, {"last_total": 30.0}, {"smoothing": 0.0}, {"averaged": 0.0}, {"cooling": 0.0}
])
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="total priors" if "last_total" in wrong else next(iter(wrong))):
        GibbsSettings(**wrong)                                                      # type: ignore[arg-type]


@pytest.mark.parametrize("only_search", [False, True])
@pytest.mark.parametrize("words", [1_000, 10**7])
def test_the_topics_of_all_sweeps_are_counted(words: int, only_search: bool) -> None:
    settings, total, now = GibbsSettings(47, only_search=only_search), 0, 0
    for sweep in range(settings.sweeps):
        now = settings.columns(20, words).get(sweep, now)
        total += now
    assert settings.topic_sweeps(20, words) == total
