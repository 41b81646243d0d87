"""Rows that several passes read: cached by Spark, or staged as files or a table, or computed again by each pass.

Classic sessions cache. A Connect server may refuse to (serverless platforms do); then the rows are written to the place
that the setting ``spark.spectral.staging`` names, which the server can write and read: a directory, or a schema of its
catalogue. Without that setting they are computed again. The bits are the same on all three ways.
"""

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from spectral_spark.engine.spark_connect import is_connect, refused, session_setting

STAGING = "spark.spectral.staging"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptRows:
    """Rows to read several times, and how to let them go.

    Attributes
    ----------
    frame : the rows. Those of a staged copy are in any order.
    release : frees the cache, or deletes the staged copy.
    staged : they are read from a staged copy.
    again : every use computes them again.
    """

    frame: DataFrame
    release: Callable[[], object]
    staged: bool = False
    again: bool = False


def keep_rows(frame: DataFrame, level: StorageLevel, what: str) -> KeptRows:
    """Keep the rows of a frame in the way that the session allows; ``what`` they are is for messages."""
    try:
        kept = frame.persist(level)
        return KeptRows(kept, kept.unpersist)
    except PySparkException as error:
        if not (is_connect(frame.sparkSession) and refused(error)):
            raise
    return stage_rows(frame, what)


def keep_without_plan(frame: DataFrame, level: StorageLevel | None, what: str) -> KeptRows:
    """Keep the rows without the plan that led to them, which otherwise grows from sweep to sweep."""
    spark = frame.sparkSession
    try:
        kept = frame.localCheckpoint(eager=False, storageLevel=level) if level else frame.localCheckpoint(eager=False)
        return KeptRows(kept, lambda: _forget_checkpoint(kept))
    except PySparkException as error:
        if not (is_connect(spark) and refused(error)):
            raise
    return stage_rows(frame, what)


def stage_rows(frame: DataFrame, what: str) -> KeptRows:
    """Write the rows where the server can read them again; without such a place they stay a plan."""
    spark = frame.sparkSession
    place = session_setting(spark, STAGING)
    if not place:
        _log.warning("this Spark keeps no rows, so every pass computes %s again; name a directory or a schema that it "
                     "can write in %s (or SPECTRAL_STAGING) to keep them there", what, STAGING)
        return KeptRows(frame, lambda: None, again=True)
    name = f"spectral_spark_{uuid.uuid4().hex}"
    if "/" not in place:
        table = f"{place}.{name}"
        frame.write.saveAsTable(table)
        return KeptRows(spark.table(table), lambda: _drop(spark, f"DROP TABLE IF EXISTS {table}"), staged=True)
    path = f"{place.rstrip('/')}/{name}"
    frame.write.parquet(path)
    return KeptRows(spark.read.parquet(path), lambda: _empty(spark, path), staged=True)


def _drop(spark: SparkSession, command: str) -> None:
    with _warned_if_left_behind(command):
        spark.sql(command)


def _empty(spark: SparkSession, path: str) -> None:
    """Replace the staged rows by none: a client of Spark Connect can overwrite files of its server, not delete them."""
    with _warned_if_left_behind(path):
        spark.range(0).write.mode("overwrite").parquet(path)


@contextmanager
def _warned_if_left_behind(what: str) -> Iterator[None]:
    try:
        yield
    except PySparkException as error:
        _log.warning("a staged copy of rows stays behind (%s): %s", what, str(error).splitlines()[0])


def _forget_checkpoint(frame: DataFrame) -> None:
    """Let the rows go; under Spark Connect the server does, when nothing refers to them any more.

    ``RDD.unpersist`` does the same and warns that the rows cannot be recomputed, which is intended here.
    """
    plan = getattr(frame, "_jdf", None)
    if plan is not None:
        rows = plan.queryExecution().analyzed().rdd()
        rows.sparkContext().unpersistRDD(rows.id(), False)
