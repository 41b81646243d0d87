"""Gibbs sampling on the executors: every sweep is one Spark job from one kept copy of the words to the next.

The topic of a word travels and rests in one or two bytes beside its document. The plan is cut at every copy, because
plans that contain all plans before them grow beyond any memory. With several executors each copy is kept twice, so that
a lost executor costs no more than the tasks that it was running. If both are lost, the words are read again and all
sweeps are repeated there in one job, with the same random numbers.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from inspect import signature

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.batch_size import small_batches
from spectral_spark.engine.kept_rows import KeptRows, keep_without_plan
from spectral_spark.engine.packing import Decoder
from spectral_spark.engine.shared_arrays import SharedArrays, parallelism
from spectral_spark.engine.spark_connect import is_connect
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.engine.whole_counts import (
    ARROW_FIELDS,
    COLUMNS,
    SCHEMA,
    add_counts,
    add_pieces,
    encode_counts,
    narrow,
    wide,
)
from spectral_spark.engine.word_sweeps import WordSweeps, block_lengths, joined_lengths
from spectral_spark.refine.corpus_gibbs import DocumentLengths
from spectral_spark.refine.word_topics import SweepKernel, WordBlock, sum_shapes, word_blocks

DIRECT_BYTES = 192 << 20         # counts that the driver fetches from all tasks; beyond, executors add them first
BLOCK_WORDS = 1 << 21            # the priors of a node are added up for every word of a block: the larger, the fewer
_log = logging.getLogger(__name__)
_WORDS = ("starts", "words", "nodes", "streams", "topics", "lengths")
_SCHEMA = ", ".join(f"{name} binary" for name in _WORDS) + ", " + SCHEMA
_ARROW_SCHEMA = pa.schema([*((name, pa.binary()) for name in _WORDS), *ARROW_FIELDS])
_COUNTS_SCHEMA = pa.schema(ARROW_FIELDS)


class ExecutorSweeps(WordSweeps):
    """Words and topics in the executors' memory, or on their disks.

    Parameters
    ----------
    rows : packed rows, sorted by shard and block within their partitions.
    decode : packed row → documents.
    """

    def __init__(self, rows: DataFrame, decode: Decoder) -> None:
        self._spark, self._rows, self._decode = rows.sparkSession, rows, decode
        self._finished: list[tuple[SweepKernel, SharedArrays]] = []
        self._kept = self._words_again()

    def lengths(self) -> DocumentLengths:
        rows = to_arrow(self._kept.frame.filter("name is null").select("lengths"))
        parts = [value.as_buffer() for chunk in rows["lengths"].chunks for value in chunk]
        return joined_lengths([np.frombuffer(part, np.int64).reshape(-1, 3) for part in parts])

    def sweep(self, kernel: SweepKernel, shared: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        arrays = SharedArrays(self._spark, shared)
        sums = {name: np.zeros(shape, np.int64) for name, shape in sum_shapes(kernel, shared).items()}
        try:
            drawn = self._drawn(kernel, arrays, sums)
        except Exception as error:
            _log.warning("sampling: the topics of some words were lost (%s); their sweeps are repeated",
                         type(error).__name__)
            self._kept.release()
            self._kept = self._words_again()
            drawn = self._drawn(kernel, arrays, sums)
        self._kept.release()
        self._finished.append((kernel, arrays))
        self._kept = self._words_again() if drawn.again else drawn
        return sums

    def close(self) -> None:
        self._kept.release()
        for _, arrays in self._finished:
            arrays.close()
        self._finished = []

    def _words_again(self) -> KeptRows:
        """All words with their topics after the finished sweeps. Where Spark keeps no rows, every sweep repeats those
        before it, with the same random numbers."""
        return _keep(self._rows.mapInArrow(_Unroll(self._decode, self._finished), _SCHEMA))

    def _drawn(self, kernel: SweepKernel, arrays: SharedArrays, sums: Mapping[str, np.ndarray]) -> KeptRows:
        """The words with new topics, whose counts are added to ``sums``."""
        words, cores = self._kept.frame.filter("name is null").select(*_WORDS), parallelism(self._spark)
        if self._kept.staged:                               # small files would be read by few tasks
            words = words.repartition(cores, F.xxhash64("streams"))
        drawn = _keep(words.mapInArrow(_Sweep(kernel, arrays), _SCHEMA))
        try:
            pieces = drawn.frame.filter("name is not null").select(*COLUMNS)
            if 4 * cores * sum(array.size for array in sums.values()) > DIRECT_BYTES:
                pieces = pieces.repartition(cores, "name", "part").mapInArrow(_added, SCHEMA)
            with small_batches(self._spark, BLOCK_WORDS) if is_connect(self._spark) else nullcontext():
                add_counts(to_arrow(pieces).to_batches(), sums)
        except BaseException:
            with suppress(Exception):                       # a staged copy would stay behind
                drawn.release()
            raise
        return drawn


def _keep(frame: DataFrame) -> KeptRows:
    """Keep the rows from their first use on, without the plan that led to them. Spark 3.5 keeps them only once."""
    twice = _executors(frame.sparkSession) > 1 and "storageLevel" in signature(frame.localCheckpoint).parameters
    return keep_without_plan(frame, StorageLevel.MEMORY_AND_DISK_2 if twice else None, "the topics of words")


def _executors(spark: object) -> int:
    """Executors of a cluster, as far as the driver knows; 1 in local mode and under Spark Connect."""
    context = getattr(spark, "_sc", None)
    if context is None or context.master.startswith("local["):
        return 1
    return max(1, int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1)


class _Unroll:
    """Runs on an executor: packed documents in, words with the topics of finished sweeps out, many to a row."""

    def __init__(self, decode: Decoder, finished: Sequence[tuple[SweepKernel, SharedArrays]]) -> None:
        self._decode, self._finished = decode, tuple(finished)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for block in word_blocks(self._shards(batches), BLOCK_WORDS):
            for kernel, shared in self._finished:
                block = kernel.start(shared.value()).add(block)
            yield _row({**_encoded(block), "lengths": block_lengths(block).tobytes()})

    def _shards(self, batches: Iterator[pa.RecordBatch]) -> Iterator[list[CountBatch]]:
        shard, documents = -1, list[CountBatch]()
        for batch in batches:
            ids = batch.column("shard").to_numpy()
            for row in range(batch.num_rows):
                if ids[row] != shard and documents:
                    yield documents
                    documents = []
                shard = int(ids[row])
                documents.append(self._decode(batch, row))
        if documents:
            yield documents


class _Sweep:
    """Runs on an executor: words in, the same words with new topics out, and at the end the counts of the task."""

    def __init__(self, kernel: SweepKernel, shared: SharedArrays) -> None:
        self._kernel, self._shared = kernel, shared

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums = None
        for batch in batches:
            for row in range(batch.num_rows):
                if sums is None:
                    sums = self._kernel.start(self._shared.value())
                yield _row(_encoded(sums.add(_decoded(batch, row))))
        for piece in encode_counts(sums.arrays()) if sums is not None else ():
            yield _row(piece)


def _added(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs on an executor: the pieces of the same cells, added up."""
    for piece in add_pieces(batches):
        yield pa.RecordBatch.from_pylist([piece], schema=_COUNTS_SCHEMA)


def _row(values: Mapping[str, object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: [values.get(name)] for name in _ARROW_SCHEMA.names}, schema=_ARROW_SCHEMA)


def _encoded(block: WordBlock) -> dict[str, object]:
    return {
        "starts": block.indptr.astype(np.int32).tobytes(), "words": narrow(block.words),
        "nodes": block.nodes.astype(np.int32).tobytes(), "streams": block.streams.tobytes(),
        "topics": narrow(block.topics),
    }


def _decoded(batch: pa.RecordBatch, row: int) -> WordBlock:
    starts, words, nodes, streams, topics = (batch.column(name)[row].as_buffer() for name in _WORDS[:5])
    return WordBlock(
        np.frombuffer(starts, np.int32).astype(np.int64), wide(words, np.int32), np.frombuffer(nodes, np.int32).copy(),
        np.frombuffer(streams, np.uint64).copy(), wide(topics, np.int32),
    )
