"""A large corpus, spread over the executors: a pass is one Spark job over a cached working copy.

In local sessions, executors are Python workers beside the driver, and all that a job does is to move documents from one
to the other. There the driver may hold a copy of the packed documents. Samples, small rounds and the sweeps over all
words are then its work, in threads of its own; passes over all documents stay with the workers.
"""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel
from threadpoolctl import threadpool_limits

from spectral_spark.data.kernel import Accumulator, Kernel
from spectral_spark.engine.batch_size import small_batches
from spectral_spark.engine.corpus import NODE_COUNTS, Corpus, PathCounts
from spectral_spark.engine.driver_sums import decoded_shards, sum_in_threads
from spectral_spark.engine.executor_sweeps import ExecutorSweeps
from spectral_spark.engine.kept_rows import keep_rows
from spectral_spark.engine.pack_counts import BLOCK_DOCUMENTS, DROP_REASONS, joined_identities
from spectral_spark.engine.packing import SORT_COLUMNS, Block, Decoder, Packing, packed_blocks, task_count
from spectral_spark.engine.partial_states import ROW_SCHEMA, assemble, encode, sum_by_row_blocks
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.shared_arrays import SharedArrays, parallelism
from spectral_spark.engine.spark_connect import is_connect
from spectral_spark.engine.spark_versions import repartition_by_id, to_arrow
from spectral_spark.engine.sparse_rows import Partial, flattened, thinned, whole
from spectral_spark.engine.tree_sum import TreeSum
from spectral_spark.engine.word_sweeps import DriverSweeps, WordSweeps

DIRECT_BYTES = 192 << 20         # partial sums that the driver fetches whole; beyond, executors add them by row blocks


