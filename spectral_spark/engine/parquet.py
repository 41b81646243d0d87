"""A DataFrame as a Parquet directory that is either complete or not there."""

from pyspark.sql import DataFrame

from spectral_spark.files.directories import staged
from spectral_spark.files.spark_paths import spark_location, spark_readable


def write_parquet(frame: DataFrame, path: str, *, overwrite: bool = False) -> int:
    """Write a DataFrame and return the number of rows, counted in the finished files."""
    with staged(path, overwrite=overwrite) as place:
        frame.write.mode("append").parquet(spark_location(place))   # "append": the staging directory is already there
        return frame.sparkSession.read.parquet(spark_readable(place)).count()
