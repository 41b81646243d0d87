"""Turns a DataFrame of real vectors into the columns that the engine works on, and checks them before any pass."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, FloatType, NumericType

from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError


@dataclass(frozen=True)
class RowFrame:
    """Vectors in working columns, with the counts of a first scan.

    Attributes
    ----------
    frame : DataFrame of (key long, tie long, indices array<int>, values array); indices are null in dense rows.
    rows : rows in the input.
    width : length d of every vector.
    single : the values are single precision, and so is the working copy.
    fingerprint : hash of the content, independent of its order and partitioning.
    """

    frame: DataFrame
    rows: int
    width: int
    single: bool
    fingerprint: str


def vector_columns(frame: DataFrame, features: str, *, missing_allowed: bool = False) -> tuple[Column, Column, Column]:
    """Size, indices (null when dense) and values of a Vector column or a column of arrays of numbers.

    If missing values are allowed, nulls inside an array become NaN, so that the hash of a row depends on their places.
    """
    kind = _type_of(frame, features)
    column = F.col(f"`{features}`")
    if _is_vector(kind):
        vector = F.unwrap_udt(column)
        return F.coalesce(vector["size"], F.size(vector["values"])), vector["indices"], vector["values"]
    assert isinstance(kind, ArrayType)
    values = column if isinstance(kind.elementType, FloatType) else column.cast("array<double>")
    if missing_allowed and kind.containsNull:
        empty = F.lit(float("nan")).cast("float" if isinstance(kind.elementType, FloatType) else "double")
        values = F.transform(values, lambda value: F.coalesce(value, empty))
    return F.size(column), F.lit(None).cast("array<int>"), values


def inspect_rows(
    frame: DataFrame, features: str, id_column: str | None = None, *, missing_allowed: bool = False
) -> RowFrame:
    """A first scan of all rows, on the JVM: their number, their length, and a fingerprint of the content."""
    size, indices, values = vector_columns(frame, features, missing_allowed=missing_allowed)
    base = frame.select(
        size.alias("size"), indices.alias("indices"), values.alias("values"),
        *([_id(frame, id_column).alias("id")] if id_column else []),
    )
    tie = F.xxhash64("indices", "values")
    key = F.xxhash64("id") if id_column else tie
    working = base.select(key.alias("key"), tie.alias("tie"), "size", "indices", "values")
    row = working.agg(
        F.count(F.lit(1)).alias("rows"), F.min("size").alias("least"), F.max("size").alias("most"),
        F.count_if(F.col("values").isNull()).alias("empty"), _content().alias("content"),
    ).first()
    if row is None or row["rows"] == 0:
        raise InputError("there are no rows: the DataFrame is empty")
    if row["empty"]:
        raise InputError(f"column '{features}': {row['empty']} of {row['rows']} rows have no vector; drop them first")
    if row["least"] != row["most"]:
        raise InputError(
            f"column '{features}': vectors of different lengths ({row['least']} and {row['most']}); all rows need the "
            "same columns"
        )
    if not row["most"]:
        raise InputError(f"column '{features}': the vectors have no entries")
    single = not _is_vector(_type_of(frame, features)) and _element(_type_of(frame, features)) is FloatType
    width = int(row["most"])
    return RowFrame(working.drop("size"), int(row["rows"]), width, single, _fingerprint(row, width))


def without_rows(source: RowFrame, keys: np.ndarray) -> RowFrame | None:
    """The rows whose key is not among ``keys``; None if none is left."""
    spark = source.frame.sparkSession
    unwanted = frame_from_arrow(spark, pa.table({"key": pa.array(np.unique(keys), pa.int64())}))
    frame = source.frame.join(F.broadcast(unwanted), "key", "left_anti").select(*source.frame.columns)
    row = frame.agg(F.count(F.lit(1)).alias("rows"), _content().alias("content")).first()
    if row is None or not row["rows"]:
        return None
    return replace(source, frame=frame, rows=int(row["rows"]), fingerprint=_fingerprint(row, source.width))


def _content() -> Column:
    return F.sum(F.xxhash64("key", "tie").cast("decimal(20,0)"))


def _fingerprint(row: Row, width: int) -> str:
    return f"{row['rows']}:{width}:{int(row['content']) % (1 << 64):016x}"


def dense_matrix(indices: pa.Array, values: pa.Array, width: int, dtype: type) -> np.ndarray:
    """Rows of Arrow lists as an array of shape (n, width); nulls and NaN are NaN.

    No list may be null; a row without indices is dense and must have ``width`` values.
    """
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False)
    flat = values.flatten()
    if flat.null_count:
        flat = pc.fill_null(flat, float("nan"))
    numbers = flat.to_numpy(zero_copy_only=False).astype(dtype, copy=False)
    if indices.null_count == len(indices):
        refuse_other_width(lengths, width)
        return numbers.reshape(len(values), width)
    dense_rows = indices.is_null().to_numpy(zero_copy_only=False)
    matrix: np.ndarray = np.zeros((len(values), width), dtype)
    owner = np.repeat(np.arange(len(values)), lengths)
    of_dense = dense_rows[owner]
    refuse_other_width(lengths[dense_rows], width)
    matrix[dense_rows] = numbers[of_dense].reshape(-1, width)
    matrix[owner[~of_dense], indices.flatten().to_numpy()] = numbers[~of_dense]
    return matrix


def refuse_other_width(sizes: np.ndarray, width: int) -> None:
    """Raise an error if the vectors do not have as many entries as the model has columns."""
    wrong = sizes[sizes != width]
    if len(wrong):
        raise InputError(
            f"a row has {int(wrong[0])} values; the model has {width} columns: give it rows like those it was fitted to"
        )


def _type_of(frame: DataFrame, features: str) -> DataType:
    if features not in frame.columns:
        raise InputError(f"there is no column '{features}' (featuresCol); the columns are {', '.join(frame.columns)}")
    kind = frame.schema[features].dataType
    if _is_vector(kind) or (isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType)):
        return kind
    raise InputError(
        f"column '{features}' is {kind.simpleString()}, neither a pyspark.ml Vector nor an array of numbers"
    )


def _element(kind: Any) -> type:
    return type(kind.elementType)


def _is_vector(kind: DataType) -> bool:
    return "VectorUDT" in type(kind).__name__


def _id(frame: DataFrame, name: str) -> Column:
    if name not in frame.columns:
        raise InputError(f"there is no column '{name}' (`idCol`); the columns are {', '.join(frame.columns)}")
    return F.col(f"`{name}`").cast("string")
