"""TopicModelEvaluator on real Spark: the numbers of the evaluation, and k chosen by the tools of pyspark.ml."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.ml.tuning import (
    CrossValidator,
    CrossValidatorModel,
    ParamGridBuilder,
    TrainValidationSplit,
    TrainValidationSplitModel,
)
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel, TopicModelEvaluator
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.coherence import npmi, top_words
from spectral_spark.ingest.simulate import SimulatedCorpus

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}


@pytest.fixture(scope="module")
def model(documents: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(k=5, refinePasses=0, concentrations=[0.5], **ARRAYS).fit(documents)


def test_held_out_loss_is_the_log_perplexity_of_the_model(model: SpectralHDPModel, documents: DataFrame) -> None:
    evaluator = TopicModelEvaluator()
    assert not evaluator.isLargerBetter()
    assert evaluator.evaluate(model.transform(documents)) == pytest.approx(model.logPerplexity(documents), rel=1e-9)


def test_coherence_is_the_npmi_of_the_top_words(
    model: SpectralHDPModel, documents: DataFrame, simulated: SimulatedCorpus
) -> None:
    batch, words = simulated.batch, top_words(model.topicsMatrix())
    present = np.zeros((batch.n_documents, batch.vocab_size))
    present[np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr)), batch.terms] = 1
    expected = npmi(words, present.T @ present, batch.n_documents).mean()
    evaluator = TopicModelEvaluator(metricName="coherence")
    assert evaluator.isLargerBetter()
    assert evaluator.evaluate(model.transform(documents)) == pytest.approx(expected, rel=1e-12)


def test_a_transformed_table_can_be_saved_and_evaluated_later(
    spark: SparkSession, model: SpectralHDPModel, documents: DataFrame, tmp_path: Path
) -> None:
    scored = model.transform(documents)
    scored.drop("topicDistribution").write.parquet(str(tmp_path / "scored"))
    read = spark.read.parquet(str(tmp_path / "scored"))
    for metric in ("heldOutLoss", "coherence"):
        evaluator = TopicModelEvaluator(metricName=metric)
        assert evaluator.evaluate(read) == pytest.approx(evaluator.evaluate(scored), rel=1e-12)


def test_cross_validation_chooses_the_true_number_of_topics(documents: DataFrame, tmp_path: Path) -> None:
    hdp = SpectralHDP(refinePasses=1, exploreSweeps=0, basisSize=20, **ARRAYS)
    grid = ParamGridBuilder().addGrid(hdp.k, [2, 5]).build()
    search = CrossValidator(
        estimator=hdp, estimatorParamMaps=grid, evaluator=TopicModelEvaluator(), numFolds=2, seed=1
    )
    search.write().overwrite().save(str(tmp_path / "search"))
    found = CrossValidator.load(str(tmp_path / "search")).fit(documents)
    assert isinstance(found.getEvaluator(), TopicModelEvaluator)
    assert found.bestModel.k == 5
    assert found.avgMetrics[1] < found.avgMetrics[0]
    found.save(str(tmp_path / "found"))
    loaded = CrossValidatorModel.load(str(tmp_path / "found"))
    loss = TopicModelEvaluator().evaluate(loaded.transform(documents))
    assert loss == pytest.approx(found.bestModel.logPerplexity(documents), rel=1e-9)


def test_train_validation_split_chooses_the_true_number_of_topics(documents: DataFrame, tmp_path: Path) -> None:
    hdp = SpectralHDP(refinePasses=1, exploreSweeps=0, basisSize=20, **ARRAYS)
    grid = ParamGridBuilder().addGrid(hdp.k, [2, 5]).build()
    search = TrainValidationSplit(estimator=hdp, estimatorParamMaps=grid, evaluator=TopicModelEvaluator(), seed=1)
    found = search.fit(documents)
    assert found.bestModel.k == 5
    found.save(str(tmp_path / "found"))
    loaded = TrainValidationSplitModel.load(str(tmp_path / "found"))
    assert loaded.bestModel.topicsMatrix().tobytes() == found.bestModel.topicsMatrix().tobytes()


def test_the_evaluation_column_can_be_renamed_and_left_out(model: SpectralHDPModel, documents: DataFrame) -> None:
    named = model.transform(documents, {model.evaluationCol: "score"})
    assert "score" in named.columns
    assert TopicModelEvaluator(evaluationCol="score").evaluate(named) > 0
    without = model.transform(documents, {model.evaluationCol: ""})
    assert without.columns == [*documents.columns, "topicDistribution"]
    with pytest.raises(InputError, match="no column 'evaluation'"):
        TopicModelEvaluator().evaluate(without)


def test_parameters_of_the_evaluator(tmp_path: Path) -> None:
    evaluator = TopicModelEvaluator().setMetricName("coherence").setEvaluationCol("score")
    evaluator.save(str(tmp_path / "evaluator"))
    loaded = TopicModelEvaluator.load(str(tmp_path / "evaluator"))
    assert (loaded.getMetricName(), loaded.getEvaluationCol()) == ("coherence", "score")
    with pytest.raises(SettingsError, match="heldOutLoss, coherence"):
        TopicModelEvaluator(metricName="accuracy")


def test_a_second_transform_replaces_the_evaluation_and_keeps_columns_of_others(
    model: SpectralHDPModel, documents: DataFrame
) -> None:
    from pyspark.sql import functions as F

    once = model.transform(documents)
    again = model.transform(once.drop("topicDistribution"))
    assert sorted(again.columns) == sorted(once.columns)
    theirs = model.transform(documents.withColumn("evaluation", F.lit("good")))
    assert theirs.select("evaluation").first()[0] == "good"
    with pytest.raises(InputError, match="no column 'evaluation' made by"):
        TopicModelEvaluator().evaluate(theirs)
    with pytest.raises(InputError, match="set evaluationCol"):
        model.transform(documents.withColumn("e", F.lit(1)), {model.evaluationCol: "e"})
