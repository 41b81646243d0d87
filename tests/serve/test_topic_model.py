"""TopicModel gives the proportions of ``transform``, bit for bit, and reads text as the fit did."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel, TopicModel
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.refine.fixed_topics import DOCUMENTS_AT_ONCE
from spectral_spark.text.text_recipe import TextRecipe

SEA = ["sail", "boat", "wind", "harbour", "rope", "wave", "anchor"]
KITCHEN = ["bread", "oven", "flour", "salt", "dough", "butter", "yeast"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(300):
        own, other = (SEA, KITCHEN) if i % 2 else (KITCHEN, SEA)
        words = [*rng.choice(own, 12), *rng.choice(other, rng.integers(0, 5))]
        rows.append((f"n{i}", ["coast", f"port {i % 3}"] if i % 2 else ["home"], "The " + " and ".join(words) + "!"))
    return pd.DataFrame(rows, columns=["id", "place", "text"])


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(table, "id string, place array<string>, text string").cache()


@pytest.fixture(scope="module")
def fitted(frame: DataFrame) -> SpectralHDPModel:
    settings = {"refinePasses": 1, "exploreSweeps": 0, "minDocuments": 5, "maxDocumentShare": 1.0}
    return SpectralHDP(k=2, textCol="text", pathCol="place", idCol="id", **settings).fit(frame)


@pytest.fixture(scope="module")
def saved(fitted: SpectralHDPModel, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("serve") / "model")
    fitted.save(path)
    return path


@pytest.fixture(scope="module")
def model(saved: str) -> TopicModel:
    return TopicModel.load(saved)


def by_spark(fitted: SpectralHDPModel, frame: DataFrame) -> np.ndarray:
    rows = {row["id"]: row["topicDistribution"] for row in fitted.transform(frame).collect()}
    return np.array([rows[key].toArray() for key in sorted(rows)])


def test_texts_get_the_proportions_of_transform_bit_for_bit(
    model: TopicModel, fitted: SpectralHDPModel, frame: DataFrame, table: pd.DataFrame
) -> None:
    ordered = table.sort_values("id")
    shares = model.infer(ordered["text"], ordered["place"])
    assert shares.tobytes() == by_spark(fitted, frame).tobytes()
    at_the_root = model.infer(ordered["text"])
    assert at_the_root.tobytes() == by_spark(fitted, frame.drop("place")).tobytes()
    assert not np.array_equal(shares, at_the_root)                     # the tree matters
    local = np.array(fitted.transform(ordered)["topicDistribution"].tolist())
    assert local.tobytes() == shares.tobytes()


def test_paths_with_nulls_and_unknown_groups_are_placed_as_spark_places_them(
    spark: SparkSession, model: TopicModel, fitted: SpectralHDPModel
) -> None:
    paths = [None, [], ["coast"], ["coast", None], [None, "home"], ["coast", "port 1"], ["coast", "elsewhere", "deep"],
             ["nowhere"], [None], ["home", "kitchen"]]
    rows = [(f"{i:02}", path, "sail boat bread") for i, path in enumerate(paths)]
    asked = spark.createDataFrame(rows, "id string, place array<string>, text string")
    assert model.infer(["sail boat bread"] * len(paths), paths).tobytes() == by_spark(fitted, asked).tobytes()
    local = fitted.transform(pd.DataFrame(rows, columns=["id", "place", "text"]))["topicDistribution"].tolist()
    assert np.array(local).tobytes() == by_spark(fitted, asked).tobytes()


def test_counts_get_the_proportions_of_transform_bit_for_bit(
    spark: SparkSession, table: pd.DataFrame, model: TopicModel, tmp_path: Path
) -> None:
    ids = {word: number for number, word in enumerate(model.vocabulary or ())}
    rng = np.random.default_rng(1)
    dense = rng.poisson(0.7, (200, len(ids))).astype(float)
    rows = [(f"{i:03}", Vectors.sparse(len(ids), np.flatnonzero(row), row[row > 0])) for i, row in enumerate(dense)]
    counted = spark.createDataFrame(rows, ["id", "features"])
    fitted = SpectralHDP(k=3, idCol="id", vocabulary=list(ids), refinePasses=1, exploreSweeps=0).fit(counted)
    fitted.save(str(tmp_path / "counts"))
    loaded = TopicModel.load(str(tmp_path / "counts"))
    expected = by_spark(fitted, counted)
    assert loaded.infer_counts(sp.csr_matrix(dense)).tobytes() == expected.tobytes()
    assert loaded.infer_counts(dense).tobytes() == expected.tobytes()
    shuffled = sp.csr_matrix(dense[:, ::-1])
    shuffled.indices = (len(ids) - 1 - shuffled.indices).astype(np.int32)    # the same rows, words in falling order
    assert loaded.infer_counts(shuffled).tobytes() == expected.tobytes()
    with pytest.raises(InputError, match="does not say how text becomes words; load it with tokeniser="):
        loaded.infer(["sail"])
    words = TopicModel.load(str(tmp_path / "counts"), tokeniser=str.split)
    one = np.zeros((1, len(ids)))
    one[0, ids["sail"]], one[0, ids["oven"]] = 2, 1
    assert words.infer(["sail oven sail unheard-of"]).tobytes() == loaded.infer_counts(one).tobytes()


def test_a_model_that_is_told_how_text_is_read_forgets_the_old_way(saved: str) -> None:
    fitted = SpectralHDPModel.load(saved)
    before = fitted.transform(["sail sail bread"])
    fitted.setTextRecipe(TextRecipe(("sail",)))
    assert fitted.transform(["sail sail bread"]).tobytes() == TopicModel.load(saved).infer(["bread"]).tobytes()
    assert not np.array_equal(before, fitted.transform(["sail sail bread"]))


def test_documents_do_not_depend_on_each_other(model: TopicModel) -> None:
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(SEA + KITCHEN, rng.integers(0, 9))) for _ in range(DOCUMENTS_AT_ONCE + 7)]
    many = model.infer(texts)
    for at in (0, 1, DOCUMENTS_AT_ONCE - 1, DOCUMENTS_AT_ONCE, len(texts) - 1):
        assert model.infer([texts[at]])[0].tobytes() == many[at].tobytes()
    np.testing.assert_allclose(many.sum(axis=1), 1.0, rtol=1e-12)


def test_numpy_and_numba_agree_up_to_rounding(saved: str, model: TopicModel, table: pd.DataFrame) -> None:
    plain = TopicModel.load(saved, backend="numpy")
    np.testing.assert_allclose(plain.infer(table["text"]), model.infer(table["text"]), rtol=0, atol=1e-13)
    with pytest.raises(SettingsError, match="backend 'fast' is unknown"):
        TopicModel.load(saved, backend="fast")


def test_texts_and_counts_that_cannot_be_used(model: TopicModel) -> None:
    root = model.nodes.proportions[0]
    np.testing.assert_allclose(model.infer(["", None, "xyzzy 123"]), np.tile(root, (3, 1)), rtol=1e-12)
    assert model.infer([]).shape == (0, 2)
    bad = np.zeros((3, model.vocab_size))
    bad[0, 0], bad[1, 0], bad[2, 0] = -1, np.nan, 1
    assert np.isnan(model.infer_counts(bad)).all(axis=1).tolist() == [True, True, False]
    with pytest.raises(InputError, match="columns, but the model has"):
        model.infer_counts(np.zeros((1, 3)))
    with pytest.raises(InputError, match="put the text in brackets"):
        model.infer("sail")
    with pytest.raises(InputError, match="2 documents but 1 paths"):
        model.infer(["sail", "boat"], ["coast"])
    with pytest.raises(InputError, match="there is no topic model at"):
        TopicModel.load("/nowhere/at/all")


def test_words_are_explained_by_the_topics_they_speak_for(model: TopicModel) -> None:
    text = "A boat, a sail, another sail and some bread in the zeppelin"
    found = model.explain(text, "coast")
    assert found.known == ("boat", "bread", "sail")
    assert "zeppelin" in found.unknown
    assert [topic.share for topic in found.topics] == sorted(model.infer([text], ["coast"])[0], reverse=True)
    by_topic = {topic.topic: dict(topic.words) for topic in found.topics}
    sea = next(i for i, words in enumerate(model.first_words(1)) if words[0] in SEA)
    assert by_topic[sea]["sail"] > 1.5
    assert by_topic[1 - sea]["bread"] > by_topic[1 - sea].get("sail", 0.0)
    assert sum(times for words in by_topic.values() for times in words.values()) == pytest.approx(4, abs=0.2)
    assert found.as_dict(1)["topics"][0]["topic"] == found.topics[0].topic


def test_topics_are_described_and_documents_ranked(model: TopicModel) -> None:
    rows = model.describe_topics(3)
    assert [len(row["words"]) for row in rows] == [3, 3]
    sea = next(row["topic"] for row in rows if row["words"][0] in SEA)
    ranked = model.top_documents(["bread oven", "sail boat wind rope", "sail bread"], sea, 2)
    assert [at for at, _ in ranked] == [1, 2]
    with pytest.raises(InputError, match="there is no topic 9"):
        model.top_documents(["bread"], 9)
    assert repr(model).startswith("TopicModel(k=2, words=14")


def test_topics_go_to_csv(model: TopicModel, tmp_path: Path) -> None:
    model.to_csv(str(tmp_path / "topics.csv"), words=4)
    table = pd.read_csv(tmp_path / "topics.csv", float_precision="round_trip")
    assert list(table.columns) == ["topic", "share", "words", "label"]
    assert table["words"].str.split().map(len).tolist() == [4, 4]
    assert table["share"].tolist() == [row["share"] for row in model.describe_topics()]


def test_topics_go_to_gensim(model: TopicModel) -> None:
    pytest.importorskip("gensim")
    exported = model.to_gensim()
    np.testing.assert_allclose(exported.get_topics(), model.topics.T, atol=1e-6)
    counts = exported.id2word.doc2bow(["sail", "boat", "wind", "rope", "wave"])
    sea = next(i for i, words in enumerate(model.first_words(1)) if words[0] in SEA)
    assert max(exported.get_document_topics(counts), key=lambda pair: pair[1])[0] == sea


def test_topics_go_to_pyldavis(model: TopicModel) -> None:
    given = model.to_pyldavis()
    assert given["topic_term_dists"].shape == (2, model.vocab_size)
    np.testing.assert_allclose(given["topic_term_dists"].sum(axis=1), 1.0)
