"""Columns of tables that were read from a disk, as arrays and names whose values have been checked."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectral_spark.errors import FormatError
from spectral_spark.files.safe_reading import REMEDY, damaged

Path = tuple[str, ...]


def checked_columns(table: pa.Table, columns: Sequence[str], where: str) -> pa.Table:
    """The table, if it has all the columns."""
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise FormatError(f"'{where}' has no column '{missing[0]}'; it was written by something else: {REMEDY}")
    return table


def numbers_of(table: pa.Table, column: str, where: str) -> np.ndarray:
    """A column of finite numbers, none of them missing or negative."""
    values = table[column]
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise damaged(where, f"column '{column}' holds {values.type}, not numbers")
    numbers = _joined(values.chunks)
    if values.null_count or not np.all(np.isfinite(numbers)) or (len(numbers) and numbers.min() < 0):
        raise damaged(where, f"in column '{column}' a number is missing, negative or not finite")
    return numbers


def matrix_of(table: pa.Table, column: str, where: str) -> np.ndarray:
    """A column of lists of equal length as an array with one row per list; the numbers are finite."""
    values = table[column]
    kind = values.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_floating(kind.value_type):
        raise damaged(where, f"column '{column}' holds {kind}, not lists of numbers")
    widths = pc.unique(pc.list_value_length(values)).to_pylist()
    if len(widths) != 1 or widths[0] is None:
        raise damaged(where, f"rows of '{column}' are missing or of unequal length")
    matrix = _joined([chunk.flatten() for chunk in values.chunks])
    if not np.all(np.isfinite(matrix)):
        raise damaged(where, f"in column '{column}' a number is missing or not finite")
    return matrix.reshape(len(values), -1)


def _joined(chunks: Sequence[pa.Array]) -> np.ndarray:
    """All numbers of an Arrow column. ``to_numpy`` would import pandas, a third of a second for a process that scores a
    single text."""
    parts = [
        np.from_dlpack(chunk) if len(chunk) and not chunk.null_count else chunk.to_numpy(zero_copy_only=False)
        for chunk in chunks
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def names_of(table: pa.Table, column: str, where: str) -> tuple[str, ...]:
    """A column of texts, none of them missing."""
    values = table[column]
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)) or values.null_count:
        raise damaged(where, f"column '{column}' holds {values.type} or misses a value, where names belong")
    return tuple(values.to_pylist())


def paths_of(table: pa.Table, where: str) -> list[Path]:
    """The column ``path``: lists of names, none missing, each once, every parent before its children."""
    values = table["path"]
    kind = values.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise damaged(where, f"column 'path' holds {kind}, not lists of names")
    paths = [tuple(path) if path is not None else (None,) for path in values.to_pylist()]
    if any(not isinstance(name, str) for path in paths for name in path):
        raise damaged(where, "a path, or a name in it, is missing or not text")
    seen: set[Path] = set()
    for path in paths:
        if path in seen or (path and path[:-1] not in seen):
            raise damaged(where, f"the node {'/'.join(path) or 'at the root'} is there twice, or before its parent")
        seen.add(path)
    return paths


def check_order(table: pa.Table, column: str, where: str) -> None:
    """Refuse a table whose rows, where the column numbers them, are not in the order 0, 1, 2, …"""
    if column in table.column_names and table[column].to_pylist() != list(range(table.num_rows)):
        raise damaged(where, f"its rows are not in the order of '{column}'")


def check_shares(shares: np.ndarray, what: str, where: str) -> None:
    """Refuse rows of shares that are negative or do not sum to one."""
    if shares.size == 0 or shares.min() < 0 or not np.allclose(shares.sum(axis=-1), 1.0, atol=1e-6):
        raise damaged(where, f"{what} is negative or does not sum to one")
