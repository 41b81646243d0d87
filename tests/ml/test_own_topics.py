"""Seeds, edits and taxonomies through the public classes: they are saved, and updates carry them on."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel, TopicModel
from spectral_spark.errors import InputError
from spectral_spark.ingest.simulate import SimulatedCorpus

WORDS = [f"w{number}" for number in range(300)]
SETTINGS = {
    "k": 5, "termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabulary": WORDS,
    "exploreSweeps": 12, "refinePasses": 1,
}


@pytest.fixture(scope="module")
def half(documents: DataFrame) -> tuple[DataFrame, DataFrame]:
    even = F.substring("doc_id", 2, 9).cast("int") % 2 == 0
    return documents.filter(even), documents.filter(~even)


@pytest.fixture(scope="module")
def true_topics(simulated: SimulatedCorpus) -> np.ndarray:
    return simulated.topics


@pytest.fixture(scope="module")
def themes(true_topics: np.ndarray) -> dict[str, object]:
    """Words of two true topics, for the numbers 3 and 0."""
    best = [[WORDS[word] for word in np.argsort(-true_topics[:, topic])[:6]] for topic in (0, 1)]
    return {"topics": [{"name": "zero", "words": best[0], "topic": 3}, {"name": "one", "words": best[1]}],
            "background": {}}


@pytest.fixture(scope="module")
def seeded(half: tuple[DataFrame, DataFrame], themes: dict[str, object]) -> SpectralHDPModel:
    return SpectralHDP(seeds=themes, **SETTINGS).fit(half[0])


def nearest_truth(model: SpectralHDPModel, topic: int, truth: np.ndarray) -> int:
    return int(np.abs(truth - model.topicsMatrix()[:, [topic]]).sum(axis=0).argmin())


def test_seeded_topics_have_their_names_and_numbers(
    seeded: SpectralHDPModel, true_topics: np.ndarray, tmp_path: Path
) -> None:
    assert [seeded.labels[topic] for topic in (3, 0, 4)] == ["zero", "one", "background"]
    assert [nearest_truth(seeded, topic, true_topics) for topic in (3, 0)] == [0, 1]
    assert [entry["topic"] for entry in seeded.summary.seeds["topics"]] == [3, 0]
    assert all(entry["kept"] == 6 for entry in seeded.summary.seeds["topics"])
    assert "'zero' is topic 3 (6 of 6 words kept)" in repr(seeded.summary)
    seeded.save(str(tmp_path / "model"))
    again = SpectralHDPModel.load(str(tmp_path / "model"))
    assert again.labels == seeded.labels
    assert again.files.background == 4
    assert again.summary.seeds == seeded.summary.seeds
    assert TopicModel.load(str(tmp_path / "model")).k == 5


def test_exemplars_pass_over_the_background(seeded: SpectralHDPModel, half: tuple[DataFrame, DataFrame]) -> None:
    listed = {row["topic"] for row in seeded.exemplars(half[0], 1, node="b/x").collect()}
    assert listed
    assert 4 not in listed


def test_an_update_carries_seeds_edits_and_taxonomy_on(
    seeded: SpectralHDPModel, half: tuple[DataFrame, DataFrame], true_topics: np.ndarray
) -> None:
    model = seeded.copy()
    model.taxonomy([3])
    updated = model.update(half[1])
    assert [updated.labels[topic] for topic in (3, 0, 4)] == ["zero", "one", "background"]
    assert [nearest_truth(updated, topic, true_topics) for topic in (3, 0)] == [0, 1]
    assert [entry["topic"] for entry in updated.summary.seeds["topics"]] == [3, 0]
    assert len(updated.taxonomy().nodes) == 3
    merged = seeded.mergeTopics([1, "one"])
    assert merged.lineage == ["0+1", "2", "3", "4"]
    later = merged.update(half[1])
    assert later.k == 4
    assert [later.lineage[topic] for topic in (0, 2, 3)] == ["0+1", "3", "4"]
    assert later.labels[0] == "one"
    assert later.transform(half[1]).select("topicDistribution").first()[0].size == 4
    with pytest.raises(InputError, match="background topic cannot be merged"):
        seeded.mergeTopics(["one", "background"])


def test_a_split_by_documents_and_by_the_kept_sample(
    seeded: SpectralHDPModel, half: tuple[DataFrame, DataFrame]
) -> None:
    both = seeded.splitTopic(2)
    assert both.k == 6
    assert both.lineage[2:] == ["2a", "3", "4", "2b"]
    whole = seeded.topicsMatrix()[:, 2] * seeded.weights[2]
    for split in (both, seeded.splitTopic(2, half[1])):
        parts = split.topicsMatrix()[:, [2, 5]] @ split.weights[[2, 5]]
        np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert both.labels[3] == "zero"


def test_partitions_and_executors_do_not_change_a_bit(
    seeded: SpectralHDPModel, half: tuple[DataFrame, DataFrame], themes: dict[str, object], on_executors: None
) -> None:
    again = SpectralHDP(seeds=themes, **SETTINGS).fit(half[0].repartition(5))
    assert np.array_equal(again.topicsMatrix(), seeded.topicsMatrix())


def test_labels_survive_overwriting(seeded: SpectralHDPModel, tmp_path: Path) -> None:
    place = tmp_path / "model"
    plain = seeded.copy().setLabels({1: "kept by people", 3: "zero"})
    plain.save(str(place))
    bare = seeded.copy().setLabels({})
    bare.write().overwrite().save(str(place))                         # the same topics: all labels go on
    assert dict(SpectralHDPModel.load(str(place))._fitted.labels) == {1: "kept by people", 3: "zero"}
    assert not (place / "labels.toml.bak").exists()
    seeded.mergeTopics([1, 2, 3]).setLabels({0: "another"}).write().overwrite().save(str(place))
    assert "kept by people" in (place / "labels.toml.bak").read_text()
    (place / "labels.toml").write_text("not [ TOML")                    # a damaged file is kept as it is
    bare.write().overwrite().save(str(place))
    assert (place / "labels.toml.bak2").read_text() == "not [ TOML"
    assert "kept by people" in (place / "labels.toml.bak").read_text()


def test_wrong_seeds_are_refused_before_any_pass(documents: DataFrame) -> None:
    with pytest.raises(InputError, match="none of the words of topic 'x'"):
        SpectralHDP(seeds={"x": ["nonsense"]}, **SETTINGS).fit(documents)
    with pytest.raises(InputError, match="raise `k`"):
        SpectralHDP(seeds={str(n): ["w1"] for n in range(6)}, **SETTINGS).fit(documents)
