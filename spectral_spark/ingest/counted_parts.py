"""Workers write what they counted themselves, where they see the file system that Spark would write to.

Spark's own writer takes apart every batch that a worker hands over, row by row; Arrow writes it as it is.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext

from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.count_words import WordCounter
from spectral_spark.ingest.readers.source import Source

_ROWS, _BYTES = 32_768, 32 << 20       # of a row group, which is one task's work when documents are put in order
_ROWS_OF_A_PARTITION = 33              # bits: as in Spark's ``monotonically_increasing_id``


def write_parts(source: Source, counter: WordCounter, work: Workplace, name: str) -> None:
    """Count the words of a source into Parquet files with rows as ``count_words.COUNTED``, and a column ``row``."""
    folder = work.create(name)
    check_parts(folder, to_arrow(source.rows.mapInArrow(PartWriter(counter, folder), "part string, rows long")))


def check_parts(folder: str, written: pa.Table) -> None:
    """Refuse files (``part, rows``) that workers wrote where the driver does not see them."""
    for part, rows in zip(*(written[column].to_pylist() for column in ("part", "rows")), strict=True):
        if not os.path.exists(f"{folder}/{part}") or pq.read_metadata(f"{folder}/{part}").num_rows != rows:
            raise InputError(f"a worker wrote '{folder}/{part}', and the driver does not find it: on a cluster, give "
                             "an output that all of its machines see")


@dataclass(frozen=True)
class PartWriter:
    """Batches of raw rows to a file of counted ones; hands on its name and how many rows it has."""

    counter: WordCounter
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        part, rows = f"part-{number:05d}.parquet", 0
        counted = _row_groups(_numbered(self.counter(batches), number << _ROWS_OF_A_PARTITION))
        first = next(counted, None)
        if first is None:
            return
        with appearing(f"{self.folder}/{part}") as path, pq.ParquetWriter(
            path, first.schema, use_dictionary=False, write_statistics=False
        ) as writer:
            group: pa.Table | None = first
            while group is not None:
                writer.write_table(group, row_group_size=group.num_rows)
                rows, group = rows + group.num_rows, next(counted, None)
        yield pa.RecordBatch.from_arrays([pa.array([part]), pa.array([rows])], names=["part", "rows"])


@contextmanager
def appearing(path: str) -> Iterator[str]:
    """A hidden name for a file that appears under its own one when it is complete, whichever attempt of a task is
    first.
    """
    folder, name = os.path.split(path)
    hidden = f"{folder}/.{name}.{uuid4().hex}"
    try:
        yield hidden
        os.replace(hidden, path)
    finally:
        with suppress(OSError):
            os.unlink(hidden)


def _numbered(batches: Iterator[pa.RecordBatch], first: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = pa.array(range(first, first + batch.num_rows), pa.int64())
        yield pa.RecordBatch.from_arrays([*batch.columns, rows], names=[*batch.schema.names, "row"])
        first += batch.num_rows


def _row_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)
