"""A corpus and models that version 0.1.0 saved load, score, update and report, and are fitted again to the same bits.

``tests/data/version-0.1.0`` was written by that version: ``corpus`` by ``ingest``, ``model`` by ``fit --k 3``,
``features`` by ``ibp --kind binary --k 3`` from ``rows.parquet``.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from threadpoolctl import threadpool_info

from spectral_spark import SpectralHDP, SpectralHDPModel, SpectralIBP, SpectralIBPModel
from spectral_spark.cli.run import main
from spectral_spark.ingest.corpus_store import open_corpus

SAVED = Path(__file__).parent / "data" / "version-0.1.0"
MADE_WITH = {"numpy": "2.4.6", "scipy": "1.17.1", "openblas": {"SkylakeX"}}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A copy, so that nothing is written beside the committed files."""
    return Path(shutil.copytree(SAVED, tmp_path / "saved"))


def same_arithmetic() -> bool:
    """Whether NumPy, SciPy and the kernels of OpenBLAS are those that 0.1.0 ran with; others round differently."""
    import scipy

    kernels = {info["architecture"] for info in threadpool_info() if info["internal_api"] == "openblas"}
    return {"numpy": np.__version__, "scipy": scipy.__version__, "openblas": kernels} == MADE_WITH


def test_the_files_say_which_version_wrote_them() -> None:
    for name in ("model", "features"):
        assert json.loads((SAVED / name / "summary.json").read_text())["versions"]["spectral_spark"] == "0.1.0"


def test_topics_load_and_transform(spark: SparkSession, saved: Path) -> None:
    model = SpectralHDPModel.load(str(saved / "model"))
    assert (model.k, model.vocabSize, model.summary.documents) == (3, 51, 220)
    stored = pq.read_table(saved / "model" / "topics")
    np.testing.assert_array_equal(model.topicsMatrix().T, np.array(stored["terms"].to_pylist()))
    assert model.moments.documents == 220
    test = open_corpus(spark, str(saved / "corpus")).documents("test")
    shares = np.array([row["topicDistribution"].toArray() for row in model.transform(test).collect()])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.logPerplexity(test) < 3.2          # the unigram loss is 3.26
    assert model.solveAgain(k=2).k == 2


def test_topics_are_fitted_again_to_the_same_bits(spark: SparkSession, saved: Path) -> None:
    if not same_arithmetic():
        pytest.skip(f"0.1.0 ran with {MADE_WITH}; other versions and processors round differently")
    corpus = open_corpus(spark, str(saved / "corpus"))
    before = SpectralHDPModel.load(str(saved / "model"))
    again = SpectralHDP(
        k=3, termsCol="terms", countsCol="counts", pathCol="path", idCol="doc_id", vocabulary=list(corpus.vocabulary),
        rangePasses=2, tensors="root",                      # as 0.1.0 found its start
    ).fit(corpus.documents("train"))
    assert again.topicsMatrix().tobytes() == before.topicsMatrix().tobytes()
    assert again.weights.tobytes() == before.weights.tobytes()
    assert again.nodes.paths == before.nodes.paths
    assert again.nodes.proportions.tobytes() == before.nodes.proportions.tobytes()
    for now, then in zip(vars(again.moments.root()).values(), vars(before.moments.root()).values(), strict=True):
        assert now.tobytes() == then.tobytes()


def test_features_load_and_are_fitted_again_to_the_same_bits(spark: SparkSession, saved: Path) -> None:
    model = SpectralIBPModel.load(str(saved / "features"))
    rows = spark.read.parquet(str(saved / "rows.parquet"))
    assert (model.k, model.numFeatures, model.summary.rows) == (3, 6, 300)
    codes = np.array([row["codes"].toArray() for row in model.transform(rows).collect()])
    assert set(np.unique(codes)) == {0.0, 1.0}
    assert np.isfinite(model.logLikelihood(rows))
    if not same_arithmetic():
        pytest.skip(f"0.1.0 ran with {MADE_WITH}; other versions and processors round differently")
    again = SpectralIBP(kind="binary", k=3, featuresCol="values", idCol="row").fit(rows)
    assert again.dictionary().tobytes() == model.dictionary().tobytes()
    assert again.probabilities.tobytes() == model.probabilities.tobytes()


def test_every_command_takes_them(spark: SparkSession, saved: Path) -> None:
    corpus, model, out = str(saved / "corpus"), str(saved / "model"), saved / "out"
    assert main(["score", "--corpus", corpus, "--model", model, "--output", str(out / "scores")], spark) == 0
    assert spark.read.parquet(str(out / "scores")).count() == 240
    assert main(["evaluate", "--corpus", corpus, "--model", model, "--output", str(out / "loss.json")], spark) == 0
    result = json.loads((out / "loss.json").read_text())
    assert result["loss"] < result["unigram_loss"]
    assert main(["report", "--model", model, "--output", str(out / "report.html")], spark) == 0
    assert "explore" in (out / "report.html").read_text()       # passes keep the names they were saved with
    assert main(["topics", "--model", model], spark) == 0


def test_topics_are_updated(spark: SparkSession, saved: Path) -> None:
    """0.1.0 did not remember single documents; what it did remember, the batch as a whole, is still refused."""
    model = SpectralHDPModel.load(str(saved / "model"))
    corpus = open_corpus(spark, str(saved / "corpus"))
    updated = model.update(corpus.documents("test"))
    assert updated.summary.documents == 240
    assert updated.moments.documents == 240
    updated.save(str(saved / "updated"))
    assert SpectralHDPModel.load(str(saved / "updated")).summary.documents == 240
    assert model.update(corpus.documents("train"), skipKnown=True).summary.documents == 220
