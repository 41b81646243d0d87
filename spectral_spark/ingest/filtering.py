"""Decides which documents are used; each of the others is dropped for exactly one reason."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.kept_columns import KEPT

UNKNOWN = "unknown"
_MOST_BROADCAST = 4_000_000


@dataclass(frozen=True)
class Screened:
    """The usable documents, and how many were dropped.

    Attributes
    ----------
    usable : documents to keep (row, doc_id, path, hashes, counts, and columns that are carried along).
    duplicates : documents that were counted as usable before all documents were known, and are not; None if there are
        none.
    read : how many documents there were.
    dropped : documents per reason.
    """

    usable: DataFrame
    duplicates: DataFrame | None
    read: int
    dropped: dict[str, int]

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())


def screen(counted: DataFrame, settings: IngestSettings, work: Workplace, two_keys: bool) -> Screened:
    """Apply the reasons in a fixed order: unreadable, null path, duplicate, empty, too short, duplicate text.

    A duplicate has the same whole text as another document; a duplicate text has the same text once quoted mails are
    removed (``two_keys``: where the two can differ). Of several copies, the one with the smallest id is kept,
    independently of the partitioning.
    """
    counted = counted.filter(F.col("term").isNull())
    if settings.missing_path == "unknown":
        counted = counted.withColumn("path", F.transform("path", _named))
    if settings.id_col:
        _refuse_repeated_ids(counted, settings.id_col)
    alone = F.coalesce("problem", "short")
    columns = ("row", "doc_id", "path", "hashes", "counts", *(name for name in counted.columns if name == KEPT))
    usable, duplicates = counted.filter(alone.isNull()).select(*columns), None
    if settings.duplicates_dropped:
        narrow = counted.select("row", "doc_id", "whole_key", "text_key", F.col("problem").alias("reason"), "short")
        _with_duplicates(narrow, two_keys).write.parquet(work.part("reasons"))
        verdicts = counted.sparkSession.read.schema("row long, reason string").parquet(work.readable("reasons"))
        tally = _tally(verdicts)
        copies = tally.get("duplicate", 0) + tally.get("duplicate_text", 0)
        if copies:
            rows = verdicts.filter(F.col("reason").startswith("duplicate")).select("row")
            rows = F.broadcast(rows) if copies <= _MOST_BROADCAST else rows
            duplicates = usable.join(rows, "row", "left_semi")
            usable = usable.join(rows, "row", "left_anti")
    else:
        tally = _tally(counted.select(alone.alias("reason")))
    read = sum(tally.values())
    tally.pop(None, None)
    if settings.missing_path == "error" and tally.get("null_path"):
        raise InputError(
            f"document tree: {tally['null_path']:,} documents have a null in their path; drop them "
            "(`missing_path=drop`) or file them under 'unknown' (`missing_path=unknown`)"
        )
    return Screened(usable, duplicates, read, {str(name): count for name, count in sorted(tally.items(), key=str)})


def _tally(reasons: DataFrame) -> dict[str | None, int]:
    return {row["reason"]: row["count"] for row in reasons.groupBy("reason").count().collect()}


def _refuse_repeated_ids(counted: DataFrame, column: str) -> None:
    repeated = counted.filter(F.col("problem").isNull()).groupBy("doc_id").count().filter(F.col("count") > 1)
    found = repeated.agg(F.count("*"), F.sum("count")).collect()[0]
    if found[0]:
        raise InputError(
            f"column '{column}': {found[0]:,} ids stand for {found[1]:,} rows; give a column of unique ids, or none"
        )


def _with_duplicates(narrow: DataFrame, two_keys: bool) -> DataFrame:
    """Reasons including duplicates, by row; narrow columns only, so that little is shuffled."""
    first = _first_of("whole_key", F.col("reason").isNull())
    narrow = narrow.withColumn("reason", F.when(F.col("reason").isNull() & ~first, F.lit("duplicate"))
                               .otherwise(F.coalesce("reason", "short")))
    if not two_keys:
        return narrow.select("row", "reason")
    first = _first_of("text_key", F.col("reason").isNull())
    return narrow.select("row", F.when(F.col("reason").isNull() & ~first, F.lit("duplicate_text"))
                         .otherwise(F.col("reason")).alias("reason"))


def _first_of(key: str, usable: Column) -> Column:
    """Whether a usable document has the smallest id of all usable documents with its key."""
    smallest = F.min(F.when(usable, F.col("doc_id"))).over(Window.partitionBy(key))
    return smallest.isNull() | (F.col("doc_id") == smallest)


def _named(part: Column) -> Column:
    return F.when(part.isNull() | (part == ""), F.lit(UNKNOWN)).otherwise(part)
