"""Topics merged and split by hand: sums are exact, others stay as they are, and a split finds two themes again."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.data.seeds import checked_seeds
from spectral_spark.errors import InputError
from spectral_spark.files.model_files import NodeTable
from spectral_spark.fit.edit_topics import merge_by_hand, split_by_hand
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_summary import FitSummary
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.lineage import carried_lineage
from tests.refine.corpora import Drawn, draw

PATHS = ((), ("a",), ("b",), ("c",), ("d",))


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return draw(1500, d=150, k=5, groups=4, seed=5)


@pytest.fixture(scope="module")
def model(drawn: Drawn) -> FittedTopics:
    """The true topics, as if they had been fitted."""
    nodes = np.vstack([drawn.groups.mean(axis=0), drawn.groups])
    seeds = checked_seeds({"topics": [{"name": "one", "words": ["w1"], "topic": 1}, {"name": "four", "words": ["w2"]}]})
    entries = [{"topic": topic, "name": name, "share": 0.1, "kept": 1, "not": {}, "not_in_vocabulary": 0,
                "words": [{"word": word, "kept": True, "here": 1.0, "most": topic, "share_there": 1.0}]}
               for topic, name, word in ((1, "one", "w1"), (4, "four", "w2"))]
    summary = FitSummary(
        5, 1500, 150, int(drawn.batch.counts.sum()), {}, 1.0, [], "tokens", "polar", [], 0.0, [], {}, 0, {},
        document_concentration=1.0, settings=FitSettings(k="auto", seeds=seeds).as_dict(),
        seeds={"topics": entries, "background": None},
    )
    return FittedTopics(
        drawn.topics, drawn.groups.mean(axis=0), tuple(f"w{i}" for i in range(150)),
        NodeTable(PATHS, np.full(5, 300), np.ones(5), nodes), summary, None, 1.0, labels={1: "one", 4: "four"},
    )


def test_a_merge_adds_up_and_leaves_the_others_alone(model: FittedTopics) -> None:
    merged = merge_by_hand(model, [[3, 1]])
    assert merged.topics.shape == (150, 4)
    both = model.topics[:, 1] * model.weights[1] + model.topics[:, 3] * model.weights[3]
    assert np.allclose(merged.topics[:, 1] * merged.weights[1], both, rtol=1e-14)
    assert merged.weights[1] == model.weights[1] + model.weights[3]
    assert np.array_equal(merged.nodes.proportions[:, 1], model.nodes.proportions[:, [1, 3]].sum(axis=1))
    assert np.array_equal(merged.topics[:, [0, 2, 3]], model.topics[:, [0, 2, 4]])
    assert merged.summary.lineage == ["0", "1+3", "2", "4"]
    assert dict(merged.labels) == {1: "one", 3: "four"}
    assert merged.summary.settings["k"] == merged.summary.k == 4
    assert [entry["topic"] for entry in merged.summary.seeds["topics"]] == [1, 3]
    assert [topic["topic"] for topic in merged.summary.settings["seeds"]["topics"]] == [1, 3]


def test_seeded_topics_that_are_merged_share_their_words(model: FittedTopics) -> None:
    merged = merge_by_hand(model, [[1, 4]])
    (seeds,) = merged.summary.settings["seeds"]["topics"]
    assert seeds["words"].keys() == {"w1", "w2"}
    assert merged.labels[1] in ("one / four", "four / one")
    assert len(merged.summary.seeds["topics"]) == 1


@pytest.mark.parametrize(("groups", "message"), [
    ([[1]], "at least two"), ([[1, 9]], "no topic 9"), ([[0, 1], [1, 2]], "merged twice"),
    ([[0, 1, 2, 3, 4]], "single"),
])
def test_what_cannot_be_merged_is_refused(model: FittedTopics, groups: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        merge_by_hand(model, groups)


def test_a_split_tells_two_merged_themes_apart_again(drawn: Drawn, model: FittedTopics) -> None:
    merged = merge_by_hand(model, [[0, 2]])
    split = split_by_hand(merged, 0, drawn.batch, PATHS)
    again = split_by_hand(merged, 0, drawn.batch, PATHS)
    assert np.array_equal(split.topics, again.topics)
    parts = split.topics[:, [0, 4]] * split.weights[[0, 4]]
    assert np.allclose(parts.sum(axis=1), merged.topics[:, 0] * merged.weights[0], rtol=1e-12)
    assert split.weights[[0, 4]].sum() == pytest.approx(merged.weights[0], rel=1e-14)
    assert np.allclose(split.nodes.proportions[:, [0, 4]].sum(axis=1), merged.nodes.proportions[:, 0], rtol=1e-14)
    assert np.array_equal(split.topics[:, 1:4], merged.topics[:, 1:])
    assert split.summary.lineage == ["(0+2)a", "1", "3", "4", "(0+2)b"]
    truth = drawn.topics[:, [0, 2]]
    distance = 0.5 * np.abs(split.topics[:, [0, 4]][:, :, None] - truth[:, None, :]).sum(axis=0)
    assert sorted(distance.argmin(axis=1).tolist()) == [0, 1]
    assert distance.min(axis=1).max() < 0.25                         # 900 words per theme: a quarter is sampling noise


def test_the_part_with_the_seeds_keeps_the_number(drawn: Drawn, model: FittedTopics) -> None:
    merged = merge_by_hand(model, [[1, 2]])
    for theme in (1, 2):
        word = f"w{int(drawn.topics[:, theme].argmax())}"
        entry = {**merged.summary.seeds["topics"][0], "words": [{"word": word, "most": 1}]}
        seeds = {"topics": [entry, *merged.summary.seeds["topics"][1:]], "background": None}
        split = split_by_hand(replace(merged, summary=replace(merged.summary, seeds=seeds)), 1, drawn.batch, PATHS)
        kept, other = (np.abs(split.topics[:, at] - drawn.topics[:, theme]).sum() for at in (1, 4))
        assert kept < other


def test_too_few_words_cannot_be_split(drawn: Drawn, model: FittedTopics) -> None:
    few = replace(drawn.batch, indptr=drawn.batch.indptr[:4], nodes=drawn.batch.nodes[:3], keys=drawn.batch.keys[:3])
    few = replace(few, terms=few.terms[: few.indptr[-1]], counts=few.counts[: few.indptr[-1]])
    with pytest.raises(InputError, match="too few"):
        split_by_hand(model, 0, few, PATHS)


def test_lineage_is_carried_on() -> None:
    assert carried_lineage([], np.array([0, 1])) == []
    assert carried_lineage(["0+2", "1"], np.array([1, -1, 0])) == ["1", "new", "0+2"]
