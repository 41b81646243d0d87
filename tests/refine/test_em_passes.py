"""Whole passes on drawn corpora: topics get better, shards do not hurt, the tree pays, nothing depends on luck."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import SettingsError
from spectral_spark.refine import RefineSettings, RefineState, drop_dead, infer
from tests.refine.corpora import Drawn, LocalRounds, draw, error, noisy, part, refine_pass, settle_pass


def start(drawn: Drawn, topics: np.ndarray, flat: bool = False) -> RefineState:
    k = topics.shape[1]
    parent, level = (drawn.parent[:1], drawn.level[:1]) if flat else (drawn.parent, drawn.level)
    tokens, documents = drawn.batch.counts.sum(), drawn.batch.n_documents
    return RefineState.start(topics, np.full(k, 1 / k), parent, level, tokens, documents)


def refined(drawn: Drawn, settings: RefineSettings, shards: int = 1, state: RefineState | None = None) -> RefineState:
    state = state or start(drawn, noisy(drawn.topics))
    for _ in range(settings.passes):
        state = refine_pass(state, LocalRounds(drawn.batch, shards), settings)
    return state


def loss(batch: CountBatch, topics: np.ndarray, node_prior: np.ndarray, concentration: float) -> float:
    """Completion loss; every second word of a document is hidden."""
    counts = batch.matrix.toarray()
    seen = np.zeros_like(counts)
    seen[:, ::2] = counts[:, ::2]
    rows, terms = np.nonzero(seen)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(counts)))])
    observed = replace(batch, indptr=ends, terms=terms.astype(np.int32), counts=seen[rows, terms])
    hidden = counts - seen
    theta = infer(observed, topics, node_prior, concentration)
    return float(-(hidden * np.log(theta @ topics.T)).sum() / hidden.sum())


@pytest.fixture(scope="module")
def corpus() -> Drawn:
    return draw(4000, seed=10)


@pytest.mark.parametrize("shards", [1, 4, 16])
def test_refinement_finds_the_topics_in_any_number_of_shards(corpus: Drawn, shards: int) -> None:
    settings = RefineSettings(passes=2, rounds=4, batch_size=32)
    blurred = noisy(corpus.topics)
    assert error(blurred, corpus.topics) > 0.4
    after = refined(corpus, settings, shards)
    assert error(after.topics(settings.smoothing), corpus.topics) < 0.06


def test_group_proportions_and_concentrations_are_learnt(corpus: Drawn) -> None:
    after = refined(corpus, RefineSettings(passes=3, rounds=4, batch_size=32), 4)
    np.testing.assert_allclose(after.hierarchy.proportions[1:], corpus.groups, atol=0.08)
    assert after.document_concentration == pytest.approx(1.0, rel=0.35)      # drawn with 1
    assert after.hierarchy.concentrations[0] < 20


def test_settling_is_one_exact_step_whatever_the_shards(corpus: Drawn) -> None:
    settings = RefineSettings(passes=1, rounds=4, batch_size=32)
    noisy_end = refined(corpus, settings, 4)
    one, many = (settle_pass(noisy_end, LocalRounds(corpus.batch, shards), settings) for shards in (1, 16))
    np.testing.assert_allclose(many.statistics, one.statistics, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(many.hierarchy.proportions, one.hierarchy.proportions, rtol=1e-10)
    assert one.statistics.sum() == pytest.approx(corpus.batch.counts.sum())
    settled, before = (error(state.topics(settings.smoothing), corpus.topics) for state in (one, noisy_end))
    assert settled < before
    assert settle_pass(noisy_end, lambda *_: {}, settings) is noisy_end


def test_the_tree_lowers_the_loss_of_unseen_documents() -> None:
    drawn = draw(3000, groups=6, group_concentration=1.5, length=12, seed=11)
    train, test = (replace(drawn, batch=part(drawn.batch, rows)) for rows in (np.arange(2500), np.arange(2500, 3000)))
    settings = RefineSettings(passes=2, rounds=4, batch_size=32)
    deep = refined(train, settings, 4)
    without = replace(train, batch=replace(train.batch, nodes=np.zeros(2500, np.int32)))
    flat = refined(without, settings, 4, start(train, noisy(train.topics), flat=True))
    smoothing = settings.smoothing
    rooted = replace(test.batch, nodes=np.zeros(500, np.int32))
    with_tree = loss(test.batch, deep.topics(smoothing), deep.hierarchy.proportions, deep.document_concentration)
    no_tree = loss(rooted, flat.topics(smoothing), flat.hierarchy.proportions, flat.document_concentration)
    assert with_tree < no_tree - 0.02


def test_backends_give_the_same_model_to_rounding(corpus: Drawn) -> None:
    small = replace(corpus, batch=part(corpus.batch, np.arange(600)))
    begin = replace(start(small, noisy(small.topics)), node_weight=np.array([64, 16, 100, 64, 240]) / 64)
    models = [
        refined(small, RefineSettings(passes=2, rounds=2, batch_size=64, backend=name), 2, begin).topics(0.3)
        for name in ("numba", "numpy")
    ]
    np.testing.assert_allclose(models[0], models[1], atol=1e-8)


def test_the_same_twice_is_the_same_bits(corpus: Drawn) -> None:
    small = replace(corpus, batch=part(corpus.batch, np.arange(800)))
    one, two = (refined(small, RefineSettings(passes=1, rounds=4), 4).arrays() for _ in range(2))
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])


def test_dead_topics_are_dropped_and_reported(corpus: Drawn) -> None:
    unused = np.zeros((200, 1))
    unused[np.asarray(corpus.batch.matrix.sum(axis=0)).ravel().argmin()] = 1.0
    topics = np.hstack([noisy(corpus.topics)[:, :3], unused, noisy(corpus.topics)[:, 3:]])
    settings = RefineSettings(passes=2, rounds=4, batch_size=64)
    after = drop_dead(refined(corpus, settings, 2, start(corpus, topics)), settings)
    assert after.topic_ids.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert after.topics(settings.smoothing).shape == (200, 8)
    assert after.hierarchy.proportions.shape == (5, 8)
    np.testing.assert_allclose(after.hierarchy.proportions.sum(axis=1), 1.0)
    for name, array in after.arrays().items():
        assert array.flags.c_contiguous, f"a resumed run would sum '{name}' in another order"


def test_more_rounds_than_documents_is_no_trouble() -> None:
    tiny = draw(5)
    after = refined(tiny, RefineSettings(passes=1, rounds=8), 2)
    assert np.isfinite(after.statistics).all()
    assert after.passes == 1
    assert refine_pass(start(tiny, noisy(tiny.topics)), lambda *_: {}).passes == 1       # no round had documents


def test_state_survives_the_trip_through_arrays(corpus: Drawn) -> None:
    settings = RefineSettings(passes=2, rounds=2)
    small = replace(corpus, batch=part(corpus.batch, np.arange(300)))
    half = refine_pass(start(small, noisy(small.topics)), LocalRounds(small.batch, 2), settings)
    again = RefineState.from_arrays(half.arrays())
    one, two = (refine_pass(state, LocalRounds(small.batch, 2), settings).arrays() for state in (half, again))
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])


def test_rates_fall_over_all_passes() -> None:
    settings = RefineSettings(passes=2, rounds=3, first_rate=0.5, last_rate=0.05)
    rates = [settings.rate(finished) for finished in range(8)]
    assert rates[0] == pytest.approx(0.5)
    assert rates[5] == rates[7] == pytest.approx(0.05)
    np.testing.assert_allclose(np.diff(np.log(rates[:6])), np.log(0.1) / 5)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"rounds": 0}, "rounds is 0"), ({"smoothing": 0.0}, "smoothing is 0.0"), ({"first_rate": 1.5}, "rates 1.5"),
     ({"first_rate": 0.01}, "must fall"), ({"backend": "cuda"}, "'cuda' is unknown")],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        RefineSettings(**wrong)     # type: ignore[arg-type]


def test_a_small_shard_gets_fewer_rounds() -> None:
    rounds = [RefineSettings.for_corpus(2, documents).rounds for documents in (10, 300, 930, 5_000)]
    assert rounds == [1, 1, 3, 8]
