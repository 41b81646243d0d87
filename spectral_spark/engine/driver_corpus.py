"""Small corpora are worked on where the driver is.

A Spark job costs a quarter of a second and more whatever it works on, and a fit is dozens of passes and rounds. So
documents that the driver can hold with ease are fetched once and packed there, and the same kernels run over the same
logical shards in threads of the driver, added in the same order: the sums are those of the executors, bit for bit.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from threadpoolctl import threadpool_limits

from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.sparse_rows import Partial, thinned
from spectral_spark.engine.tree_sum import TreeSum
from spectral_spark.errors import SettingsError

SETTING = "spark.spectral.driverEntries"
DRIVER_ENTRIES = 8_000_000       # distinct words of all documents together: some 100 MB in memory
DRIVER_WORDS = 100_000           # vocabularies beyond this have states too large for one process
Decoder = Any


def fits_driver(spark: SparkSession, entries: int, vocab_size: int) -> bool:
    """Whether a corpus is small enough; the Spark setting ``spark.spectral.driverEntries`` says how small, 0 never."""
    said = spark.conf.get(SETTING, str(DRIVER_ENTRIES)) or ""
    try:
        most = int(said)
    except ValueError:
        raise SettingsError(f"{SETTING} is '{said}'; give a whole number of words, 0 for none") from None
    return entries <= most and vocab_size <= DRIVER_WORDS and most > 0


class Nearby:
    """The packed rows of a small corpus, made at their first use by ``fetch`` and kept until they are let go."""

    def __init__(self, fetch: Callable[[], pa.Table], threads: int) -> None:
        self._fetch, self._threads = fetch, threads
        self._table: pa.Table | None = None
        self._decoded: tuple[Decoder, list[tuple[int, int, Any]]] | None = None

    @property
    def table(self) -> pa.Table:
        """All columns, in the order of shards and blocks."""
        if self._table is None:
            self._table = self._fetch()
        return self._table

    def batches(self, decode: Decoder, round: int = 0, rounds: int = 1) -> Iterator[tuple[int, Any]]:
        """(shard, documents) of one ``rounds``-th of the blocks, in order."""
        if self._decoded is None or self._decoded[0] is not decode:
            self._decoded = decode, list(self._decode(decode))
        for shard, block, documents in self._decoded[1]:
            if (block + shard) % rounds == round:
                yield shard, documents

    def _decode(self, decode: Decoder) -> Iterator[tuple[int, int, Any]]:
        for batch in self.table.to_batches():
            shards, blocks, sizes = (batch.column(name).to_numpy() for name in ("shard", "block", "documents"))
            for row in np.flatnonzero(sizes):
                yield int(shards[row]), int(blocks[row]), decode(batch, int(row))

    def sum(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], decode: Decoder, round: int, rounds: int, top: int
    ) -> TreeSum:
        """States of the shards, each made by one thread, merged up to level ``top`` of the fixed tree."""
        shards = [
            (shard, [documents for _, documents in rows])
            for shard, rows in groupby(self.batches(decode, round, rounds), key=lambda row: row[0])
        ]

        def state(shard: tuple[int, list[Any]]) -> Partial:
            accumulator = kernel.start(shared)
            for documents in shard[1]:
                accumulator.add(documents)
            arrays = accumulator.arrays()
            return thinned({name: np.ascontiguousarray(array, np.float64) for name, array in arrays.items()})

        sums = TreeSum(top)
        with threadpool_limits(1), ThreadPoolExecutor(max(1, min(self._threads, len(shards)))) as pool:
            for (shard, _), arrays in zip(shards, pool.map(state, shards), strict=True):
                sums.push(0, shard, arrays)
        return sums

    def forget(self) -> None:
        self._table = self._decoded = None
