"""The working copy of a corpus: many documents per row, in logical shards that do not depend on Spark's partitions.

A document's shard is a stable hash of the document; within a shard documents are sorted by that hash and cut into
blocks of a fixed number of documents, one block per row. Every pass runs over these rows, so it meets the same
documents in the same order whatever the input's partitioning was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel

from spectral_spark.engine.driver_corpus import Nearby
from spectral_spark.engine.tree_sum import power_of_two

DOCUMENTS_PER_SHARD = 16_384        # fewer, longer shards refine better: each takes more steps between two averages
FEWEST_SHARDS, MOST_SHARDS = 8, 4096
MANY_SHARDS = 8                     # per core, and the most in one partition

Decoder = Callable[[pa.RecordBatch, int], Any]


@dataclass(frozen=True)
class PackedCorpus:
    """Rows of packed documents, ready for passes.

    Attributes
    ----------
    frame : DataFrame with ``shard int``, ``block int``, ``documents int`` and the columns ``columns``.
    columns : what the decoder reads.
    decode : (record batch with these columns, row) → the batch a kernel eats; runs on the executors.
    shards : number of logical shards, a power of two, set by the data alone.
    documents : documents in the corpus.
    nearby : the same rows on the driver where they are few, None elsewhere.
    """

    frame: DataFrame
    columns: tuple[str, ...]
    decode: Decoder
    shards: int
    documents: int
    nearby: Nearby | None = None

    @property
    def depth(self) -> int:
        return self.shards.bit_length() - 1

    def release(self) -> None:
        """Let the working copy go."""
        self.frame.unpersist()
        if self.nearby is not None:
            self.nearby.forget()


def shard_count(documents: int, state_bytes: int = 0) -> int:
    """Logical shards for a corpus: enough to spread, few enough that adding up their states stays cheap."""
    per_shard = max(DOCUMENTS_PER_SHARD, state_bytes / 8192)
    return int(np.clip(power_of_two(documents / per_shard), FEWEST_SHARDS, MOST_SHARDS))


def task_count(shards: int, parallelism: int) -> int:
    """Partitions of the working copy, a power of two: one per core, since a task costs a twentieth of a second by
    itself; two where a core has many shards, so that a slow one holds up less; more where a partition would not fit
    comfortably into a small heap."""
    cores = max(parallelism, 1)
    for_speed = power_of_two(cores if shards < MANY_SHARDS * cores else 2 * cores)
    return min(shards, max(for_speed, shards // MANY_SHARDS))


def parallelism_of(frame: DataFrame) -> int:
    """Cores the session can use at once; a guess of 8 where the client cannot ask (Spark Connect)."""
    context = getattr(frame.sparkSession, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 8


def keep(frame: DataFrame) -> DataFrame:
    """Hold on to the working copy until it is released: memory first, then local disk."""
    return frame.persist(StorageLevel.MEMORY_AND_DISK)
