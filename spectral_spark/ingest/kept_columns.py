"""Columns that are carried from the source into the corpus: their types, and how readers hand them over."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import DataType, DateType, DoubleType, StringType, StructField, StructType

from spectral_spark.errors import InputError

KEPT = "kept"
_TYPES: dict[str, tuple[pa.DataType, DataType]] = {
    "date": (pa.date32(), DateType()), "rating": (pa.float64(), DoubleType()),
}
_TEXT: tuple[pa.DataType, DataType] = (pa.string(), StringType())
_SIMPLE = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date",
           "timestamp", "timestamp_ntz", "varchar", "char")


def kept_schema(names: Sequence[str]) -> StructType | None:
    """Types of the columns of mails or reviews; None if none is kept."""
    fields = [StructField(name, _TYPES.get(name, _TEXT)[1]) for name in names]
    return StructType(fields) if fields else None


def with_kept(batch: pa.RecordBatch, names: Sequence[str], rows: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    """The batch with a column ``kept``, a struct of the named values of every row."""
    if not names:
        return batch
    listed = list(rows)
    arrays = [pa.array([row.get(name) for row in listed], _TYPES.get(name, _TEXT)[0]) for name in names]
    kept = pa.StructArray.from_arrays(arrays, names=list(names))
    return pa.RecordBatch.from_arrays([*batch.columns, kept], names=[*batch.schema.names, KEPT])


def table_schema(schema: StructType, names: Sequence[str]) -> StructType | None:
    """Types of the columns of a table that are kept; refuses lists, maps and other types that are no single values."""
    fields = [schema[name] for name in names]
    for field in fields:
        kind = field.dataType.simpleString()
        if kind.split("(", 1)[0] not in _SIMPLE:
            raise InputError(f"column '{field.name}' is {kind[:100]}; only single values (text, numbers, dates) can be "
                             "kept")
    return StructType([StructField(field.name, field.dataType) for field in fields]) if fields else None