class ExecutorCorpus(Corpus):
    """Packed rows in the executors' memory, or on their disks, filled by the first pass and kept until closed."""

    def __init__(
        self, packing: Packing, progress: Progress, entries: int = 0, *, copy_for: int = 0, round_entries: int = 0
    ) -> None:
        """``copy_for`` are the driver's threads if it holds a copy of the documents; they sum rounds of up to
        ``round_entries`` entries."""
        super().__init__(packing.frame.sparkSession, progress, packing.decode, packing.shards, packing.documents)
        self._threads, self._most_rounded, self._entries = copy_for, round_entries, entries
        self._copied: pa.Table | None = None
        tasks = task_count(packing.shards, parallelism(self.spark))
        shift = (packing.shards // tasks).bit_length() - 1
        self.data = packing.data
        self._row_numbers = max(1, BLOCK_DOCUMENTS * entries // max(packing.documents, 1))
        self._kept = keep_rows(
            repartition_by_id(packing.frame, tasks, F.shiftright("shard", shift))
            .sortWithinPartitions(*SORT_COLUMNS)
            .select("shard", *packing.columns)
            .mapInArrow(packing.packer, packing.schema),
            StorageLevel.MEMORY_AND_DISK, "the working copy of the documents",
        )
        self.frame = self._kept.frame
        if self._kept.staged:                               # files come back in any order
            self.frame = repartition_by_id(self.frame, tasks, F.shiftright("shard", shift)).sortWithinPartitions(
                "shard", "block"
            )

    def count(self) -> PathCounts:
        """Only one row per tree node reaches the driver."""
        totals = self.frame.agg(
            F.sum("tokens").alias("tokens"), *(F.sum(reason).alias(reason) for reason in DROP_REASONS)
        ).first()
        dropped = {reason: int(totals[reason] or 0) for reason in DROP_REASONS} if totals else {}
        columns = {"paths": "path", "hashes": "hash"} | {name: name for name in NODE_COUNTS}
        rows = to_arrow(
            self.frame.select(F.explode(F.arrays_zip(*(f"tree_{column}" for column in columns))).alias("node"))
            .select(*(F.col(f"node.tree_{column}").alias(name) for column, name in columns.items()))
            .groupBy("hash", "path")
            .agg(*(_whole_sum(name).alias(name) for name in NODE_COUNTS))
        )
        return PathCounts(
            int(totals["tokens"] or 0) if totals else 0, dropped, rows["hash"].to_numpy(),
            [tuple(path) for path in rows["path"].to_pylist()], {name: rows[name].to_numpy() for name in NODE_COUNTS},
        )

    def sample(self, rounds: int = 1) -> list[Any]:
        if self._threads:
            return [block() for _, block in self._here(0, rounds)]
        table = self._fetched(self._rows(0, rounds).select("shard", "block", *self.data))
        return [self.decode(batch, row) for batch in table.to_batches() for row in range(batch.num_rows)]

    def identities(self) -> tuple[np.ndarray, np.ndarray]:
        if self._threads:
            return joined_identities(self._copy)
        return joined_identities(to_arrow(self._rows(0, 1).select("keys", "contents")))

    def word_sweeps(self) -> WordSweeps:
        if self._threads:
            return DriverSweeps(decoded_shards(self._here(0, 1)), self._threads)
        return ExecutorSweeps(self._rows(0, 1).select("shard", *self.data, "block"), self.decode)

    def close(self) -> None:
        self._copied = None
        self._kept.release()

    @property
    def _copy(self) -> pa.Table:
        """The packed documents on the driver, fetched at their first use."""
        if self._copied is None:
            columns = dict.fromkeys(("shard", "block", "documents", *self.data, "keys", "contents"))
            self._copied = self._fetched(self._rows(0, 1).select(*columns))
        return self._copied

    def _here(self, round: int, rounds: int) -> Iterator[tuple[int, Block]]:
        """(shard, block) of one ``rounds``-th of the blocks from the driver's copy, in order."""
        table = self._copy
        if rounds > 1:
            numbers = table["block"].to_numpy() + table["shard"].to_numpy()
            table = table.take(np.flatnonzero(numbers % rounds == round))
        return ((shard, block) for shard, _, block in packed_blocks(table, self.decode))

    def _fetched(self, rows: DataFrame) -> pa.Table:
        return to_arrow(rows).combine_chunks().sort_by([("shard", "ascending"), ("block", "ascending")])

    def _rows(self, round: int, rounds: int) -> DataFrame:
        """One ``rounds``-th of the blocks that have documents."""
        rows = self.frame.filter(F.col("documents") > 0)
        return rows if rounds == 1 else rows.filter(F.pmod(F.col("block") + F.col("shard"), F.lit(rounds)) == round)

    def _sum_shards(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], round: int, rounds: int, state_bytes: int, top: int
    ) -> TreeSum:
        if self._threads and rounds > 1 and self._entries <= self._most_rounded * rounds:
            return sum_in_threads(kernel, shared, self._here(round, rounds), self._threads, top, self.progress)
        rows, cores = self._rows(round, rounds).select("shard", *self.data, "block"), parallelism(self.spark)
        direct = state_bytes * min(self.shards, 2 * cores) <= DIRECT_BYTES
        small = small_batches(self.spark, self._row_numbers) if is_connect(self.spark) else nullcontext()
        with SharedArrays(self.spark, shared) as arrays, small:         # a worker there may have 1 GB in all
            partials = rows.mapInArrow(_ShardSum(kernel, self.decode, arrays, top, thin=direct), ROW_SCHEMA)
            return assemble([to_arrow(partials)], top) if direct else sum_by_row_blocks(
                partials, cores, state_bytes, top
            )


def _whole_sum(name: str) -> Column:
    """A sum of whole numbers without rounding, so that it does not depend on the order of the rows."""
    return F.sum(F.col(name).cast("decimal(38,0)")).cast("double")


class _ShardSum:
    """Runs on an executor: takes rows sorted by (shard, block), returns the states of what could be added there."""

    def __init__(self, kernel: Kernel, decode: Decoder, shared: SharedArrays, top: int, *, thin: bool) -> None:
        self._kernel, self._decode, self._shared, self._top, self._thin = kernel, decode, shared, top, thin

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with threadpool_limits(1):
            sums, shard, accumulator = TreeSum(self._top), -1, None
            for batch in batches:
                ids = batch.column("shard").to_numpy()
                for row in range(batch.num_rows):
                    if ids[row] != shard:
                        if accumulator is not None:
                            sums.push(0, shard, self._state(accumulator))
                        shard = int(ids[row])
                        accumulator = self._kernel.start(self._shared.value())
                    assert accumulator is not None
                    accumulator.add(self._decode(batch, row))
            if accumulator is not None:
                sums.push(0, shard, self._state(accumulator))
            del accumulator
            for level, position, state in sums.nodes():
                yield from encode(level, position, flattened(state))

    def _state(self, accumulator: Accumulator) -> Partial:
        arrays = accumulator.arrays()
        return thinned(arrays) if self._thin else dict(whole(arrays))   # row blocks add up only where all have them
