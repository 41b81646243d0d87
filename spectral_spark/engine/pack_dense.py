"""Pack real vectors: blocks of rows as one binary value each, in logical shards."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.data.hashing import next_bits
from spectral_spark.engine.packing import Packing, cut_blocks, shard_count
from spectral_spark.engine.rows import RowFrame, dense_matrix

BLOCK_VALUES = 1 << 18
FEWEST_ROWS, MOST_ROWS = 32, 2048
_DATA = ("values", "keys")
_SCHEMA = "shard int, block int, documents int, values binary, keys binary, contents binary"
_ARROW_SCHEMA = pa.schema([
    ("shard", pa.int32()), ("block", pa.int32()), ("documents", pa.int32()), ("values", pa.binary()),
    ("keys", pa.binary()), ("contents", pa.binary()),
])


def pack_rows(source: RowFrame, *, shards: int | None = None, state_bytes: int = 0) -> Packing:
    """How vectors are packed."""
    count = shards or shard_count(source.rows, state_bytes)
    return Packing(
        source.frame.withColumn("shard", F.pmod("key", F.lit(count)).cast("int")), ("key", "indices", "values"),
        _Packer(source.width, source.single, block_rows(source.width)), _SCHEMA, _ARROW_SCHEMA, _DATA,
        DenseDecoder(source.width, source.single), count, source.rows,
    )


def block_rows(width: int) -> int:
    """Rows of a block: about 2 MB of doubles, many enough for a matrix product and few enough for a cache."""
    return int(np.clip(BLOCK_VALUES // width, FEWEST_ROWS, MOST_ROWS))


@dataclass(frozen=True)
class DenseDecoder:
    """Turns a packed row into a DenseBatch without copying the values."""

    width: int
    single: bool

    def __call__(self, batch: pa.RecordBatch, row: int) -> DenseBatch:
        values, keys = (batch.column(name)[row].as_buffer() for name in _DATA)
        numbers = np.frombuffer(values, np.float32 if self.single else np.float64)
        return DenseBatch(numbers.reshape(-1, self.width), np.frombuffer(keys, np.int64))


@dataclass(frozen=True)
class _Packer:
    """The Arrow function: sorted rows in, packed blocks out; block borders depend on the shard alone."""

    width: int
    single: bool
    rows: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        dtype = np.float32 if self.single else np.float64
        for shard, block, table in cut_blocks(batches, self.rows):
            rows = table.combine_chunks().to_batches()[0]
            matrix = dense_matrix(rows.column("indices"), rows.column("values"), self.width, dtype)
            keys = rows.column("key").to_numpy().astype(np.int64, copy=False)
            yield pa.RecordBatch.from_arrays(
                [pa.array([shard], pa.int32()), pa.array([block], pa.int32()), pa.array([len(matrix)], pa.int32()),
                 _binary(matrix), _binary(keys), _binary(contents_of(matrix))],
                schema=_ARROW_SCHEMA,
            )


def contents_of(matrix: np.ndarray) -> np.ndarray:
    """A 32-bit hash of each row's values, whatever their precision and storage; uint32 array of shape (n,)."""
    values = matrix.astype(np.float64) + 0.0                   # one zero, and one NaN
    values[np.isnan(values)] = np.nan
    bits = values.view(np.uint64)
    places = next_bits(np.arange(matrix.shape[1], dtype=np.uint64)) | np.uint64(1)
    folded = (bits ^ (bits >> np.uint64(29))) * places
    folded ^= folded >> np.uint64(32)
    return (next_bits(folded.sum(axis=1, dtype=np.uint64)) >> np.uint64(32)).astype(np.uint32)


def _binary(array: np.ndarray) -> pa.Array:
    """One binary value that shares the memory of an array."""
    offsets = np.array([0, array.nbytes], np.int32)
    data = pa.py_buffer(np.ascontiguousarray(array))
    return pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(offsets), data])
