"""Cut a stream of rows that is sorted by logical shard into blocks of a fixed number of rows of one shard."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa


def cut_blocks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[tuple[int, int, pa.Table]]:
    """(shard, number of the block within it, its rows); only the last block of a shard has fewer than ``size``."""
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
