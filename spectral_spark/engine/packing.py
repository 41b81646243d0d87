"""How documents become the rows of a working copy: many documents per row, in logical shards set by the data alone.

A document's shard is a stable hash of the document. Within a shard, documents are sorted by that hash and cut into
blocks of a fixed number of documents, one block per row. Every pass runs over these rows, so it meets the same
documents in the same order, whatever the partitioning of the input.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.engine.tree_sum import power_of_two

DOCUMENTS_PER_SHARD = 16_384        # fewer and longer shards refine better: each takes more steps between two averages
FEWEST_SHARDS, MOST_SHARDS = 8, 4096
MANY_SHARDS = 8                     # per core, and the most in one partition
SORT_COLUMNS = ("shard", "key", "tie")

Decoder = Callable[[pa.RecordBatch, int], Any]
Block = Callable[[], Any]            # its documents, decoded
Packer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Packing:
    """Everything needed to pack a DataFrame, on the executors or on the driver, to the same rows.

    Attributes
    ----------
    frame : DataFrame with ``shard int``, ``key long``, ``tie long`` and the columns ``columns``.
    columns : what the packer reads besides the shard.
    packer : sorted documents in, packed blocks out, as Arrow record batches.
    schema, arrow_schema : of the packed rows, for Spark and for Arrow; they begin with shard, block and documents.
    data : the packed columns that the decoder reads.
    decode : (record batch with these columns, row) → the batch that a kernel takes.
    shards : number of logical shards, a power of two.
    documents : documents in the input.
    """

    frame: DataFrame
    columns: tuple[str, ...]
    packer: Packer
    schema: str
    arrow_schema: pa.Schema
    data: tuple[str, ...]
    decode: Decoder
    shards: int
    documents: int


def shard_count(documents: int, state_bytes: int = 0) -> int:
    """Number of logical shards: enough to spread the work, few enough that adding their states stays cheap."""
    per_shard = max(DOCUMENTS_PER_SHARD, state_bytes / 8192)
    return int(np.clip(power_of_two(documents / per_shard), FEWEST_SHARDS, MOST_SHARDS))


def task_count(shards: int, parallelism: int) -> int:
    """Partitions of the working copy on executors, a power of two.

    One per core, since a task alone costs a twentieth of a second; two per core where each has many shards, so that a
    slow task delays the others less; more where a partition would not fit comfortably into a small heap.
    """
    cores = max(parallelism, 1)
    for_speed = power_of_two(cores if shards < MANY_SHARDS * cores else 2 * cores)
    return min(shards, max(for_speed, shards // MANY_SHARDS))


def cut_blocks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[tuple[int, int, pa.Table]]:
    """Cut rows that are sorted by shard into blocks of one shard each.

    Yields (shard, number of the block within it, its rows); only the last block of a shard has fewer than ``size``.
    """
    shard, block, rows = -1, 0, 0
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        ids = batch.column("shard").to_numpy()
        edges = [0, *(np.flatnonzero(np.diff(ids)) + 1), len(ids)]
        for start, stop in pairwise(edges):
            if stop == start:
                continue
            if ids[start] != shard:
                if rows:
                    yield shard, block, pa.Table.from_batches(waiting)
                shard, block, waiting, rows = int(ids[start]), 0, [], 0
            while start < stop:
                take = min(size - rows, stop - start)
                waiting.append(batch.slice(start, take))
                rows, start = rows + take, start + take
                if rows == size:
                    yield shard, block, pa.Table.from_batches(waiting)
                    block, waiting, rows = block + 1, [], 0
    if rows:
        yield shard, block, pa.Table.from_batches(waiting)


def packed_blocks(table: pa.Table, decode: Decoder) -> Iterator[tuple[int, int, Block]]:
    """(shard, number, block) of packed rows, in their order; blocks without documents are left out."""
    for batch in table.to_batches():
        shards, numbers, sizes = (batch.column(name).to_numpy() for name in ("shard", "block", "documents"))
        for row in np.flatnonzero(sizes):
            yield int(shards[row]), int(numbers[row]), partial(decode, batch, int(row))
