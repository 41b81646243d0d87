"""Small fits through a real Spark, in Python and on the command line: what `make check` asks of Spark."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.ml.feature import CountVectorizer, RegexTokenizer
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.cli import main
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo

pytestmark = pytest.mark.smoke


def test_from_text_to_a_loaded_model(spark: Any, tmp_path: Path) -> None:
    write_demo(simulate_demo(600), tmp_path / "notes.jsonl")
    notes = spark.read.json(str(tmp_path / "notes.jsonl")).withColumn("path", F.array("region", "town"))
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\W+").transform(notes)
    counter = CountVectorizer(inputCol="words", outputCol="features").fit(words)
    counts = counter.transform(words)
    model = SpectralHDP(k=12, refinePasses=1, idCol="id", vocabulary=counter.vocabulary).fit(counts)
    model.save(str(tmp_path / "model"))
    loaded = SpectralHDPModel.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.topicsMatrix(), model.topicsMatrix())
    heaviest = [set(row.terms) for row in loaded.describeTopics(10).collect()]
    assert any({"sail", "harbour"} <= topic for topic in heaviest)
    shares = [row.topicDistribution.toArray() for row in loaded.transform(counts).limit(20).collect()]
    np.testing.assert_allclose(np.sum(shares, axis=1), 1.0, rtol=1e-9)
    assert {tuple(path) for path in loaded.nodes.paths} >= {(), ("coast",), ("coast", "Seagate")}


def test_from_text_to_scores_on_the_command_line(spark: Any, tmp_path: Path) -> None:
    corpus, model, scores = (str(tmp_path / name) for name in ("corpus", "model", "scores"))
    write_demo(simulate_demo(600), tmp_path / "notes.jsonl")
    for words in (
        ["ingest", "--source", "table", "--input", str(tmp_path / "notes.jsonl"), "--text-col", "text", "--path-cols",
         "region,town", "--id-col", "id", "--holdout", "60", "--output", corpus],
        ["fit", "--corpus", corpus, "--model", model, "--k", "12", "--refine-passes", "1"],
        ["score", "--corpus", corpus, "--model", model, "--output", scores],
        ["evaluate", "--corpus", corpus, "--model", model, "--output", str(tmp_path / "evaluation.json")],
        ["report", "--model", model, "--output", str(tmp_path / "report.html")],
    ):
        assert main([*words, "--quiet"], spark) == 0, words[0]
    table = pq.read_table(scores)
    shares = np.array(table["topicDistribution"].to_pylist())
    assert table.num_rows == 600
    assert shares.argmax(axis=1).tolist() == table["topic"].to_pylist()
