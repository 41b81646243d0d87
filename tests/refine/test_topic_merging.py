"""Surplus topics: split, merged to what was asked for, and worth it."""

from itertools import combinations

import numpy as np
import pytest

from spectral_spark.errors import SettingsError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.refine import (
    DocumentSample,
    GibbsSampler,
    GibbsSettings,
    RefineSettings,
    RefineState,
    gibbs_settings,
    topic_merging,
)
from spectral_spark.refine.topic_merging import merge_labels, merged, split_heaviest
from tests.refine.corpora import Drawn, draw


def loss_of_merging(counts: np.ndarray, parts: list[list[int]]) -> float:
    """By how much the likelihood of the words falls when topics are pooled, from its definition."""
    def likelihood(column: np.ndarray) -> float:
        some = column[column > 0]
        return float((some * np.log(some / some.sum())).sum())

    apart = sum(likelihood(counts[:, i]) for part in parts for i in part)
    return apart - sum(likelihood(counts[:, part].sum(axis=1)) for part in parts)


def test_the_pair_that_loses_least_is_merged_first() -> None:
    counts = np.random.default_rng(0).integers(0, 50, (30, 6)).astype(float)
    labels = merge_labels(counts, 5)
    costs = {pair: loss_of_merging(counts, [list(pair)]) for pair in combinations(range(6), 2)}
    i, j = min(costs, key=lambda pair: costs[pair])
    assert labels[i] == labels[j]
    assert sorted(set(labels.tolist())) == [0, 1, 2, 3, 4]


def test_every_merge_is_the_cheapest_of_those_left() -> None:
    counts = np.random.default_rng(1).gamma(0.3, 40, (40, 9))
    parts = [[i] for i in range(9)]
    while len(parts) > 3:
        pairs = [(loss_of_merging(counts, [p + q]) - loss_of_merging(counts, [p]) - loss_of_merging(counts, [q]), p, q)
                 for p, q in combinations(parts, 2)]
        _, one, other = min(pairs)
        parts = [part for part in parts if part not in (one, other)] + [one + other]
        labels = merge_labels(counts, len(parts))
        assert {frozenset(np.flatnonzero(labels == label)) for label in set(labels)} == {frozenset(p) for p in parts}


def test_topics_that_were_split_are_put_together_again() -> None:
    drawn = draw(300, seed=3)
    topics = drawn.topics * np.arange(8, 0, -1) * 10_000
    wide = split_heaviest(topics, 12, seed=1)
    assert (wide >= 0).all()
    labels = merge_labels(wide, 8)
    np.testing.assert_array_equal(labels[:8], np.arange(8))
    np.testing.assert_array_equal(labels[8:], np.arange(4))             # the four heaviest were the first
    np.testing.assert_allclose(merged(wide, labels), topics, rtol=1e-12)
    assert (split_heaviest(topics, 12, seed=2) != wide).any()


@pytest.mark.parametrize("fixed", [0, 2])
def test_threads_and_blocks_of_rows_change_no_bit(fixed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(2).gamma(0.3, 40, (500, 17))
    expected = [merge_labels(counts, k, fixed) for k in range(3, 17)]
    whole = topic_merging._likelihood(counts, counts[:, 3])
    monkeypatch.setattr(topic_merging, "_BLOCK_CELLS", 64)
    assert topic_merging._likelihood(counts, counts[:, 3]).tobytes() == whole.tobytes()
    for k, labels in zip(range(3, 17), expected, strict=True):
        np.testing.assert_array_equal(merge_labels(counts, k, fixed, threads=3), labels)


def test_nothing_to_merge_changes_nothing() -> None:
    counts = np.random.default_rng(0).random((5, 4))
    np.testing.assert_array_equal(merge_labels(counts, 4), np.arange(4))
    np.testing.assert_array_equal(merge_labels(np.zeros((5, 4)), 2).max(), 1)


def test_surplus_only_where_there_are_words_and_sweeps_enough() -> None:
    settings, many = GibbsSettings(100), gibbs_settings.WORDS_PER_TOPIC * 75
    assert settings.columns(50, many) == {0: 75, 30: 60, 45: 50}
    assert settings.draws(50, many) == pytest.approx(many * 70)                # 60 of 100 sweeps over half
    assert settings.draws(50, many - 1) == (many - 1) * 100
    assert settings.columns(50, many - 1) == {0: 50}
    assert GibbsSettings(9).columns(50, many) == {0: 50}
    assert GibbsSettings(100, surplus=0.0).columns(50, many) == {0: 50}
    assert GibbsSettings(10).columns(1, many) == {0: 1}
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(SettingsError, match="surplus"):
            GibbsSettings(100, surplus=wrong)


def explored(drawn: Drawn, start: np.ndarray, surplus: float, *, backend: str = "auto", threads: int = 1,
             seed: int = 0, sweeps: int = 60) -> RefineState:
    k, batch = start.shape[1], drawn.batch
    state = RefineState.start(
        start, np.full(k, 1 / k), drawn.parent, drawn.level, float(batch.counts.sum()), float(batch.n_documents)
    )
    explorer = GibbsSampler(
        state, DocumentSample.from_batches([batch], 10**7), GibbsSettings(sweeps, surplus=surplus),
        RefineSettings(backend=backend), seed=seed, threads=threads,
    )
    for _ in range(sweeps):
        explorer.sweep()
    return explorer.state()


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gibbs_settings, "WORDS_PER_TOPIC", 1)


