"""Bytes from a disk, turned into JSON, arrays and tables without trusting them.

Nothing is unpickled. Sizes are compared with the bytes that are there, and with the memory of this machine, before
anything is allocated. Whatever is wrong becomes a FormatError that names the file and says what to do.
"""

import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spectral_spark.errors import FormatError, SpectralError

MOST_JSON = 1 << 28                       # bytes of JSON that are read; ours have at most a few million
REMEDY = "restore it from a copy, or make it again"


def damaged(where: str, what: str) -> FormatError:
    """The error for a file that cannot be used."""
    return FormatError(f"'{where}' is damaged: {what}; {REMEDY}")


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn whatever goes wrong with what was read at ``where`` into a FormatError."""
    try:
        yield
    except SpectralError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
            ValueError, pa.ArrowException) as error:
        text = str(error).splitlines()
        raise damaged(where, f"{type(error).__name__}{f' ({text[0][:200]})' if text else ''}") from error


def parse_json(data: bytes, where: str) -> Any:
    """A JSON value; ``NaN`` and ``Infinity``, which are not JSON, and numbers out of range are refused."""
    if len(data) >= MOST_JSON:
        raise damaged(where, f"it has more than {MOST_JSON >> 20} MiB of JSON")
    try:
        return json.loads(data, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise FormatError(f"'{where}' is not JSON of ours (it is nested too deeply); {REMEDY}") from None
    except ValueError as error:
        raise FormatError(f"'{where}' is not JSON ({error}); {REMEDY}") from None


def parse_object(data: bytes, where: str) -> dict[str, Any]:
    """A JSON object; another value is refused."""
    value = parse_json(data, where)
    if not isinstance(value, dict):
        raise damaged(where, f"it holds {_called(value)} where an object belongs")
    return value


def parse_array(data: bytes, where: str) -> np.ndarray:
    """An array from the bytes of a ``.npy`` file, which must have as many as its header says."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read_header[version](stream)
    except (ValueError, KeyError, TypeError, EOFError, SyntaxError, TokenError, RecursionError, MemoryError):
        raise damaged(where, "it is not an array that this package writes") from None
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        raise damaged(where, f"it holds {dtype}, not numbers; objects are never unpickled (allow_pickle is off)")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise damaged(where, f"its header promises {' × '.join(map(str, shape)) or 1} numbers, which are not in it")
    stream.seek(0)
    with reading(where):
        return np.lib.format.read_array(stream, allow_pickle=False)


def parse_table(data: bytes, where: str) -> pa.Table:
    """A table from the bytes of a Parquet file."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        check_table_size(file.metadata, where)
        table = file.read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, SpectralError):
            raise
        raise FormatError(f"'{where}' is not a complete Parquet file ({first_line(error)}); {REMEDY}") from None
    return table


def check_table_size(metadata: pq.FileMetaData, where: str) -> None:
    """Refuse a Parquet file that would not fit this machine: a few bytes can stand for any number of values."""
    need = 0
    for group in range(metadata.num_row_groups):
        columns = metadata.row_group(group)
        for number in range(columns.num_columns):
            column = columns.column(number)
            need += max(column.num_values * 8, column.total_uncompressed_size)
    if need < 0 or need > machine_memory():
        raise FormatError(f"'{where}' would need {need / 2**30:,.0f} GiB of memory, more than this machine has; it is "
                          f"damaged, or too large for this machine: {REMEDY}, or use a larger one")


def machine_memory() -> int:
    """Bytes of memory in this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 36


def first_line(error: BaseException) -> str:
    """The first line of an error's message, not too long."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is out of range")
    return value


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _called(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
