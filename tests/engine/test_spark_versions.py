"""What older releases of Spark lack does the same there as on the newest one."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spectral_spark.engine.session import check_spark_version
from spectral_spark.engine.spark_hash import murmur3, text_hashes, text_partitions
from spectral_spark.engine.spark_versions import (
    _through_pandas,
    arrow_function,
    frame_from_arrow,
    hashed_to_each,
    repartition_by_id,
    to_arrow,
)
from spectral_spark.errors import SettingsError

pytestmark = pytest.mark.smoke


def test_the_hash_is_that_of_spark(spark: Any) -> None:
    rows = spark.range(200).select(F.hash(F.col("id").cast("int")).alias("hash")).collect()
    assert murmur3(np.arange(200)).astype(np.int32).tolist() == [row.hash for row in rows]


def test_the_hash_of_texts_is_that_of_spark(spark: Any) -> None:
    texts = ["", "a", "ab", "abc", "abcd", "wine/0001bce1f8c3", "größe", "\u4e2d\u6587", "\U0001f600 x",
             "y" * 301, "\0", "é"]
    frame = frame_from_arrow(spark, pa.table({"text": texts}))
    rows = {row.text: row for row in frame.repartition(7, "text").select(
        "text", F.hash("text").alias("hash"), F.spark_partition_id().alias("at")).collect()}
    column = pa.array(["left out", *texts]).slice(1)
    assert text_hashes(column).view(np.int32).tolist() == [rows[text].hash for text in texts]
    assert text_partitions(column, 7).tolist() == [rows[text].at for text in texts]
    assert not len(text_hashes(column[:0]))


@pytest.mark.parametrize("partitions", [1, 7, 64])
def test_rows_go_to_the_partition_they_name(spark: Any, partitions: int) -> None:
    frame = spark.range(3 * partitions).withColumn("to", (F.col("id") % partitions).cast("int"))
    stand_ins = F.array(*(F.lit(int(value)) for value in hashed_to_each(partitions)))
    by_hash = frame.repartition(partitions, stand_ins[F.col("to")])
    for moved in (by_hash, repartition_by_id(frame, partitions, F.col("to"))):
        there = moved.withColumn("at", F.spark_partition_id())
        assert there.rdd.getNumPartitions() == partitions
        assert there.filter("at != to").count() == 0


def test_tables_go_to_spark_and_back(spark: Any) -> None:
    table = pa.table({"id": pa.array([1, 2], pa.int32()), "path": pa.array([["a", "b"], []], pa.list_(pa.string()))})
    back = to_arrow(frame_from_arrow(spark, table).orderBy("id"))
    assert back.to_pydict() == table.to_pydict()
    empty = to_arrow(frame_from_arrow(spark, table).filter("id > 5"))
    assert (empty.num_rows, empty.column_names) == (0, ["id", "path"])


def _sums(lists: pa.Array, *_: pa.Array) -> pa.Array:
    return pa.array([None if row is None else [float(sum(row))] for row in lists.to_pylist()], pa.list_(pa.float64()))


def _ends(lists: pa.Array) -> pa.Array:
    rows: Sequence[Any] = lists.to_pylist()
    return pa.array([{"first": row[0], "all": row} if row else None for row in rows],
                    pa.struct([("first", pa.int64()), ("all", pa.list_(pa.int64()))]))


@pytest.mark.parametrize("make", [arrow_function, _through_pandas])
def test_functions_of_arrow_arrays_keep_nulls_and_structs(spark: Any, make: Any) -> None:
    large = (1 << 62) + 1                                   # would not survive a float
    frame = spark.createDataFrame([(1, [large, -large, 3]), (2, []), (3, None)], "id int, values array<long>")
    added = frame.withColumn("sums", make(frame, _sums, [F.col("values")], "array<double>"))
    added = added.withColumn("ends", make(added, _ends, [F.col("values")], "struct<first:bigint,all:array<bigint>>"))
    rows = added.orderBy("id").collect()
    assert [row.sums for row in rows] == [[3.0], [0.0], None]
    assert rows[0].ends.asDict() == {"first": large, "all": [large, -large, 3]}
    assert [row.ends for row in rows[1:]] == [None, None]


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4"])
def test_a_spark_that_is_too_old_is_refused_in_one_sentence(version: str) -> None:
    with pytest.raises(SettingsError, match=rf"this is Spark {version}, and spectral_spark needs 3\.5 or newer"):
        check_spark_version(version)


def test_an_estimator_is_not_imported_beside_a_spark_that_is_too_old() -> None:
    code = "import pyspark; pyspark.__version__ = '3.4.4'; from spectral_spark import SpectralHDP"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SettingsError: this is Spark 3.4.4, and spectral_spark needs 3.5 or newer" in done.stderr


@pytest.mark.parametrize("version", ["3.5.0", "4.0.5", "4.10.0.dev1", "5.0.0"])
def test_other_versions_are_taken(version: str) -> None:
    check_spark_version(version)
