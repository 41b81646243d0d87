"""Arrow and Parquet: list columns as NumPy arrays, columns computed in Python, finished Parquet directories."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import arrow_function
from spectral_spark.files.directories import staged, write_table_manifest
from spectral_spark.files.spark_paths import spark_location, spark_readable

_ROW_BY_ROW = "spectral_spark_row_by_row"


def flat_lists(column: pa.Array | pa.ChunkedArray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """All values of a list column (nulls as NaN, or −1 for whole numbers), and where each row's values start.

    A null list is an empty one. Returns arrays of shapes (values,) and (rows + 1,).
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = array.flatten()
    if flat.null_count:
        flat = pc.fill_null(flat, float("nan") if dtype is np.float64 else -1)
    return flat.to_numpy(zero_copy_only=False).astype(dtype), np.concatenate(([0], np.cumsum(lengths)))


def with_arrow_column(
    frame: DataFrame, name: str, function: Callable[..., pa.Array], arguments: Sequence[Column],
    kind: str = "array<double>",
) -> DataFrame:
    """Add a column of the given kind: ``function`` of the arguments, which it gets as Arrow arrays.

    Spark 4.3 passes the columns of files straight on to such functions, and fails if any column of the frame has a
    user-defined type such as Vector. In that case the function gets one more argument, to be ignored, which Spark can
    only compute row by row in a step of its own.
    """
    if '"type":"udt"' not in frame.schema.json():
        return frame.withColumn(name, arrow_function(frame, function, arguments, kind))
    marked = frame.withColumn(_ROW_BY_ROW, F.spark_partition_id())
    ignored = [*arguments, F.col(_ROW_BY_ROW)]
    return marked.withColumn(name, arrow_function(marked, function, ignored, kind)).drop(_ROW_BY_ROW)


def write_parquet(frame: DataFrame, path: str, kind: str, version: int, *, overwrite: bool = False) -> int:
    """Write a DataFrame as a Parquet directory that is complete or absent.

    ``kind`` and ``version`` go into ``_manifest.json``, which readers of Parquet skip, so that a later run knows what
    it may overwrite. Returns the number of rows, counted in the finished files.
    """
    with staged(path, kind, overwrite=overwrite) as place:
        frame.write.mode("append").parquet(spark_location(place))   # "append": the staging directory is already there
        rows = frame.sparkSession.read.parquet(spark_readable(place)).count()
        write_table_manifest(place, kind, version, {"rows": rows})
    return rows
