"""Documents that are not in Spark: a pandas DataFrame, or a list of strings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml.linalg import SparseVector, Vector, Vectors
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine.session import start_session
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError
from spectral_spark.serve.topic_model import TopicModel

TEXT = "text"


def is_local(dataset: Any) -> bool:
    """Whether documents came as a pandas DataFrame, a string or a list of strings."""
    return is_texts(dataset) or isinstance(dataset, pd.DataFrame)


def is_texts(dataset: Any) -> bool:
    if isinstance(dataset, str):
        return True
    sequence = isinstance(dataset, list | tuple | pd.Series | np.ndarray)
    return sequence and all(_is_text(text) for text in dataset)


def check_documents(dataset: Any) -> None:
    """Refuse what is neither a DataFrame nor texts, such as lists of words."""
    if is_local(dataset) or hasattr(dataset, "sparkSession"):
        return
    what = type(dataset).__name__
    if isinstance(dataset, list | tuple | pd.Series | np.ndarray):
        what += f" of {next(type(item).__name__ for item in dataset if not _is_text(item))}"
    raise InputError(f"documents come as a Spark DataFrame, a pandas DataFrame or a list of strings, not as {what}; "
                     "join the words of a document with spaces, or give a DataFrame with their counts")


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
    return frame_from_arrow(spark, pa.table({name: _arrow(table[name]) for name in names}))


def _arrow(column: pd.Series) -> pa.Array:
    values = [_plain(value) for value in column]
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"column '{column.name}' mixes values of different types; make them all strings, or all lists "
                         "of strings") from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or _plain(value) is None


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


def local_proportions(table: pd.DataFrame, names: Mapping[str, Any], model: TopicModel) -> np.ndarray:
    """Topic proportions of a pandas DataFrame, shape (n, k), computed here; NaN where counts cannot be used.

    ``names`` are the model's column parameters.
    """
    paths = _paths(table, names)
    if names["textCol"] and model.recipe:
        _require(table, names["textCol"], "textCol")
        texts = [None if value is None else str(value) for value in map(_plain, table[names["textCol"]])]
        return model.infer(texts, paths)
    rows = _counts(table, names)
    lengths = [0 if row is None or len(row[0]) != len(row[1]) else len(row[0]) for row in rows]
    used = [row for row, length in zip(rows, lengths, strict=True) if row is not None and length]
    terms = np.concatenate([np.zeros(0, np.int64), *(row[0] for row in used)])
    counts = np.concatenate([np.zeros(0), *(row[1] for row in used)])
    shares, good = model.of_rows(terms, np.concatenate(([0], np.cumsum(lengths))), counts, paths)
    whole = np.array([row is not None and len(row[0]) == len(row[1]) for row in rows], bool)
    shares[~(good & whole)] = np.nan
    return shares


def _counts(table: pd.DataFrame, names: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """Word ids and counts of each document; None where they are missing."""
    if names["termsCol"]:
        for kind in ("termsCol", "countsCol"):
            _require(table, names[kind], kind)
        pairs = zip(*(map(_plain, table[names[kind]]) for kind in ("termsCol", "countsCol")), strict=True)
        return [None if terms is None else (_numbers(terms, -1).astype(np.int64), _numbers(counts or [], np.nan))
                for terms, counts in pairs]
    _require(table, names["featuresCol"], "featuresCol")
    vectors = [_sparse(value) for value in table[names["featuresCol"]]]
    return [None if vector is None else (vector.indices.astype(np.int64), vector.values) for vector in vectors]


def _numbers(values: Sequence[Any], missing: float) -> np.ndarray:
    return np.array([missing if value is None else value for value in values], np.float64)


def _sparse(value: Any) -> SparseVector | None:
    if value is None or isinstance(value, SparseVector):
        return value
    dense = np.asarray(value.toArray() if isinstance(value, Vector) else value, float)
    return Vectors.sparse(len(dense), np.arange(len(dense)), dense)


def _paths(table: pd.DataFrame, names: Mapping[str, Any]) -> list[tuple[str | None, ...]]:
    """The path of each document; the root where there is no such column."""
    columns = names["pathCols"] or [names["pathCol"]]
    if any(name not in table.columns for name in columns):
        return [()] * len(table)
    rows = zip(*([_plain(value) for value in table[name]] for name in columns), strict=True)
    paths = [row[0] if isinstance(row[0], list) else row for row in rows]
    return [tuple(None if part is None else str(part) for part in path) for path in paths]


def _require(table: pd.DataFrame, name: str, parameter: str) -> None:
    if name not in table.columns:
        raise InputError(
            f"there is no column '{name}' ({parameter}); the columns are {', '.join(map(str, table.columns))}"
        )
