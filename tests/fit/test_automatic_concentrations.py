"""concentrations="auto" and "calibrated" in a fit: all levels of the tree, with errors, and where they come from."""

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from tests.simulated_documents import corpus_frame

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 200}
G = (10.0, 1.0)


@pytest.fixture(scope="module")
def drawn() -> SimulatedCorpus:
    return simulate_hdp((200, 8), [60] * 100, G, 60, seed=2)


@pytest.fixture(scope="module")
def frame(spark: SparkSession, drawn: SimulatedCorpus) -> DataFrame:
    return corpus_frame(spark, drawn).cache()


def fit(frame: DataFrame, **given: object) -> SpectralHDPModel:
    return SpectralHDP(**{"k": 8, "refinePasses": 0, "countCap": 0.0, **ARRAYS, **given}).fit(frame)


@pytest.fixture(scope="module")
def automatic(frame: DataFrame) -> SpectralHDPModel:
    return fit(frame)


def test_documents_of_the_model_choose_its_levels(automatic: SpectralHDPModel) -> None:
    report = automatic.summary.refinement
    assert {"calibrated", "levels 1", "1", "groups 1", "groups calibrated"} <= set(report["concentration_scores"])
    assert report["concentrations_chosen"] in ("calibrated", "levels 1", "groups 1", "groups calibrated")
    np.testing.assert_allclose(automatic.summary.spectral_concentrations, G, rtol=0.25)
    assert automatic.summary.concentrations == automatic.summary.spectral_concentrations


def test_topics_are_better_than_without_levels(
    automatic: SpectralHDPModel, frame: DataFrame, drawn: SimulatedCorpus
) -> None:
    flat = fit(frame, concentrations=[0.3])
    errors = [recovery(model.topicsMatrix(), drawn.topics).error for model in (automatic, flat)]
    assert errors[0] < 0.85 * errors[1]


def test_calibration_finds_all_levels(frame: DataFrame) -> None:
    model = fit(frame, concentrations="calibrated")
    np.testing.assert_allclose(model.summary.concentrations, G, rtol=0.25)
    assert model.documentConcentration == model.summary.concentrations[-1]
    assert model.summary.levels["documents_from"] == "calibrated"


def test_the_summary_tells_estimates_and_errors(automatic: SpectralHDPModel, frame: DataFrame) -> None:
    levels = automatic.summary.levels
    assert levels["documents_from"] == "held-out documents"
    assert levels["concentrations"] == automatic.summary.spectral_concentrations
    assert 0 < levels["errors"][0] < levels["concentrations"][0]
    assert "levels, from pairs of documents" in repr(automatic.summary)
    refined = fit(frame, refinePasses=1, exploreSweeps=0)
    assert refined.summary.levels["documents_from"] == "refinement"
    assert refined.summary.refinement["concentrations_chosen"] == "levels 0.3"
    *levels, documents = refined.summary.spectral_concentrations
    assert (len(levels), documents) == (1, 0.3)


def test_an_update_keeps_what_was_chosen(automatic: SpectralHDPModel, frame: DataFrame, spark: SparkSession) -> None:
    more = corpus_frame(spark, simulate_hdp((200, 8), {"0": {"deep": 30}}, [10.0, 10.0, 1.0], 60, seed=9))
    more = more.selectExpr("concat('new ', doc_id) as doc_id", "path", "terms", "counts")
    updated = automatic.update(more)                            # a tree with one more level
    assert updated.documentConcentration == automatic.documentConcentration
    assert updated.summary.refinement["concentrations_chosen"] == automatic.summary.refinement["concentrations_chosen"]


def test_few_groups_are_solved_each_on_its_own(spark: SparkSession) -> None:
    drawn = simulate_hdp((200, 6), [700, 500, 400, 300], [3.0, 1.0], 60, seed=1)
    frame = corpus_frame(spark, drawn).cache()
    automatic, flat = fit(frame, k=6), fit(frame, k=6, concentrations=[0.3])
    assert automatic.summary.refinement["concentrations_chosen"].startswith("groups")
    assert len(automatic.summary.concentrations) == 2
    errors = [recovery(model.topicsMatrix(), drawn.topics).error for model in (automatic, flat)]
    assert errors[0] < 0.85 * errors[1]
    again = automatic.solveAgain(concentrations=automatic.summary.spectral_concentrations[-1:])
    assert recovery(again.topicsMatrix(), automatic.topicsMatrix()).error < 1e-6


def test_few_groups_of_mixed_documents_agree_on_the_concentration(spark: SparkSession) -> None:
    drawn = simulate_hdp((200, 8), [500] * 4, [1.0, 5.0], 80, seed=1)
    automatic = fit(corpus_frame(spark, drawn).cache())
    told = automatic.solveAgain(concentrations=[5.0], tensors="groups")
    assert "groups agreed" in automatic.summary.refinement["concentration_scores"]
    errors = [recovery(model.topicsMatrix(), drawn.topics).error for model in (automatic, told)]
    assert errors[0] < 1.05 * errors[1]
    if automatic.summary.refinement["concentrations_chosen"] == "groups agreed":
        assert automatic.summary.levels["documents_from"] == "agreement of the groups"
        np.testing.assert_allclose(automatic.summary.concentrations[-1], 5.0, rtol=0.25)
