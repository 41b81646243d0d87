"""Seeds in a fit: which solved topic they find, which number they get, and what the documents say against them."""

import numpy as np
import pytest

from spectral_spark.data.seeds import checked_seeds
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.seed_report import seed_report, seed_warnings
from spectral_spark.fit.seed_step import final_order, seed_prior, seeded_start
from spectral_spark.fit.topic_matching import match_topics

WORDS = tuple(f"w{number}" for number in range(40))


@pytest.fixture
def topics() -> Topics:
    """Four topics: topic t has the words 10 t … 10 t + 9."""
    blocks = np.kron(np.eye(4), np.ones((10, 1))) * 0.09 + 0.01 / 4
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    return Topics(blocks / blocks.sum(axis=0), weights, np.tile(weights, (2, 1)), (1.0,), 1.0)


def test_seeds_find_their_topics_and_keep_words_out(topics: Topics) -> None:
    seeds = checked_seeds({"topics": [
        {"name": "last", "words": ["w30", "W31"], "not": ["w32"]}, {"name": "second", "words": ["w12"], "topic": 3},
    ]})
    start = seeded_start(topics, seed_prior(seeds, WORDS, 4))
    assert start.topics.argmax(axis=0)[:2].tolist() in ([30, 12], [31, 12])
    assert start.weights.tolist() == [0.1, 0.3, 0.4, 0.2]
    assert np.allclose(start.topics.sum(axis=0), 1.0)
    assert start.topics[32, 0] < 1e-3 * start.topics[33, 0] * 1.1
    assert final_order(start.weights, seeds).tolist() == [0, 2, 3, 1]      # asked for 3; the others heaviest first
    report = seed_report(start, final_order(start.weights, seeds), seeds, WORDS)
    assert [(entry["topic"], entry["name"]) for entry in report["topics"]] == [(0, "last"), (3, "second")]
    assert report["topics"][0]["not"].keys() == {"w32"}


def test_seeds_that_want_the_same_topic_each_get_a_part(topics: Topics) -> None:
    """Both themes are in topic 0; the second seed does not start from a topic about something else."""
    seeds = checked_seeds({"one": ["w0", "w1", "w2"], "two": ["w5", "w6", "w7"]})
    start = seeded_start(topics, seed_prior(seeds, WORDS, 4))
    assert start.weights[:2].sum() == pytest.approx(0.4)
    assert start.weights.sum() == pytest.approx(1.0)
    assert np.allclose(start.node_proportions.sum(axis=1), 1.0)
    assert set(np.argsort(-start.topics[:, 0])[:3]) == {0, 1, 2}
    assert set(np.argsort(-start.topics[:, 1])[:3]) == {5, 6, 7}
    assert start.topics[5, 0] < 1e-3 < start.topics[8, 0] == pytest.approx(start.topics[8, 1])
    assert sorted(start.weights[2:].round(3)) == pytest.approx([0.3, 0.3])      # the two smallest were merged
    full = seeded_start(topics, seed_prior(checked_seeds({
        "one": ["w0", "w1"], "two": ["w5", "w6"], "three": ["w12"], "four": ["w22"]}), WORDS, 4))
    assert sorted(full.weights) == pytest.approx([0.1, 0.2, 0.3, 0.4])           # no topic is left to merge


def test_the_background_takes_what_is_most_like_the_corpus_and_the_last_number(topics: Topics) -> None:
    common = topics.topics.copy()
    common[:, 2] = topics.topics @ topics.weights
    mixed = Topics(common, topics.weights, topics.node_proportions, (1.0,), 1.0)
    seeds = checked_seeds({"topics": [{"name": "first", "words": ["w1"]}], "background": {}})
    start = seeded_start(mixed, seed_prior(seeds, WORDS, 4))
    assert start.weights[:2].tolist() == [0.4, 0.2]
    assert final_order(start.weights, seeds).tolist() == [0, 2, 3, 1]
    assert seed_report(start, final_order(start.weights, seeds), seeds, WORDS)["background"] == 3


def test_a_word_cannot_be_wanted_and_unwanted_in_another_spelling() -> None:
    seeds = checked_seeds({"topics": [{"name": "a", "words": ["W3", "w4"], "not": ["w3"]}]})
    with pytest.raises(InputError, match="'w3' is among both the words of topic 'a' and the words that must not be"):
        seed_prior(seeds, WORDS, 4)


def test_words_that_are_not_there_are_named_with_the_nearest() -> None:
    run = FitRun()
    seeds = checked_seeds({"a": ["w3", "w99x"], "b": ["w5"]})
    seed_prior(seeds, WORDS, 4, run)
    assert "1 of 2 words are not in the vocabulary" in run.warnings[0]
    assert "did you mean 'w9'" in run.warnings[0]
    seed_prior(checked_seeds({"topics": [{"name": "a", "words": ["w3"], "not": ["w98x"]}]}), WORDS, 4, run)
    assert "'w98x' (did you mean 'w9'?)" in run.warnings[1]
    with pytest.raises(InputError, match="none of the words of topic 'a' is in the vocabulary; did you mean 'w1'"):
        seed_prior(checked_seeds({"a": ["w1x"]}), WORDS, 4)
    with pytest.raises(InputError, match="set `vocabulary`"):
        seed_prior(seeds, None, 4)


def test_what_documents_say_against_seeds_is_told(topics: Topics) -> None:
    seeds = checked_seeds({"topics": [{"name": "mixed", "words": ["w0", "w1", "w3", "w35"]}]})
    start = seeded_start(topics, seed_prior(seeds, WORDS, 4))
    small = Topics(start.topics, np.array([0.001, 0.3, 0.3, 0.399]), start.node_proportions, (1.0,), 1.0, {},
                   start.seeds, start.evidence)
    report = seed_report(small, np.arange(4), seeds, WORDS)
    said = seed_warnings(report, 4)
    assert "mostly elsewhere: 'w35' (topic 3" in said[0]
    assert "hardly any words" in said[-1]
    report["topics"][0]["not"]["w2"] = 0.05
    assert any("5.00% of the topic" in text for text in seed_warnings(report, 4))


def test_pinned_topics_keep_their_numbers_however_they_change() -> None:
    old = np.kron(np.eye(4), np.ones((5, 1))) / 5
    new = np.full((20, 3), 0.05)
    new[:, 1] = old[:, 0]
    match = match_topics(new, old, pinned={2: 0})
    assert match.order.tolist()[2] == 0
    assert match.previous.tolist()[0] == 0                               # topic 0 continues as itself
    assert match.order.tolist()[0] == 1
    assert set(match.vanished) <= {1, 3}