@pytest.mark.usefixtures("few_words")
def test_the_same_bits_from_any_loop_and_any_number_of_threads() -> None:
    drawn = draw(200, seed=5)
    states = [explored(drawn, drawn.topics, 0.5, backend=backend, threads=threads, sweeps=12)
              for backend, threads in (("numba", 1), ("numba", 3), ("numpy", 2))]
    for other in states[1:]:
        assert other.statistics.tobytes() == states[0].statistics.tobytes()
        assert other.hierarchy.proportions.tobytes() == states[0].hierarchy.proportions.tobytes()
    assert states[0].k == drawn.topics.shape[1]
    np.testing.assert_allclose(states[0].hierarchy.proportions.sum(axis=1), 1.0)


@pytest.mark.usefixtures("few_words")
def test_every_second_document_is_searched_then_all_are_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, seen = draw(101, seed=2), []
    draw_words = GibbsSampler.draw

    def watched(self: GibbsSampler, likelihood: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, tables = draw_words(self, likelihood)
        seen.append((likelihood.shape[1], int(counts.sum()) // 64, self._cold))
        return counts, tables

    monkeypatch.setattr(GibbsSampler, "draw", watched)
    explored(drawn, drawn.topics, 0.5, sweeps=20)
    half, everything = int(drawn.batch.lengths[::2].sum()), int(drawn.batch.lengths.sum())
    assert [topics for topics, *_ in seen] == [12] * 6 + [9] * 3 + [8] * 11
    assert [words for _, words, _ in seen] == [half] * 12 + [everything] * 8
    assert [number for number, (*_, cold) in enumerate(seen) if cold] == [0, 12]


@pytest.mark.usefixtures("few_words")
@pytest.mark.parametrize(("k", "surplus"), [(8, 1.0), (3, 0.5), (2, 0.5), (1, 1.0)])
def test_as_many_topics_come_out_as_went_in(k: int, surplus: float) -> None:
    drawn = draw(100, k=k, seed=1)
    state = explored(drawn, drawn.topics, surplus, sweeps=10)
    assert state.statistics.shape == drawn.topics.shape
    assert state.hierarchy.proportions.shape[1] == k
    assert np.isfinite(state.statistics).all()


@pytest.mark.usefixtures("few_words")
def test_a_surplus_finds_what_two_topics_in_one_hide() -> None:
    """The start has one topic twice and two topics in one: with as many topics as asked for few tries find the way."""
    found = {0.0: 0, 0.5: 0}
    for seed in range(6):
        drawn = draw(1500, seed=seed)
        start = drawn.topics.copy()
        start[:, 0] = (start[:, 0] + start[:, 1]) / 2
        start[:, 1] = start[:, 2]
        for surplus in found:
            state = explored(drawn, start, surplus, seed=seed)
            found[surplus] += recovery(state.topics(0.05), drawn.topics).error < 0.1
    assert found[0.5] >= found[0.0] + 2
    assert found[0.5] >= 4
