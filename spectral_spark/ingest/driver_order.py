"""Documents in the files and in the order in which a corpus keeps them, where the driver knows which are used.

Spark would send every document through a shuffle, row by row. Here workers read the counted documents, index their
words and write them to Arrow files, one batch for every file of the corpus, and a second job gathers the batches of
each file. Which file a document belongs in is decided by the same hash, so the corpus is the same.
"""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, _parse_datatype_string

from spectral_spark.engine.spark_hash import text_partitions
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.corpus_fingerprint import SUMS, Contents, added, sums_of_batches
from spectral_spark.ingest.corpus_store import DOCUMENTS_SCHEMA, TEST, TRAIN
from spectral_spark.ingest.counted_parts import appearing
from spectral_spark.ingest.kept_columns import KEPT
from spectral_spark.ingest.vocabulary import Indexer

_ROWS_OF_A_TASK, _BYTES_OF_A_TASK = 131_072, 64 << 20
_BATCH = 4096
RowGroup = tuple[str, int]             # a Parquet file, and the number of the row group


@dataclass(frozen=True, eq=False)
class Spreader:
    """The documents of some row groups to an Arrow file with a batch for every file of the corpus; hands on their sums
    (``corpus_fingerprint.SUMS``).

    Attributes
    ----------
    tasks : the row groups of every task.
    copies, tested : rows of the documents that are duplicates, and of those that are held out; sorted.
    unnamed : what takes the place of a part of a path that is null or empty; None leaves them.
    files : how many files the corpus has.
    """

    tasks: Sequence[Sequence[RowGroup]]
    copies: np.ndarray
    tested: np.ndarray
    unnamed: str | None
    indexer: Indexer
    files: int
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from sums_of_batches(self._spread(task))

    def _spread(self, task: int) -> Iterator[pa.RecordBatch]:
        read = (_row_group(path, number) for path, number in self.tasks[task])
        parts = list(self.indexer(map(self._used, read)))
        documents = pa.Table.from_batches(parts).combine_chunks()
        places = text_partitions(pa.concat_arrays(documents["doc_id"].chunks), self.files) if len(documents) else \
            np.zeros(0, np.int32)
        order = np.argsort(places, kind="stable")
        bounds = np.searchsorted(places[order], np.arange(self.files + 1))
        ordered = documents.take(pa.array(order)).combine_chunks()
        with (appearing(spread_file(self.folder, task)) as path, pa.OSFile(path, "wb") as sink,
              pa.ipc.new_file(sink, ordered.schema) as writer):
            for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                writer.write_batch(_one_batch(ordered.slice(start, end - start)))
        yield from (part for part in parts if part.num_rows)

    def _used(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The documents that are used, and their split."""
        rows = batch.column("row").to_numpy()
        mask = np.ones(len(rows), bool)
        for name in ("term", "problem", "short"):
            mask &= batch.column(name).is_null().to_numpy(zero_copy_only=False)
        mask &= ~_among(rows, self.copies)
        batch = batch.filter(pa.array(mask))
        split = pc.if_else(pa.array(_among(rows[mask], self.tested)), TEST, TRAIN)
        paths = batch.column("path")
        paths = paths if self.unnamed is None else _named(paths, self.unnamed)
        columns = {"doc_id": batch.column("doc_id"), "path": paths, "hashes": batch.column("hashes"),
                   "counts": batch.column("counts"), "split": split}
        if KEPT in batch.schema.names:
            columns[KEPT] = batch.column(KEPT)
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


@dataclass(frozen=True)
class Gatherer:
    """The numbers of files of the corpus to their documents, in the order of the ids."""

    folder: str
    tasks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not gc.get_freeze_count():
            gc.freeze()                    # Spark looks for garbage after every task, in the modules, too
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._gathered(number)

    def _gathered(self, number: int) -> Iterator[pa.RecordBatch]:
        parts = []
        for task in range(self.tasks):
            with pa.memory_map(spread_file(self.folder, task)) as source:
                parts.append(pa.ipc.open_file(source).get_batch(number))
        documents = pa.Table.from_batches(parts)
        order = pc.sort_indices(documents["doc_id"])
        yield from documents.take(order).combine_chunks().to_batches(max_chunksize=_BATCH)


def spread_file(folder: str, task: int) -> str:
    return f"{folder}/part-{task:05d}.arrow"


def documents_in_order(
    spark: SparkSession, spreader: Spreader, kept: StructType | None, vocabulary_fingerprint: str
) -> tuple[DataFrame, Contents]:
    """One partition for every file of the corpus, with columns as ``DOCUMENTS_SCHEMA`` and what is carried along; and
    what is in them.
    """
    schema = _parse_datatype_string(DOCUMENTS_SCHEMA)
    assert isinstance(schema, StructType)
    schema = schema if kept is None else schema.add(KEPT, kept)
    tasks, files = len(spreader.tasks), spreader.files
    found = added(to_arrow(spark.range(0, tasks, 1, tasks).mapInArrow(spreader, SUMS)), vocabulary_fingerprint)
    gathered = spark.range(0, files, 1, files).mapInArrow(Gatherer(spreader.folder, tasks), schema)
    return gathered.withColumn("split", F.coalesce("split", F.lit(TRAIN))), found


def spreading_tasks(paths: Sequence[str]) -> list[list[RowGroup]]:
    """The row groups of Parquet files in runs that a task can hold; few, as every task costs Python some 50 ms."""
    tasks: list[list[RowGroup]] = []
    rows, size = _ROWS_OF_A_TASK, 0
    for path in paths:
        metadata = pq.read_metadata(path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            if rows + group.num_rows > _ROWS_OF_A_TASK or size + group.total_byte_size > _BYTES_OF_A_TASK:
                tasks.append([])
                rows = size = 0
            tasks[-1].append((path, number))
            rows, size = rows + group.num_rows, size + group.total_byte_size
    return tasks


def spreader(
    paths: Sequence[str], copies: np.ndarray, tested: np.ndarray, unnamed: str | None, indexer: Indexer, files: int,
    work: Workplace,
) -> Spreader:
    """For all row groups of the counted files."""
    return Spreader(spreading_tasks(paths), np.sort(copies), np.sort(tested), unnamed, indexer, files,
                    work.create("spread"))


def _row_group(path: str, number: int) -> pa.RecordBatch:
    columns = ["doc_id", "path", "hashes", "counts", "problem", "short", "term", "row"]
    with pq.ParquetFile(path) as file:
        names = [*columns, *(name for name in file.schema_arrow.names if name == KEPT)]
        return _one_batch(file.read_row_group(number, columns=names))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_arrays(
        [pa.array([], kind) for kind in table.schema.types], schema=table.schema)


def _among(rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Which of the rows, which ascend, are among the chosen ones, which do so, too."""
    if not len(rows):
        return np.zeros(0, bool)
    near = chosen[np.searchsorted(chosen, rows[0]): np.searchsorted(chosen, rows[-1], "right")]
    found: np.ndarray = np.isin(rows, near, assume_unique=True)
    return found


def _named(paths: pa.ListArray, unnamed: str) -> pa.ListArray:
    """Paths, none of which is null, with a name for every part that is null or empty."""
    parts = pc.fill_null(paths.flatten(), "")
    parts = pc.if_else(pc.equal(parts, ""), unnamed, parts)
    sizes = pc.list_value_length(paths).to_numpy(zero_copy_only=False)
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32()), parts)
