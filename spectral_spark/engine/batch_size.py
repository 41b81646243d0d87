"""Smaller batches for wide rows, so that a batch of vectors does not fill a heap."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

BATCH_BYTES = 16 << 20
_ROWS_PER_BATCH = {
    "spark.sql.parquet.columnarReaderBatchSize": 4096, "spark.sql.execution.arrow.maxRecordsPerBatch": 10_000,
}


@contextmanager
def small_batches(spark: SparkSession, width: int) -> Iterator[None]:
    """Inside the block Spark reads files and hands rows of ``width`` numbers to Python in batches of about 16 MiB."""
    rows = max(1, BATCH_BYTES // (8 * width))
    before = {}
    for name, usual in _ROWS_PER_BATCH.items():
        now = int(spark.conf.get(name, str(usual)) or usual)
        if now <= 0 or now > rows:
            before[name] = now
            spark.conf.set(name, str(rows))
    try:
        yield
    finally:
        for name, now in before.items():
            spark.conf.set(name, str(now))
