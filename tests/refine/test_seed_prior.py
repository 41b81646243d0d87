"""Words that people gave to topics: where they pull, what they never change, and that nobody can tell who sampled."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.refine import DocumentSample, GibbsSampler, GibbsSettings, RefineSettings, RefineState
from spectral_spark.refine.em_kernel import RefineAccumulator, RefineKernel
from spectral_spark.refine.em_passes import drop_dead, shared_arrays
from spectral_spark.refine.seed_prior import FINAL, SeedPrior
from spectral_spark.refine.topic_counts import likelihood_steps
from spectral_spark.refine.topic_merging import merge_labels, split_heaviest
from tests.refine.corpora import LocalRounds, draw, noisy, refine_pass, settle_pass

D, K, PULLED, KEPT_OUT = 120, 6, 5, 4


@pytest.fixture(scope="module")
def seeded() -> tuple[np.ndarray, RefineState, DocumentSample, LocalRounds]:
    """Seeds from two true topics for columns that start near others; words of topic 0 are kept out of the first."""
    drawn = draw(600, d=D, k=K, seed=3)
    pull, allowed = np.zeros((D, 2)), np.ones((D, 2))
    for column, topic in enumerate((4, 2)):
        pull[np.argsort(-drawn.topics[:, topic])[:PULLED], column] = 0.5
    allowed[np.argsort(-drawn.topics[:, 0])[:KEPT_OUT], 0] = 1e-3
    allowed[pull[:, 0] > 0, 0] = 1.0
    start = RefineState.start(
        noisy(drawn.topics, 0.95), np.full(K, 1 / K), drawn.parent, drawn.level,
        float(drawn.batch.counts.sum()), 600.0, seeds=SeedPrior(pull, allowed),
    )
    return drawn.topics, start, DocumentSample.from_batches([drawn.batch], 10**6), LocalRounds(drawn.batch, 2)


def sampled(start: RefineState, sample: DocumentSample, threads: int = 1, backend: str = "auto") -> RefineState:
    sampler = GibbsSampler(start, sample, GibbsSettings(30), RefineSettings(backend=backend), seed=1, threads=threads)
    for _ in range(30):
        sampler.sweep()
    return sampler.state()


def test_seeded_topics_become_what_their_words_are_about(seeded: tuple) -> None:
    truth, start, sample, rounds = seeded
    settings = RefineSettings(rounds=1)
    state = settle_pass(refine_pass(sampled(start, sample), rounds, settings), rounds, settings)
    topics = state.topics(settings.final_smoothing)
    distance = np.abs(truth[:, None, :] - topics[:, :, None]).sum(axis=0)
    assert distance[:2].argmin(axis=1).tolist() == [4, 2]
    out = start.seeds.allowed[:, 0] < 1.0
    assert topics[out, 0].sum() < 0.02 < truth[out, 0].sum()
    alone = sampled(replace(start, seeds=None), sample).topics(0.05)
    assert np.abs(truth[:, None, :] - alone[:, :, None]).sum(axis=0)[:2].argmin(axis=1).tolist() != [4, 2]


def test_topics_that_fit_the_seeds_come_first(seeded: tuple) -> None:
    truth, start, *_ = seeded
    counts = truth[:, [1, 3, 4, 2, 0, 5]] * np.array([8.0, 1, 1, 1, 1, 1])         # a large topic does not win by size
    assert start.seeds.chosen_first(counts).tolist() == [2, 3, 0, 1, 4, 5]


def test_threads_and_backends_sample_the_same_bits(seeded: tuple) -> None:
    _, start, sample, _ = seeded
    one = sampled(start, sample)
    assert np.array_equal(one.statistics, sampled(start, sample, threads=2).statistics)


def test_pseudo_counts_are_no_part_of_the_statistics(seeded: tuple) -> None:
    _, start, sample, rounds = seeded
    state = settle_pass(sampled(start, sample), rounds)
    assert state.statistics.sum() == pytest.approx(state.tokens)
    frequency = np.bincount(sample.words, minlength=D)
    assert np.allclose(state.statistics.sum(axis=1), frequency)         # every word as often as the documents have it
    seeds = start.seeds
    expected = state.statistics + 0.05
    expected[:, :2] = (state.statistics[:, :2] + FINAL * seeds.pull * frequency[:, None]) * seeds.allowed + 0.05
    assert np.allclose(state.topics(0.05), expected / expected.sum(axis=0))


def test_a_mini_batch_sees_the_topics_with_their_prior(seeded: tuple) -> None:
    _, start, *_ = seeded
    kernel = RefineKernel(smoothing=0.3)
    accumulator = RefineAccumulator(kernel, shared_arrays(start, RefineSettings()))
    terms = np.array([0, 7, 50, 119])
    rows = accumulator._topics_of(terms, start.statistics[terms].copy())
    pseudo = np.zeros((D, K))
    pseudo[:, :2] = start.seeds.pull * start.statistics.sum(axis=1, keepdims=True)
    counts = start.statistics + pseudo
    counts[:, :2] *= start.seeds.allowed
    totals = start.statistics.sum(axis=0) + pseudo.sum(axis=0) + 0.3 * D
    assert np.allclose(rows, (counts[terms] + 0.3) / totals)


def test_no_seeds_leave_every_bit_as_it_was(seeded: tuple) -> None:
    _, start, *_ = seeded
    without = replace(start, seeds=None)
    assert not any(name.startswith("seed") for name in (*without.arrays(), *shared_arrays(without, RefineSettings())))
    nothing = SeedPrior(np.zeros((D, 2)), np.ones((D, 2)))
    assert np.array_equal(likelihood_steps(start.statistics, 0.05), likelihood_steps(start.statistics, 0.05, nothing))
    again = RefineState.from_arrays(start.arrays())
    assert again.seeds is not None
    assert np.array_equal(again.seeds.pull, start.seeds.pull)


def test_seeded_topics_are_neither_merged_nor_split_nor_dropped(seeded: tuple) -> None:
    truth, start, *_ = seeded
    counts = np.hstack([truth[:, [0, 0, 1, 1, 2, 3]] * 1000.0, np.full((D, 1), 1e-6)])
    labels = merge_labels(counts, 4, fixed=2)
    assert labels[0] == 0
    assert labels[1] == 1
    assert not {0, 1} & set(labels[2:])
    assert labels[2] == labels[3]                                       # the others are merged as ever
    wide = split_heaviest(counts * [9, 9, 1, 1, 1, 1, 1], 9, 0, fixed=2)
    assert np.array_equal(wide[:, :2], counts[:, :2] * 9)
    tiny = start.statistics * np.array([1e-9, 1, 1, 1, 1e-9, 1])
    alive = drop_dead(replace(start, statistics=tiny), RefineSettings())
    assert alive.topic_ids.tolist() == [0, 1, 2, 3, 5]
