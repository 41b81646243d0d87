"""What the newest Spark has and older ones lack, in one place: all other code is written for the newest.

| needed | since | before |
|---|---|---|
| ``DataFrame.toArrow`` | 4.0 | the record batches that ``toPandas`` collects |
| ``createDataFrame`` of an Arrow table | 4.0 | rows, with the schema of the table |
| ``DataFrame.repartitionById`` | 4.1 | ``repartition`` by a number that Spark's hash sends to the wanted partition |
| ``functions.arrow_udf`` | 4.1 | ``pandas_udf`` around the same function |
| ``PySparkException.getCondition`` | 4.0 | ``getErrorClass``, the same under its old name |
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType, _parse_datatype_string

from spectral_spark.engine.session import check_spark_version
from spectral_spark.engine.spark_hash import murmur3

if TYPE_CHECKING:
    import pandas as pd

check_spark_version(pyspark.__version__)    # whoever imports an estimator hears it before something else is missing

_THERE = "_there"                   # beside the fields of a struct that pandas_udf returns: false for a null struct


def to_arrow(frame: Any) -> pa.Table:
    """The rows of a DataFrame as an Arrow table."""
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    if not hasattr(frame, "_collect_as_arrow"):             # Spark Connect of 3.5
        client = frame.sparkSession.client
        return client.to_table(frame._plan.to_proto(client))[0]
    batches = frame._collect_as_arrow()
    if batches:
        return pa.Table.from_batches(batches)
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema).empty_table()


def frame_from_arrow(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    if hasattr(DataFrame, "toArrow"):
        return spark.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return spark.createDataFrame(rows, from_arrow_schema(table.schema))


def repartition_by_id(frame: DataFrame, partitions: int, ids: Column) -> DataFrame:
    """The rows, each in the partition whose number ``ids`` gives, from 0 to ``partitions`` - 1."""
    if hasattr(DataFrame, "repartitionById"):
        return frame.repartitionById(partitions, ids)
    stand_ins = F.array(*(F.lit(int(value)) for value in hashed_to_each(partitions)))
    return frame.repartition(partitions, stand_ins[ids])


def hashed_to_each(partitions: int) -> np.ndarray:
    """For every partition a 32-bit integer that Spark's hash partitioning sends there."""
    found = np.full(partitions, -1, np.int64)
    start, step = 0, 16 * partitions + 64
    while (found < 0).any():
        values = np.arange(start, start + step, dtype=np.int64)
        places = murmur3(values.astype(np.uint32)).astype(np.int32).astype(np.int64) % partitions
        missing = found[places] < 0
        found[places[missing]] = values[missing]
        start += step
    return found


def arrow_function(
    frame: DataFrame, function: Callable[..., pa.Array], arguments: Sequence[Column], kind: str
) -> Column:
    """A column of the given kind: ``function`` of the arguments, which it gets as Arrow arrays."""
    if hasattr(F, "arrow_udf"):
        compute = F.arrow_udf(function, kind)               # type: ignore[call-overload]
        return compute(*arguments)
    return _through_pandas(frame, function, arguments, kind)


def _through_pandas(
    frame: DataFrame, function: Callable[..., pa.Array], arguments: Sequence[Column], kind: str
) -> Column:
    """The same by a function of pandas Series. A struct comes back with one more field, as pandas has no null rows."""
    import pandas as pd  # not above: workers import this module, and need no pandas
    from pyspark.sql.pandas.types import to_arrow_schema

    taken = frame.select(*(argument.alias(f"a{number}") for number, argument in enumerate(arguments)))
    types = [field.type for field in to_arrow_schema(taken.schema)]
    wanted = _parse_datatype_string(kind)
    struct = isinstance(wanted, StructType)
    fields = wanted.names if isinstance(wanted, StructType) else []

    def run(*columns: "pd.Series") -> "pd.Series | pd.DataFrame":
        given = [pa.Array.from_pandas(column, type=type) for column, type in zip(columns, types, strict=True)]
        result = function(*given)
        if not struct:
            return result.to_pandas()
        parts = {name: result.field(name).to_pandas() for name in fields}
        return pd.DataFrame(parts | {_THERE: result.is_valid().to_pandas()})

    # pandas_udf reads the kind of function from its annotations, which must not be strings or unions
    run.__annotations__ = {"columns": pd.Series, "return": pd.DataFrame if struct else pd.Series}
    if not isinstance(wanted, StructType):
        return F.pandas_udf(run, wanted)(*arguments)        # type: ignore[call-overload]
    there = StructType([*wanted.fields, StructField(_THERE, _parse_datatype_string("boolean"))])
    column = F.pandas_udf(run, there)(*arguments)           # type: ignore[call-overload]
    return F.when(column[_THERE], F.struct(*(column[name].alias(name) for name in fields)))


def error_condition(error: Any) -> str | None:
    """The name that Spark gives to an error, such as COLUMN_ALREADY_EXISTS."""
    name: str | None = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return name
