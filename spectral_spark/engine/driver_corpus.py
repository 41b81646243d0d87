"""A small corpus, held and worked on by the driver.

A fit has dozens of passes and rounds, each a Spark job on executors. So documents that fit easily into the driver's
memory are fetched once, packed there, and worked on by its threads (``driver_sums``).
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.corpus import NODE_COUNTS, Corpus, PathCounts
from spectral_spark.engine.driver_sums import decoded_shards, sum_in_threads
from spectral_spark.engine.pack_counts import DROP_REASONS, joined_identities
from spectral_spark.engine.packing import SORT_COLUMNS, Block, Decoder, Packing, packed_blocks
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.engine.tree_sum import TreeSum
from spectral_spark.engine.word_sweeps import DriverSweeps, WordSweeps


class DriverCorpus(Corpus):
    """Packed rows in the driver's memory, fetched at their first use and kept until the corpus is closed."""

    def __init__(self, packing: Packing, progress: Progress, threads: int, *, keeps_decoded: bool = True) -> None:
        """``keeps_decoded`` tells whether documents stay decoded from pass to pass, in three times the memory."""
        super().__init__(packing.frame.sparkSession, progress, packing.decode, packing.shards, packing.documents)
        self._packing, self._threads, self._keeps_decoded = packing, threads, keeps_decoded
        self._table: pa.Table | None = None
        self._blocks: tuple[Decoder, list[tuple[int, int, Block]]] | None = None

    @property
    def table(self) -> pa.Table:
        """All packed rows, in the order of shards and blocks."""
        if self._table is None:
            self._table = self._pack()
        return self._table

    def _pack(self) -> pa.Table:
        """Fetch, sort and pack: the rows that the executors would have made."""
        packing = self._packing
        columns = dict.fromkeys((*SORT_COLUMNS, *packing.columns))
        documents = to_arrow(packing.frame.select(*columns)).combine_chunks()
        ordered = documents.sort_by([(name, "ascending") for name in SORT_COLUMNS]).combine_chunks()
        return pa.Table.from_batches(packing.packer(iter(ordered.to_batches())), packing.arrow_schema)

    def count(self) -> PathCounts:
        """Sums of whole numbers: there is no rounding, so the order does not matter."""
        table = self.table
        place: dict[tuple[int, tuple[str, ...]], int] = {}
        hashes = table["tree_hashes"].combine_chunks().flatten().to_pylist()
        paths = map(tuple, table["tree_paths"].combine_chunks().flatten().to_pylist())
        nodes = [place.setdefault(node, len(place)) for node in zip(hashes, paths, strict=True)]
        counts = {}
        for name in NODE_COUNTS:
            sums = [0] * len(place)
            for node, value in zip(nodes, table[f"tree_{name}"].combine_chunks().flatten().to_pylist(), strict=True):
                sums[node] += int(value)
            counts[name] = np.array([float(value) for value in sums])
        dropped = {reason: int(pc.sum(table[reason]).as_py() or 0) for reason in DROP_REASONS}
        return PathCounts(
            int(pc.sum(table["tokens"]).as_py() or 0), dropped, np.array([node for node, _ in place], np.int64),
            [path for _, path in place], counts,
        )

    def sample(self, rounds: int = 1) -> list[Any]:
        return [block() for _, block in self._of_round(0, rounds)]

    def identities(self) -> tuple[np.ndarray, np.ndarray]:
        return joined_identities(self.table)

    def word_sweeps(self) -> WordSweeps:
        return DriverSweeps(decoded_shards(self._of_round(0, 1)), self._threads)

    def close(self) -> None:
        self._table = self._blocks = None

    def _of_round(self, round: int, rounds: int) -> Iterator[tuple[int, Block]]:
        """(shard, block) of one ``rounds``-th of the blocks, in order."""
        if self._blocks is None or self._blocks[0] is not self.decode:
            found = packed_blocks(self.table, self.decode)
            kept = ((shard, number, cache(block)) for shard, number, block in found)
            self._blocks = self.decode, list(kept if self._keeps_decoded else found)
        for shard, number, block in self._blocks[1]:
            if (number + shard) % rounds == round:
                yield shard, block

    def _sum_shards(
        self, kernel: Kernel, shared: Mapping[str, np.ndarray], round: int, rounds: int, state_bytes: int, top: int
    ) -> TreeSum:
        return sum_in_threads(kernel, shared, self._of_round(round, rounds), self._threads, top, self.progress)
