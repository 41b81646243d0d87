"""A taxonomy folds topics at the least loss of information, level into level, and its file is not trusted."""

import json
from typing import Any

import numpy as np
import pytest

from spectral_spark.answers.taxonomy import fold_topics
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.files.taxonomy_file import checked_taxonomy, taxonomy_text
from spectral_spark.report.taxonomy_view import Taxonomy, carried, taxonomy_of


@pytest.fixture(scope="module")
def files() -> TopicModelFiles:
    """Nine topics: three families of three that share most of their words."""
    rng = np.random.default_rng(2)
    families = rng.dirichlet(np.full(90, 0.2), 3)
    topics = np.array([0.7 * families[t // 3] + 0.3 * rng.dirichlet(np.full(90, 0.2)) for t in range(9)]).T
    weights = rng.dirichlet(np.full(9, 5.0))
    return TopicModelFiles(
        topics, weights, tuple(f"w{i}" for i in range(90)),
        NodeTable(((),), np.array([10]), np.array([10.0]), weights[None]), {"k": 9}, labels={4: "a name"},
    )


def information(topics: np.ndarray, weights: np.ndarray) -> float:
    mean = topics @ weights
    return float((weights * np.where(topics > 0, topics * np.log(topics / mean[:, None]), 0).sum(axis=0)).sum())


def test_families_are_found_and_levels_are_nested(files: TopicModelFiles) -> None:
    folding = fold_topics(files.topics, files.weights, [5, 3])
    top = [node for node in folding.nodes if node.level == 0]
    assert sorted(node.topics for node in top) == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    for node in folding.nodes:
        assert node.share == pytest.approx(files.weights[list(node.topics)].sum())
        if node.parent is not None:
            assert set(node.topics) <= set(folding.nodes[node.parent].topics)
    lower = [node for node in folding.nodes if node.level == 1]
    assert sorted(topic for node in lower for topic in node.topics) == list(range(9))
    assert len(lower) == 5


def test_the_first_merge_loses_the_least_information_of_all(files: TopicModelFiles) -> None:
    """Brute force over all pairs, with the Jensen–Shannon divergence written out."""
    def loss(i: int, j: int) -> float:
        pair, share = files.topics[:, [i, j]], files.weights[[i, j]]
        return float(share.sum() * information(pair, share / share.sum()))

    losses = {(i, j): loss(i, j) for i in range(9) for j in range(i + 1, 9)}
    best = min(losses, key=losses.__getitem__)
    folding = fold_topics(files.topics, files.weights, [8])
    assert best in [node.topics for node in folding.nodes]
    whole = information(files.topics, files.weights)
    assert folding.information[0] == pytest.approx(1 - losses[best] / whole, abs=1e-12)


def test_a_topic_apart_stays_alone(files: TopicModelFiles) -> None:
    folding = fold_topics(files.topics, files.weights, [3], apart=1)
    assert (1,) in [node.topics for node in folding.nodes]
    assert len(folding.nodes) == 3


@pytest.mark.parametrize("levels", [[], [1], [9], [3, 12]])
def test_impossible_levels_are_refused(files: TopicModelFiles, levels: list[int]) -> None:
    with pytest.raises(SettingsError, match="from 2 to 8"):
        fold_topics(files.topics, files.weights, levels)


def test_the_file_brings_back_the_same_tree(files: TopicModelFiles) -> None:
    made = taxonomy_of(files, [3, 8])
    stored = checked_taxonomy(json.loads(taxonomy_text(made.as_dict())), "taxonomy.json", 9)
    assert Taxonomy.from_dict(stored) == made
    alone = [node for node in made.nodes if node.topics == (4,)]
    assert all(node.label == "a name" for node in alone)
    assert all(len(node.words) == 10 and node.label for node in made.nodes)
    assert len(repr(made).splitlines()) == 11


def test_names_of_nodes_stay_with_their_topics_after_an_update(files: TopicModelFiles) -> None:
    stored = taxonomy_of(files, [3]).as_dict()
    stored["nodes"][0]["label"] = "people's name"
    order = [8, 0, 1, 2, 3, 4, 5, 6, 7]
    moved = TopicModelFiles(files.topics[:, order], files.weights[order], files.vocabulary, files.nodes, {})
    now = carried(stored, moved, dict(enumerate(order)))
    assert now is not None
    named = [node for node in now.nodes if node.label == "people's name"]
    assert {order[topic] for topic in named[0].topics} == set(stored["nodes"][0]["topics"])


def damaged(change: Any) -> Any:
    nodes = [{"level": 0, "parent": None, "topics": [0, 1], "share": 0.5, "label": "a", "words": ["x"]},
             {"level": 0, "parent": None, "topics": [2], "share": 0.5, "label": "b", "words": ["y"]}]
    value: dict[str, Any] = {"version": 1, "levels": [2], "information": [0.5], "nodes": nodes}
    change(value)
    return value


@pytest.mark.parametrize("change", [
    lambda v: v.update(version=2), lambda v: v.update(levels=[2, 2]), lambda v: v.update(levels=[True]),
    lambda v: v.update(information=[]), lambda v: v.update(information=["1"]), lambda v: v["nodes"].pop(),
    lambda v: v["nodes"][0].update(topics=[0, 2]), lambda v: v["nodes"][0].update(topics=[0, 1e9]),
    lambda v: v["nodes"][0].update(label="x" * 201), lambda v: v["nodes"][0].update(label=3),
    lambda v: v["nodes"][0].update(words=[1]), lambda v: v["nodes"][0].update(words=["x"] * 101),
    lambda v: v["nodes"][1].update(parent=0), lambda v: v["nodes"][0].update(parent=1),
    lambda v: v["nodes"][0].update(share=float("nan")), lambda v: v["nodes"][0].update(level=[0]),
    lambda v: v.clear(),
])
def test_a_file_that_is_no_taxonomy_is_refused(change: Any) -> None:
    assert checked_taxonomy(damaged(lambda _: None), "taxonomy.json", 3)
    with pytest.raises(InputError, match="not the taxonomy of this model"):
        checked_taxonomy(damaged(change), "taxonomy.json", 3)
