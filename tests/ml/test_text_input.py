"""Documents as text, as a pandas DataFrame and as a list of strings: fitted, scored, saved and updated."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import CountVectorizer, RegexTokenizer
from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel, TopicModel, TopicModelEvaluator
from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.text.text_recipe import TextRecipe

SEA = ["sail", "boat", "wind", "harbour", "rope", "wave", "anchor"]
KITCHEN = ["bread", "oven", "flour", "salt", "dough", "butter", "yeast"]
FAST = {"refinePasses": 1, "exploreSweeps": 0}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(200):
        words = rng.choice(SEA if i % 2 else KITCHEN, 15)
        rows.append((f"n{i}", "coast" if i % 2 else "home", f"Kitchen's {i}", "The " + " and ".join(words) + "!"))
    return pd.DataFrame(rows, columns=["id", "place", "room", "text"])


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(table).cache()


@pytest.fixture(scope="module")
def model(frame: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(k=2, textCol="text", pathCol="place", idCol="id", minDocuments=5, **FAST).fit(frame)


def test_phrases_are_found_and_remembered(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join([*rng.choice(SEA if i % 2 else KITCHEN, 9), "harbour master" if i % 2 else "baking powder"])
             for i in range(120)]
    estimator = SpectralHDP(k=2, textCol="text", minDocuments=5, maxDocumentShare=1.0, phrases="auto", **FAST)
    fitted = estimator.fit(spark.createDataFrame([(text,) for text in texts], ["text"]))
    assert fitted.textRecipe is not None
    assert fitted.textRecipe.phrases == (("baking", "powder"), ("harbour", "master"))
    assert {"baking_powder", "harbour_master"} <= set(fitted.vocabulary or ())
    fitted.save(str(tmp_path / "model"))
    local = TopicModel.load(str(tmp_path / "model"))
    frame = spark.createDataFrame([("the baking powder and salt",)], ["text"])
    shares = fitted.transform(frame).collect()[0]["topicDistribution"].toArray()
    assert local.infer(["the baking powder and salt"])[0].tolist() == shares.tolist()
    assert local.counter.words("the baking powder")["baking_powder"] == 1


SIX_LINES = """
import pandas as pd
from spectral_spark import SpectralHDP
notes = pd.read_csv("notes.csv")
model = SpectralHDP(textCol="text", pathCol="place", k=2).fit(notes)
print(model)
shares = model.transform("the wind took the boat out of the harbour")
"""


def test_topics_of_ones_own_table_in_six_lines_and_scores_in_one(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    table.to_csv(tmp_path / "notes.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert len(SIX_LINES.strip().splitlines()) <= 6
    names: dict[str, Any] = {}
    exec(SIX_LINES, names)
    sea = next(row["topic"] for row in names["model"].describeTopics(1).collect() if row["terms"][0] in SEA)
    assert names["shares"].shape == (1, 2)
    assert names["shares"][0, sea] > 0.7


def test_a_column_of_text_is_counted_as_ingest_counts_it(model: SpectralHDPModel) -> None:
    assert set(model.vocabulary or ()) == {*SEA, *KITCHEN}                   # no "the", no "and", nothing with digits
    terms = {tuple(sorted(row["terms"][:7])) for row in model.describeTopics(7).collect()}
    assert terms == {tuple(sorted(SEA)), tuple(sorted(KITCHEN))}
    assert set(model.nodes.paths) == {(), ("coast",), ("home",)}


def test_text_gives_the_fit_of_its_counts(spark: SparkSession, model: SpectralHDPModel, table: pd.DataFrame) -> None:
    ids = {word: i for i, word in enumerate(model.vocabulary or ())}
    rows = []
    for row in table.itertuples():
        counts = TextRecipe(("and", "the")).tokeniser.counts(row.text)
        found = sorted((ids[word], count) for word, count in counts.items())
        rows.append((row.id, [row.place], [t for t, _ in found], [c for _, c in found]))
    counted = spark.createDataFrame(rows, "id string, path array<string>, terms array<int>, counts array<int>")
    again = SpectralHDP(
        k=2, termsCol="terms", countsCol="counts", idCol="id", vocabulary=list(ids), **FAST
    ).fit(counted)
    assert again.topicsMatrix().tobytes() == model.topicsMatrix().tobytes()


def test_text_is_scored_the_same_way_in_spark_pandas_and_lists(
    model: SpectralHDPModel, frame: DataFrame, table: pd.DataFrame
) -> None:
    scored = model.transform(frame)
    assert scored.columns == [*frame.columns, "topicDistribution", "evaluation"]
    by_spark = {row["id"]: row["topicDistribution"].toArray() for row in scored.collect()}
    by_pandas = model.transform(table)
    assert isinstance(by_pandas, pd.DataFrame)
    assert list(by_pandas.columns) == [*table.columns, "topicDistribution"]
    for row in by_pandas.itertuples():
        np.testing.assert_allclose(row.topicDistribution, by_spark[row.id], rtol=1e-9)
    at_the_root = model.transform(table.drop(columns="place"))["topicDistribution"].tolist()
    np.testing.assert_allclose(model.transform(table["text"].tolist()), np.array(at_the_root), rtol=1e-12)


def test_without_a_path_column_documents_are_scored_at_the_root(model: SpectralHDPModel, frame: DataFrame) -> None:
    lost = model.transform(frame.drop("place")).select("topicDistribution").collect()
    assert len(lost) == 200
    assert model.logPerplexity(frame.drop("place")) > 0
    with pytest.raises(InputError, match="no column 'place'"):
        SpectralHDP(k=2, textCol="text", pathCol="place").fit(frame.drop("place"))
    with pytest.raises(InputError, match="no column 'place'"):
        model.update(frame.drop("place"))


def test_the_model_remembers_how_its_words_were_made(model: SpectralHDPModel, tmp_path: Path) -> None:
    model.save(str(tmp_path / "model"))
    recipe = json.loads((tmp_path / "model" / "text.json").read_text())
    assert recipe["min_word_length"] == 3
    assert "the" in recipe["stop_words"]
    loaded = SpectralHDPModel.load(str(tmp_path / "model"))
    assert loaded.textRecipe == model.textRecipe
    text = ["A boat, a sail and some bread"]
    np.testing.assert_array_equal(loaded.transform(text), model.transform(text))
    for damage in ([], {"version": 2}, {**recipe, "stop_words": "the"}, {**recipe, "min_word_length": 0}):
        with pytest.raises(FormatError, match=r"text\.json"):
            TextRecipe.from_dict(damage, "model/text.json")


def test_pandas_and_lists_give_the_model_of_the_spark_table(
    model: SpectralHDPModel, table: pd.DataFrame
) -> None:
    again = SpectralHDP(k=2, textCol="text", pathCol="place", idCol="id", minDocuments=5, **FAST).fit(table)
    assert again.topicsMatrix().tobytes() == model.topicsMatrix().tobytes()
    from_list = SpectralHDP(k=2, minDocuments=5, **FAST).fit(table["text"].tolist())
    assert from_list.getTextCol() == "text"
    shares = from_list.transform(["bread from the oven", None])
    assert shares.shape == (2, 2)
    np.testing.assert_array_equal(from_list.transform(pd.Series(["bread from the oven", np.nan])), shares)


def test_several_columns_make_a_path(table: pd.DataFrame, frame: DataFrame) -> None:
    levels = table.assign(half=["a", "b", "b", "a"] * 50)
    hdp = SpectralHDP(k=2, textCol="text", pathCols=["place", "half"], minDocuments=5, **FAST)
    model = hdp.fit(levels)
    assert ("coast", "a") in model.nodes.paths
    assert len(model.transform(levels)) == 200


def test_text_models_are_updated_with_text_in_spark_and_in_pandas(model: SpectralHDPModel, spark: SparkSession) -> None:
    rows = [(f"new{i}", "coast", "sail boat wind rope wave") for i in range(40)]
    more = model.update(spark.createDataFrame(rows, ["id", "place", "text"]))
    assert more.summary.documents == model.summary.documents + 40
    assert more.transform(["sail"]).shape == (1, 2)
    again = model.update(pd.DataFrame(rows, columns=["id", "place", "text"]))
    assert again.topicsMatrix().tobytes() == more.topicsMatrix().tobytes()


@pytest.mark.parametrize(("documents", "what"), [
    ([["sail", "boat"], ["bread"]], "list of list"),
    ({"text": ["sail boat"]}, "dict"),
    (None, "NoneType"),
    (np.ones((3, 2)), "ndarray of ndarray"),
])
def test_documents_of_another_kind_are_refused(model: SpectralHDPModel, documents: Any, what: str) -> None:
    estimator = SpectralHDP(k=2, textCol="text")
    for use in (estimator.fit, estimator.findBasis, model.transform, model.update, model.refit, model.exemplars):
        with pytest.raises(InputError, match=f"not as {what}; join the words"):
            use(documents)


def test_what_text_cannot_be(table: pd.DataFrame, frame: DataFrame, vectors: DataFrame) -> None:
    with pytest.raises(InputError, match="lower minDocuments"):
        SpectralHDP(k=2, textCol="text", minDocuments=1000).fit(frame)
    with pytest.raises(InputError, match="no column 'body'"):
        SpectralHDP(k=2, textCol="body").fit(frame)
    with pytest.raises(InputError, match="textCol"):
        SpectralHDP(k=2).fit(table)
    with pytest.raises(InputError, match="textCol to a column of text"):
        SpectralHDP(k=2).fit(frame)
    with pytest.raises(SettingsError, match="minDocuments is 0"):
        SpectralHDP(minDocuments=0)
    counted = SpectralHDP(k=2, refinePasses=0, concentrations=[0.5], basisSize=20).fit(vectors)
    with pytest.raises(InputError, match="fitted to word counts"):
        counted.transform(["some text"])


def test_vectors_in_pandas_are_fitted_and_scored(vectors: DataFrame) -> None:
    table = vectors.toPandas()
    hdp = SpectralHDP(k=2, refinePasses=0, concentrations=[0.5], basisSize=20, idCol="doc_id")
    model, expected = hdp.fit(table), hdp.fit(vectors)
    assert model.topicsMatrix().tobytes() == expected.topicsMatrix().tobytes()
    by_spark = {row["doc_id"]: row["topicDistribution"].toArray() for row in model.transform(vectors).collect()}
    for row in model.transform(table).itertuples():
        np.testing.assert_allclose(row.topicDistribution, by_spark[row.doc_id], rtol=1e-9)


def test_words_are_found_behind_a_count_vectorizer(frame: DataFrame, tmp_path: Path) -> None:
    hdp = SpectralHDP(k=2, **FAST)
    pipeline = Pipeline(stages=[
        RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+"),
        CountVectorizer(inputCol="words", outputCol="features", minDF=5),
        hdp,
    ])
    model = pipeline.fit(frame)
    topics = model.stages[-1]
    assert topics.vocabulary == tuple(model.stages[1].vocabulary)
    assert all(row["terms"] for row in topics.describeTopics().collect())
    model.save(str(tmp_path / "pipeline"))
    assert PipelineModel.load(str(tmp_path / "pipeline")).stages[-1].vocabulary == topics.vocabulary
    grid = ParamGridBuilder().addGrid(hdp.k, [2]).build()
    search = TrainValidationSplit(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=TopicModelEvaluator(), seed=1
    )
    assert search.fit(frame).bestModel.stages[-1].vocabulary is not None
    counted = model.stages[1].transform(model.stages[0].transform(frame))
    assert SpectralHDP(k=2, **FAST).fit(counted).vocabulary is None
    assert SpectralHDP(k=2, **FAST).setVocabulary(model.stages[1]).fit(counted).vocabulary == topics.vocabulary


def test_words_are_found_in_the_metadata_of_the_column(vectors: DataFrame) -> None:
    from pyspark.sql import functions as F

    names = [{"idx": i, "name": f"word{i}"} for i in range(300)]
    described = F.col("features").alias("features", metadata={"ml_attr": {"attrs": {"numeric": names},
                                                                          "num_attrs": 300}})
    frame = vectors.withColumn("features", described)
    model = SpectralHDP(k=2, refinePasses=0, concentrations=[0.5], basisSize=20).fit(frame)
    assert model.vocabulary is not None
    assert model.vocabulary[7] == "word7"


def test_a_model_has_its_vocabulary_as_a_fact(model: SpectralHDPModel) -> None:
    with pytest.raises((TypeError, AttributeError, ValueError)):
        model.set(model.vocabulary, ["other"])
    assert not model.hasParam("vocabulary")
