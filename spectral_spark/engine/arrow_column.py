"""A column computed in Python, batch by batch."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType

_MARK = "spectral_spark_row_by_row"


def with_arrow_column(
    frame: DataFrame, name: str, function: Callable[..., pa.Array], arguments: Sequence[Column]
) -> DataFrame:
    """The frame with one more column of array<double>, ``function`` of Arrow arrays of the arguments.

    Spark 4.3 passes columns of files on to such functions as they are, and fails where one of the frame's columns is of
    a user-defined type such as a Vector. There the function gets one more argument, which Spark can only compute row by
    row in a step of its own, and which is to be ignored.
    """
    compute = F.arrow_udf(function, ArrayType(DoubleType()))  # type: ignore[call-overload]
    if '"type":"udt"' not in frame.schema.json():
        return frame.withColumn(name, compute(*arguments))
    marked = frame.withColumn(_MARK, F.spark_partition_id())
    return marked.withColumn(name, compute(*arguments, F.col(_MARK))).drop(_MARK)
