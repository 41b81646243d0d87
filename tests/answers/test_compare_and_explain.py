"""Differences and columns on Spark: the same bits whatever the partitioning, and close to the truth."""

from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from spectral_spark import SpectralHDPModel
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.errors import InputError, SettingsError


def test_two_nodes_differ_as_they_were_drawn(answering: SpectralHDPModel, documents: Any) -> None:
    found = to_arrow(answering.compare("a", "b/x", documents)).to_pylist()
    again = to_arrow(answering.compare(["a"], ["b", "x"], documents.repartition(7))).to_pylist()
    assert found == again
    shares = answering.transform(documents).select("path", "topicDistribution").collect()
    means = [np.mean([row[1].toArray() for row in shares if row[0] == path], axis=0) for path in (["a"], ["b", "x"])]
    gaps = [row["difference"] for row in found]
    assert gaps == pytest.approx(means[0] - means[1], abs=0.05)
    assert all(row["lower"] < row["difference"] < row["upper"] for row in found)
    assert min(row["qValue"] for row in found) < 0.01


def test_selections_of_documents(answering: SpectralHDPModel, documents: Any) -> None:
    halves = [documents.filter(F.crc32("doc_id") % 2 == part) for part in (0, 1)]
    found = to_arrow(answering.compare(*halves, replicates=50)).to_pylist()
    assert all(row["qValue"] > 0.05 for row in found)


def test_values_of_a_column(answering: SpectralHDPModel, documents: Any) -> None:
    dated = documents.withColumn("town", F.col("path")[0]).withColumn("number", F.crc32("doc_id") % 100)
    found = to_arrow(answering.explain(dated, "town")).to_pylist()
    assert [row["value"] for row in found] == ["a"] * 5 + ["b"] * 5
    assert {row["documents"] for row in found} == {1500}
    assert min(row["changeQValue"] for row in found) < 0.01
    binned = to_arrow(answering.explain(dated, ["number"], bins=3, within="b")).to_pylist()
    assert len({row["value"] for row in binned}) == 3
    assert sum(row["documents"] for row in binned) == 5 * 1500
    assert min(row["trendQValue"] for row in binned) > 0.01
    with pytest.raises(InputError, match="did you mean 'number'"):
        answering.explain(dated, "numbr")
    with pytest.raises(SettingsError, match="interval"):
        answering.explain(dated, "town", interval=90)
    with pytest.raises(SettingsError, match="`groupLevel` is 3, but the model's tree has 2 levels of groups"):
        answering.explain(dated, "town", groupLevel=3)


def test_every_node_with_an_interval_and_against_its_parent(answering: SpectralHDPModel, documents: Any) -> None:
    nodes = to_arrow(answering.nodeProportions(interval=0.9, dataset=documents)).to_pylist()
    assert [row["path"] for row in nodes] == [[], ["a"], ["b"], ["b", "x"], ["b", "y"]]
    assert [row["documents"] for row in nodes] == [3000, 1500, 1500, 800, 700]
    for row in nodes:
        ends = np.array([row["lower"], row["shares"], row["upper"]])
        assert (np.diff(ends, axis=0) >= 0).all()
    rows = to_arrow(answering.compareWithParents(documents)).to_pylist()
    assert {tuple(row["path"]) for row in rows} == {("a",), ("b",), ("b", "x"), ("b", "y")}
    with pytest.raises(SettingsError, match="dataset"):
        answering.nodeProportions(interval=0.9)


def test_answers_for_the_report_are_those_of_the_single_questions(answering: SpectralHDPModel, documents: Any) -> None:
    dated = documents.withColumn("town", F.col("path")[0])
    found = answering.answers(dated, by=["town"], exemplars=2, depth=1)
    nodes = {tuple(row["path"]): row for row in to_arrow(answering.nodeProportions(0.9, dated)).to_pylist()}
    assert {tuple(row["path"]) for row in found["nodes"]} == set(nodes)
    for row in found["nodes"]:
        assert row["shares"] == pytest.approx(nodes[tuple(row["path"])]["shares"], abs=1e-6)
    towns = to_arrow(answering.explain(dated, "town")).to_pylist()
    (column,) = found["columns"]
    assert column["values"] == ["a", "b"]
    assert np.ravel(column["share"]) == pytest.approx([row["share"] for row in towns], abs=1e-6)
    assert {(*row["path"], row["topic"]) for row in found["exemplars"]} == {
        (*path, topic) for path in ((), ("a",), ("b",)) for topic in range(5)
    }
    page = answering.report(answers=found)
    assert "Topics by town" in page.html
    with pytest.raises(InputError, match="4 topics"):
        answering.report(answers={**found, "k": 4})
