"""Sums of whole numbers on their way to the driver: only what is not zero, in as few bytes as hold it.

Whole numbers have the same sum in any order, so these need no fixed tree: what arrives is added.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

PART_CELLS = 1 << 20        # of an array in one piece
SCHEMA = "name string, part int, unit bigint, steps binary, cells binary"
ARROW_FIELDS = [
    ("name", pa.string()), ("part", pa.int32()), ("unit", pa.int64()), ("steps", pa.binary()), ("cells", pa.binary()),
]
COLUMNS = tuple(name for name, _ in ARROW_FIELDS)
_WIDTHS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def encode_counts(arrays: Mapping[str, np.ndarray]) -> Iterator[dict[str, object]]:
    """Arrays of whole numbers, none negative, as pieces with the columns of ``SCHEMA``."""
    for name, array in sorted(arrays.items()):
        flat = array.reshape(-1)
        for part, start in enumerate(range(0, len(flat), PART_CELLS)):
            piece = flat[start : start + PART_CELLS]
            used = np.flatnonzero(piece)
            if len(used):
                values = piece[used]
                unit = int(np.gcd.reduce(values))
                yield {"name": name, "part": part, "unit": unit, "steps": narrow(np.diff(used, prepend=0)),
                       "cells": narrow(values // unit)}


def add_counts(batches: Iterable[pa.RecordBatch], sums: Mapping[str, np.ndarray]) -> None:
    """Add pieces to int64 arrays of the shapes that they were cut from."""
    for batch in batches:
        for name, part, unit, steps, cells in pieces(batch):
            sums[name].reshape(-1)[part * PART_CELLS :][np.cumsum(steps)] += cells * unit


def add_pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, object]]:
    """Runs on an executor, with all pieces of the same cells in one partition: one piece instead of many."""
    sums: dict[tuple[str, int], np.ndarray] = {}
    for batch in batches:
        for name, part, unit, steps, cells in pieces(batch):
            total = sums.setdefault((name, part), np.zeros(PART_CELLS, np.int64))
            total[np.cumsum(steps)] += cells * unit
    for (name, part), total in sums.items():
        for piece in encode_counts({name: total}):
            yield {**piece, "part": part}


def pieces(batch: pa.RecordBatch) -> Iterator[tuple[str, int, int, np.ndarray, np.ndarray]]:
    """(name, part, unit, steps, cells) of every row."""
    name, part, unit, steps, cells = (batch.column(column) for column in COLUMNS)
    for row in range(batch.num_rows):
        yield (name[row].as_py(), part[row].as_py(), unit[row].as_py(), wide(steps[row].as_buffer()),
               wide(cells[row].as_buffer()))


def narrow(values: np.ndarray) -> bytes:
    """Whole numbers, none negative, in as few bytes as hold the largest; the first byte is their width."""
    largest = int(values.max(initial=0))
    width = next(size for size in _WIDTHS if largest < 1 << 8 * size)
    return bytes([width]) + values.astype(_WIDTHS[width]).tobytes()


def wide(data: pa.Buffer, dtype: type = np.int64) -> np.ndarray:
    """What :func:`narrow` has written."""
    raw = np.frombuffer(data, np.uint8)
    return raw[1:].view(_WIDTHS[int(raw[0])]).astype(dtype)
