"""Sums over shards in the driver's threads: of small corpora, and of small rounds of larger ones in local sessions.

A Spark job costs a quarter of a second and more, however little it does. The same kernels run over the same logical
shards as on executors, and the states are added in the same order: the sums are equal bit for bit.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.packing import Block
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.sparse_rows import Partial, thinned
from spectral_spark.engine.tree_sum import TreeSum


def sum_in_threads(
    kernel: Kernel, shared: Mapping[str, np.ndarray], blocks: Iterable[tuple[int, Block]], threads: int, top: int,
    progress: Progress,
) -> TreeSum:
    """The shards' states, merged up to level ``top`` of the fixed tree.

    Parameters
    ----------
    kernel, shared : what runs over the documents, and the arrays that it needs.
    blocks : (shard, block) in the order of shards and blocks. A block is decoded by the thread that needs it.
    threads : the most threads that work at once, each on a shard of its own.
    progress : hears which share of the blocks is done.
    """
    shards = [(shard, [block for _, block in mine]) for shard, mine in groupby(blocks, key=lambda block: block[0])]
    finished = _Finished(progress, sum(len(mine) for _, mine in shards))

    def state(shard: tuple[int, list[Block]]) -> Partial:
        accumulator = kernel.start(shared)
        for block in shard[1]:
            accumulator.add(block())
            finished.one_more()
        return thinned(accumulator.arrays())

    sums = TreeSum(top)
    with threadpool_limits(1), ThreadPoolExecutor(max(1, min(threads, len(shards)))) as pool:
        for (shard, _), arrays in zip(shards, pool.map(state, shards), strict=True):
            sums.push(0, shard, arrays)
    return sums


def decoded_shards(blocks: Iterable[tuple[int, Block]]) -> Iterator[list[Any]]:
    """The documents of one shard after the other."""
    for _, mine in groupby(blocks, key=lambda block: block[0]):
        yield [block() for _, block in mine]


class _Finished:
    """Counts the blocks that all threads have finished, and reports their share."""

    def __init__(self, progress: Progress, blocks: int) -> None:
        self._progress, self._blocks, self._done, self._lock = progress, max(blocks, 1), 0, threading.Lock()

    def one_more(self) -> None:
        with self._lock:
            self._done += 1
            self._progress.advance(self._done / self._blocks)
