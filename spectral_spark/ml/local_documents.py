"""Documents that are not in Spark: a pandas DataFrame, or a list of strings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml.linalg import SparseVector, Vector, Vectors
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine.session import start_session
from spectral_spark.errors import InputError
from spectral_spark.ml.inference import Proportions
from spectral_spark.text.text_recipe import TextCounter

TEXT = "text"


def is_local(dataset: Any) -> bool:
    """Whether documents came as a pandas DataFrame, a string or a list of strings."""
    return is_texts(dataset) or isinstance(dataset, pd.DataFrame)


def is_texts(dataset: Any) -> bool:
    if isinstance(dataset, str):
        return True
    sequence = isinstance(dataset, list | tuple | pd.Series | np.ndarray)
    return sequence and all(text is None or isinstance(text, str) for text in dataset)


def as_table(dataset: Any, text_column: str) -> pd.DataFrame:
    """Local documents as a pandas DataFrame."""
    if isinstance(dataset, pd.DataFrame):
        return dataset
    texts = [dataset] if isinstance(dataset, str) else list(dataset)
    return pd.DataFrame({text_column: pd.Series(texts, dtype=object)})


def to_spark(table: pd.DataFrame, columns: Sequence[str | None]) -> DataFrame:
    """Those of the columns that exist, in Spark; a session is started where none is running."""
    names = [name for name in dict.fromkeys(columns) if name is not None and name in table.columns]
    if not names:
        raise InputError(
            f"the pandas DataFrame has none of the columns {', '.join(str(name) for name in columns if name)}; its "
            f"columns are {', '.join(map(str, table.columns))}. Set textCol to a column of text"
        )
    spark = SparkSession.getActiveSession() or start_session("spectral_spark")
    vectors = [name for name in names if _has_vectors(table[name])]
    if vectors:
        rows = [tuple(_plain(value) for value in row) for row in table[names].itertuples(index=False)]
        return spark.createDataFrame(rows, names)
    return spark.createDataFrame(pa.table({name: _arrow(table[name]) for name in names}))


def _arrow(column: pd.Series) -> pa.Array:
    values = [_plain(value) for value in column]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"column '{column.name}' mixes values of different types; make them all strings, or all lists "
                         "of strings") from None


def _plain(value: Any) -> Any:
    """A value that Arrow and Spark understand; missing ones are null."""
    if isinstance(value, np.ndarray | tuple):
        return list(value)
    if isinstance(value, np.generic):
        value = value.item()
    missing = value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))
    return None if missing else value


def _has_vectors(column: pd.Series) -> bool:
    return any(isinstance(value, Vector) for value in column.head(20))


def local_proportions(
    table: pd.DataFrame, names: Mapping[str, Any], model: Proportions, paths: Sequence[tuple[str, ...]],
    counter: TextCounter | None,
) -> np.ndarray:
    """Topic proportions of a pandas DataFrame, shape (n, k), computed here; NaN where counts cannot be used.

    ``names`` are the model's column parameters; ``paths`` the tree nodes that the model knows.
    """
    terms, counts = _counts(table, names, counter)
    known = {path: node for node, path in enumerate(paths)}
    nodes = np.array([_deepest(path, known) for path in _paths(table, names)], np.int32)
    rows = model.of(terms, counts, nodes)
    good = rows.is_valid().to_numpy(zero_copy_only=False)
    shares = np.full((len(table), model.topics.shape[1]), np.nan)
    shares[good] = rows.flatten().to_numpy(zero_copy_only=False).reshape(int(good.sum()), -1)
    return shares


def _counts(table: pd.DataFrame, names: Mapping[str, Any], counter: TextCounter | None) -> tuple[pa.Array, pa.Array]:
    if names["textCol"] and counter:
        _require(table, names["textCol"], "textCol")
        texts = [None if value is None else str(value) for value in map(_plain, table[names["textCol"]])]
        counted = counter(pa.array(texts, pa.string()))
        return counted.field("terms"), counted.field("counts")
    if names["termsCol"]:
        for kind in ("termsCol", "countsCol"):
            _require(table, names[kind], kind)
        terms = pa.array(map(_plain, table[names["termsCol"]]), pa.list_(pa.int64()))
        return terms, pa.array(map(_plain, table[names["countsCol"]]), pa.list_(pa.float64()))
    _require(table, names["featuresCol"], "featuresCol")
    vectors = [_sparse(value) for value in table[names["featuresCol"]]]
    terms = pa.array([None if v is None else v.indices.tolist() for v in vectors], pa.list_(pa.int64()))
    return terms, pa.array([None if v is None else v.values.tolist() for v in vectors], pa.list_(pa.float64()))


def _sparse(value: Any) -> SparseVector | None:
    if value is None or isinstance(value, SparseVector):
        return value
    dense = np.asarray(value.toArray() if isinstance(value, Vector) else value, float)
    return Vectors.sparse(len(dense), np.arange(len(dense)), dense)


def _paths(table: pd.DataFrame, names: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The path of each document; the root where there is no such column or a name is missing."""
    columns = names["pathCols"] or [names["pathCol"]]
    if any(name not in table.columns for name in columns):
        return [()] * len(table)
    rows = zip(*([_plain(value) for value in table[name]] for name in columns), strict=True)
    paths = [tuple(row[0]) if isinstance(row[0], list) else row for row in rows]
    return [() if any(part is None for part in path) else tuple(map(str, path)) for path in paths]


def _deepest(path: tuple[str, ...], known: Mapping[tuple[str, ...], int]) -> int:
    return next((known[path[:level]] for level in range(len(path), -1, -1) if path[:level] in known), 0)


def _require(table: pd.DataFrame, name: str, parameter: str) -> None:
    if name not in table.columns:
        raise InputError(
            f"there is no column '{name}' ({parameter}); the columns are {', '.join(map(str, table.columns))}"
        )
