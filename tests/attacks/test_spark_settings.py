"""Spark settings that change how rows are split, sorted, cast and serialised do not change a bit of a model."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP
from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.ingest.simulate import simulate_hdp
from tests.simulated_documents import corpus_frame

HOSTILE: dict[str, dict[str, str]] = {
    "as it comes": {},
    "ANSI off": {"spark.sql.ansi.enabled": "false"},
    "ANSI on": {"spark.sql.ansi.enabled": "true"},
    "no adaptive execution": {"spark.sql.adaptive.enabled": "false"},
    "adaptive execution, tiny partitions": {
        "spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1k",
    },
    "one shuffle partition": {"spark.sql.shuffle.partitions": "1"},
    "37 shuffle partitions": {"spark.sql.shuffle.partitions": "37", "spark.sql.adaptive.enabled": "false"},
    "Arrow batches of one row": {"spark.sql.execution.arrow.maxRecordsPerBatch": "1"},
    "Arrow batches of any size": {"spark.sql.execution.arrow.maxRecordsPerBatch": "0"},
    "no Arrow for pandas": {"spark.sql.execution.arrow.pyspark.enabled": "false"},
    "case-sensitive names": {"spark.sql.caseSensitive": "true"},
    "another time zone": {"spark.sql.session.timeZone": "Asia/Kolkata"},
    "no code generation": {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    "legacy casts and dates": {
        "spark.sql.legacy.timeParserPolicy": "LEGACY", "spark.sql.storeAssignmentPolicy": "LEGACY",
        "spark.sql.legacy.sizeOfNull": "true",
    },
    "no vectorised readers": {"spark.sql.parquet.enableVectorizedReader": "false"},
    "files in small splits": {"spark.sql.files.maxPartitionBytes": "4k", "spark.sql.files.openCostInBytes": "0"},
    "no broadcast joins": {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    "uncompressed cache, batches of one": {
        "spark.sql.inMemoryColumnarStorage.compressed": "false", "spark.sql.inMemoryColumnarStorage.batchSize": "1",
    },
    "sorted aggregation": {"spark.sql.execution.useObjectHashAggregateExec": "false"},
    "large Arrow types": {"spark.sql.execution.arrow.useLargeVarTypes": "true"},
}


@contextmanager
def session_settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def bits(frame: DataFrame) -> str:
    """A name for everything that a fit computes."""
    model = SpectralHDP(termsCol="terms", countsCol="counts", vocabSize=60, idCol="doc_id", k=3, refinePasses=1,
                        exploreSweeps=2, concentrations=[5.0, 5.0, 0.5], seed=7).fit(frame)
    digest = hashlib.sha256()
    for array in (model.topicsMatrix(), model._fitted.weights, model._fitted.nodes.proportions):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def saved(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    corpus = simulate_hdp((60, 3), {"a": 120, "b": {"x": 60, "y": 60}}, [5.0, 5.0, 0.5], (15, 40), seed=11)
    path = str(tmp_path_factory.mktemp("settings") / "documents")
    corpus_frame(spark, corpus).repartition(3).write.parquet(path)
    return path


@pytest.fixture(scope="module")
def expected(spark: Any, saved: str) -> str:
    return bits(spark.read.parquet(saved))


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_fit_has_the_same_bits_under_any_session_setting(
    spark: Any, saved: str, expected: str, name: str
) -> None:
    with session_settings(spark, {**HOSTILE[name], SETTING: "8000000"}):
        assert bits(spark.read.parquet(saved)) == expected


@pytest.mark.parametrize("name", ["ANSI off", "37 shuffle partitions", "Arrow batches of one row"])
def test_the_same_on_executors(spark: Any, saved: str, expected: str, name: str) -> None:
    with session_settings(spark, {**HOSTILE[name], SETTING: "0"}):
        assert bits(spark.read.parquet(saved)) == expected
