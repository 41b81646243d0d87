"""Batches of wide rows are kept small while it matters, and the session's settings come back."""

from pyspark.sql import SparkSession

from spectral_spark.engine.batch_size import BATCH_BYTES, small_batches

ARROW, PARQUET = "spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.parquet.columnarReaderBatchSize"


def test_settings_follow_the_width_and_come_back(spark: SparkSession) -> None:
    before = spark.conf.get(ARROW), spark.conf.get(PARQUET)
    with small_batches(spark, 100_000):
        assert spark.conf.get(ARROW) == spark.conf.get(PARQUET) == str(BATCH_BYTES // 800_000)
    with small_batches(spark, 10):
        assert (spark.conf.get(ARROW), spark.conf.get(PARQUET)) == before
    assert (spark.conf.get(ARROW), spark.conf.get(PARQUET)) == before
