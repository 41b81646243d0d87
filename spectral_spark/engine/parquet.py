"""A DataFrame as a Parquet directory that is either complete or not there."""

import uuid
from contextlib import suppress

from pyarrow import fs
from pyspark.sql import DataFrame

from spectral_spark.errors import InputError
from spectral_spark.storage import exists, remove, resolve


def write_parquet(frame: DataFrame, path: str, *, overwrite: bool = False) -> int:
    """Write through a staging directory beside the target, moved into place as the last step.

    Returns
    -------
    The number of rows, counted in the finished files.
    """
    if exists(path) and not overwrite:
        raise InputError(f"'{path}' exists; choose another path, remove it, or allow overwriting")
    filesystem, _ = resolve(path)
    spark_path = path.rstrip("/")
    if isinstance(filesystem, fs.LocalFileSystem):
        spark_path = "file://" + resolve(path)[1]
    parent, name = spark_path.rsplit("/", 1)
    staging = f"{parent}/.{name}.partial-{uuid.uuid4().hex[:8]}"
    try:
        frame.write.parquet(staging)
        rows = frame.sparkSession.read.parquet(staging).count()
        _replace(staging, spark_path)
    except BaseException:
        with suppress(OSError):
            remove(staging)
        raise
    return rows


def _replace(source: str, target: str) -> None:
    filesystem, inside = resolve(source)
    destination = resolve(target)[1]
    if not exists(target):
        filesystem.move(inside, destination)
        return
    aside = f"{inside}-replaced"
    filesystem.move(destination, aside)
    try:
        filesystem.move(inside, destination)
    except OSError:
        filesystem.move(aside, destination)
        raise
    filesystem.delete_dir(aside)
