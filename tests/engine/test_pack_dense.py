"""Vectors of any form arrive in the kernels as they were, in the same batches whatever the partitioning."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.engine.choose_corpus import SETTING, open_rows
from spectral_spark.engine.driver_corpus import DriverCorpus
from spectral_spark.engine.executor_corpus import ExecutorCorpus
from spectral_spark.engine.pack_dense import block_rows
from spectral_spark.engine.rows import inspect_rows
from spectral_spark.errors import InputError


class Powers:
    """Sums whose bits depend on the order of the rows, and the largest difference between a row and its key's row."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "Powers":
        fresh = Powers()
        fresh.total, fresh.count = np.zeros(3), np.zeros(1)
        return fresh

    def add(self, batch: DenseBatch) -> None:
        self.count += batch.n_rows
        for row in batch.values:
            self.total += np.nan_to_num(row[:3], nan=-7.0) ** 3 / 7.0

    def arrays(self) -> dict[str, np.ndarray]:
        return {"total": self.total, "count": self.count}


def summed(frame: Any, **options: Any) -> dict[str, np.ndarray]:
    with open_rows(inspect_rows(frame, "x", **options)) as corpus:
        return corpus.sum(Powers(), {}, name="test")


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((700, 5)).round(2)


def test_arrays_and_vectors_dense_or_sparse_hold_the_same_numbers(spark: Any, values: np.ndarray) -> None:
    arrays = spark.createDataFrame([(row.tolist(),) for row in values], "x array<double>")
    mixed = spark.createDataFrame([
        (Vectors.dense(row) if i % 2 else Vectors.sparse(5, {j: float(v) for j, v in enumerate(row)}),)
        for i, row in enumerate(values)
    ], ["x"])
    expected = (values[:, :3] ** 3 / 7).sum(axis=0)
    for frame in (arrays, mixed, arrays.select(F.col("x").cast("array<float>").alias("x"))):
        sums = summed(frame)
        np.testing.assert_allclose(sums["total"], expected, rtol=1e-5)
        assert sums["count"][0] == 700


def test_partitioning_does_not_change_a_bit(spark: Any, values: np.ndarray) -> None:
    frame = spark.createDataFrame([(row.tolist(),) for row in values], "x array<double>")
    one = summed(frame.coalesce(1))
    many = summed(frame.orderBy(F.rand(3)).repartition(7))
    assert one["total"].tobytes() == many["total"].tobytes()


@pytest.mark.parametrize("kind", ["dense", "sparse", "single", "missing"])
def test_the_driver_has_the_bits_of_the_executors(spark: Any, values: np.ndarray, kind: str) -> None:
    if kind == "sparse":
        rows = [(Vectors.sparse(5, {j: float(v) for j, v in enumerate(row) if v > 0}),) for row in values]
        frame = spark.createDataFrame(rows, ["x"])
    else:
        rows = [([None if kind == "missing" and v > 2 else float(v) for v in row],) for row in values]
        frame = spark.createDataFrame(rows, "x array<float>" if kind == "single" else "x array<double>")
    source = inspect_rows(frame.repartition(5), "x", missing_allowed=True)
    sums = []
    for entries, expected in (("0", ExecutorCorpus), (str(values.size), DriverCorpus)):
        spark.conf.set(SETTING, entries)
        with open_rows(source) as corpus:
            assert isinstance(corpus, expected)
            sums.append(corpus.sum(Powers(), {}, name="test"))
    assert sums[0]["total"].tobytes() == sums[1]["total"].tobytes()
    assert sums[0]["count"][0] == sums[1]["count"][0] == len(values)


def test_large_states_stay_on_the_executors(spark: Any, values: np.ndarray) -> None:
    source = inspect_rows(spark.createDataFrame([(row.tolist(),) for row in values], "x array<double>"), "x")
    spark.conf.set(SETTING, "1000000")
    with open_rows(source, state_bytes=1 << 30) as corpus:
        assert isinstance(corpus, ExecutorCorpus)


def test_ids_make_the_order(spark: Any, values: np.ndarray) -> None:
    frame = spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(values)], "id int, x array<double>")
    one, many = (summed(part, id_column="id") for part in (frame.coalesce(1), frame.repartition(5)))
    assert one["total"].tobytes() == many["total"].tobytes()


def test_nulls_and_nan_arrive_as_nan(spark: Any) -> None:
    schema = StructType([StructField("x", ArrayType(DoubleType()))])
    frame = spark.createDataFrame([([1.0, None, 2.0],), ([float("nan"), 1.0, 1.0],)], schema)
    expected = np.array([[1, -7, 2], [-7, 1, 1]]) ** 3 / 7.0
    for allowed in (False, True):
        np.testing.assert_allclose(summed(frame, missing_allowed=allowed)["total"], expected.sum(axis=0))


def test_single_precision_stays_single(spark: Any) -> None:
    schema = StructType([StructField("x", ArrayType(FloatType()))])
    source = inspect_rows(spark.createDataFrame([([1.5, 2.5, 3.5],)], schema), "x")
    assert source.single
    assert (source.rows, source.width) == (1, 3)


def test_fingerprint_is_of_the_content(spark: Any, values: np.ndarray) -> None:
    frame = spark.createDataFrame([(row.tolist(),) for row in values], "x array<double>")
    assert inspect_rows(frame, "x").fingerprint == inspect_rows(frame.repartition(3), "x").fingerprint
    assert inspect_rows(frame, "x").fingerprint != inspect_rows(frame.limit(699), "x").fingerprint


@pytest.mark.parametrize(("rows", "schema", "message"), [
    ([([1.0, 2.0],), ([1.0],)], "x array<double>", "different lengths"),
    ([([1.0, 2.0],), (None,)], "x array<double>", "1 of 2 rows have no vector"),
    ([("a",)], "x string", "neither a pyspark.ml Vector nor an array of numbers"),
    ([([],)], "x array<double>", "no entries"),
    ([([1.0],)], "y array<double>", "no column 'x'"),
    ([], "x array<double>", "DataFrame is empty"),
])
def test_bad_columns_are_refused(spark: Any, rows: list, schema: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        inspect_rows(spark.createDataFrame(rows, schema), "x")


def test_blocks_hold_about_two_megabytes() -> None:
    assert block_rows(100) == 2048
    assert block_rows(1000) == 262
    assert block_rows(100_000) == 32
