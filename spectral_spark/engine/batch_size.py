"""Smaller batches for wide rows, so that a batch of vectors or of packed documents does not fill a heap or a worker."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spectral_spark.engine.spark_connect import is_connect, refused

BATCH_BYTES = 16 << 20
ARROW_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROWS_PER_BATCH = {"spark.sql.parquet.columnarReaderBatchSize": 4096, ARROW_RECORDS: 10_000}


@contextmanager
def small_batches(spark: SparkSession, width: int) -> Iterator[None]:
    """Inside the block Spark reads files and hands rows of ``width`` numbers to Python in batches of about 16 MiB.

    A server that does not let its clients change this keeps its own batches.
    """
    before: dict[str, int] = {}
    try:
        _make_smaller(spark, max(1, BATCH_BYTES // (8 * width)), before)
        yield
    finally:
        for name, now in before.items():
            spark.conf.set(name, str(now))


def _make_smaller(spark: SparkSession, rows: int, before: dict[str, int]) -> None:
    """Limit batches to so many rows; ``before`` gets the settings that were changed, also if another one fails."""
    try:
        for name, usual in _ROWS_PER_BATCH.items():
            now = int(spark.conf.get(name, str(usual)) or usual)
            if now <= 0 or now > rows:
                spark.conf.set(name, str(rows))
                before[name] = now
    except PySparkException as error:
        if not (is_connect(spark) and refused(error)):
            raise
