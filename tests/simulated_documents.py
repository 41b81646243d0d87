"""One simulated corpus with three layers, as a DataFrame, shared by the tests of the estimators."""

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp


def corpus_frame(spark: SparkSession, corpus: SimulatedCorpus) -> DataFrame:
    return frame_from_arrow(spark, corpus.table())


@pytest.fixture(scope="session")
def simulated() -> SimulatedCorpus:
    weights = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    return simulate_hdp((300, 5), {"a": 1500, "b": {"x": 800, "y": 700}}, [8.0, 8.0, 0.5], (20, 80), seed=3,
                        root_weights=weights)


@pytest.fixture(scope="session")
def documents(spark: SparkSession, simulated: SimulatedCorpus) -> DataFrame:
    frame = corpus_frame(spark, simulated).repartition(4).cache()
    frame.count()
    return frame


@pytest.fixture(scope="session")
def vectors(spark: SparkSession, simulated: SimulatedCorpus) -> DataFrame:
    rows, batch = [], simulated.batch
    for i in range(400):
        entries = slice(batch.indptr[i], batch.indptr[i + 1])
        pairs = sorted(zip(batch.terms[entries].tolist(), batch.counts[entries].tolist(), strict=True))
        rows.append((f"d{i}", list(simulated.tree.paths[batch.nodes[i]]), Vectors.sparse(batch.vocab_size, pairs)))
    return spark.createDataFrame(rows, ["doc_id", "path", "features"]).cache()
