"""Decides which documents are used; each of the others is dropped for exactly one reason."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.kept_columns import KEPT

UNKNOWN = "unknown"
DUPLICATE, DUPLICATE_TEXT = "duplicate", "duplicate_text"
_MOST_BROADCAST = 4_000_000


@dataclass(frozen=True)
class Screened:
    """How many documents are used, and how many were dropped.

    Attributes
    ----------
    read : how many documents there were.
    dropped : documents per reason.
    """

    read: int
    dropped: dict[str, int]

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())


@dataclass(frozen=True)
class UsableDocuments:
    """The usable documents.

    Attributes
    ----------
    usable : documents to keep (row, doc_id, path, hashes, counts, and columns that are carried along).
    duplicates : documents that were counted as usable before all documents were known, and are not; None if there are
        none.
    """

    usable: DataFrame
    duplicates: DataFrame | None


def screen(
    counted: DataFrame, settings: IngestSettings, work: Workplace, two_keys: bool
) -> tuple[Screened, UsableDocuments]:
    """Apply the reasons in a fixed order: unreadable, null path, duplicate, empty, too short, duplicate text.

    A duplicate has the same whole text as another document; a duplicate text has the same text once quoted mails are
    removed (``two_keys``: where the two can differ). Of several copies, the one with the smallest id is kept,
    independently of the partitioning.
    """
    counted = counted.filter(F.col("term").isNull())
    if settings.id_col:
        _refuse_repeated_ids(counted, settings.id_col)
    if not settings.duplicates_dropped:
        tally = _tally(counted.select(F.coalesce("problem", "short").alias("reason")))
        return screened(tally, settings), _usable(counted, None, tally, settings)
    narrow = counted.select("row", "doc_id", "whole_key", "text_key", F.col("problem").alias("reason"), "short")
    _with_duplicates(narrow, two_keys).write.parquet(work.part("reasons"))
    verdicts = counted.sparkSession.read.schema("row long, reason string").parquet(work.readable("reasons"))
    rows = verdicts.filter(F.col("reason").startswith(DUPLICATE)).select("row")
    tally = _tally(verdicts)
    return screened(tally, settings), _usable(counted, rows, tally, settings)


def _usable(
    counted: DataFrame, copies: DataFrame | None, tally: dict[str | None, int], settings: IngestSettings
) -> UsableDocuments:
    """What is left of the documents without the rows ``copies``."""
    if settings.missing_path == "unknown":
        counted = counted.withColumn("path", F.transform("path", _named))
    columns = ("row", "doc_id", "path", "hashes", "counts", *(name for name in counted.columns if name == KEPT))
    usable, duplicates = counted.filter(F.coalesce("problem", "short").isNull()).select(*columns), None
    n_copies = tally.get(DUPLICATE, 0) + tally.get(DUPLICATE_TEXT, 0)
    if copies is not None and n_copies:
        copies = F.broadcast(copies) if n_copies <= _MOST_BROADCAST else copies
        duplicates = usable.join(copies, "row", "left_semi")
        usable = usable.join(copies, "row", "left_anti")
    return UsableDocuments(usable, duplicates)


def screened(tally: dict[str | None, int], settings: IngestSettings) -> Screened:
    """The documents per reason, those that are used under None; refuses documents without a path, where settings do."""
    read = sum(tally.values())
    dropped = {str(name): count for name, count in sorted(tally.items(), key=str) if name is not None}
    if settings.missing_path == "error" and dropped.get("null_path"):
        raise InputError(
            f"document tree: {dropped['null_path']:,} documents have a null in their path; drop them "
            "(`missing_path=drop`) or file them under 'unknown' (`missing_path=unknown`)"
        )
    return Screened(read, dropped)


def _tally(reasons: DataFrame) -> dict[str | None, int]:
    return {row["reason"]: row["count"] for row in reasons.groupBy("reason").count().collect()}


def _refuse_repeated_ids(counted: DataFrame, column: str) -> None:
    repeated = counted.filter(F.col("problem").isNull()).groupBy("doc_id").count().filter(F.col("count") > 1)
    found = repeated.agg(F.count("*"), F.sum("count")).collect()[0]
    refuse_ids(column, found[0], found[1])


def refuse_ids(column: str, ids: int, rows: int) -> None:
    """Raise if so many ids stand for several rows each."""
    if ids:
        raise InputError(
            f"column '{column}': {ids:,} ids stand for {rows:,} rows; give a column of unique ids, or none"
        )


def _with_duplicates(narrow: DataFrame, two_keys: bool) -> DataFrame:
    """Reasons including duplicates, by row; narrow columns only, so that little is shuffled."""
    first = _first_of("whole_key", F.col("reason").isNull())
    narrow = narrow.withColumn("reason", F.when(F.col("reason").isNull() & ~first, F.lit(DUPLICATE))
                               .otherwise(F.coalesce("reason", "short")))
    if not two_keys:
        return narrow.select("row", "reason")
    first = _first_of("text_key", F.col("reason").isNull())
    return narrow.select("row", F.when(F.col("reason").isNull() & ~first, F.lit(DUPLICATE_TEXT))
                         .otherwise(F.col("reason")).alias("reason"))


def _first_of(key: str, usable: Column) -> Column:
    """Whether a usable document has the smallest id of all usable documents with its key."""
    smallest = F.min(F.when(usable, F.col("doc_id"))).over(Window.partitionBy(key))
    return smallest.isNull() | (F.col("doc_id") == smallest)


def _named(part: Column) -> Column:
    return F.when(part.isNull() | (part == ""), F.lit(UNKNOWN)).otherwise(part)
