"""A part of a packed corpus on the driver, for what works on a sample there."""

from typing import Any

from pyspark.sql import functions as F

from spectral_spark.engine.packed import PackedCorpus
from spectral_spark.engine.progress import Progress


def fetch_batches(packed: PackedCorpus, *, name: str, rounds: int = 1, progress: Progress | None = None) -> list[Any]:
    """One ``rounds``-th of the blocks, decoded, in the order of shards and blocks; it must fit into the driver."""
    if packed.nearby is not None:
        return [documents for _, documents in packed.nearby.batches(packed.decode, 0, rounds)]
    rows = packed.frame.filter(F.col("documents") > 0).select("shard", "block", *packed.columns)
    if rounds > 1:
        rows = rows.filter(F.pmod(F.col("block") + F.col("shard"), F.lit(rounds)) == 0)
    with (progress or Progress()).watch(packed.frame.sparkSession, name, 0, rounds):
        table = rows.toArrow().combine_chunks().sort_by([("shard", "ascending"), ("block", "ascending")])
    return [packed.decode(batch, row) for batch in table.to_batches() for row in range(batch.num_rows)]
