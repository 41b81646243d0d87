"""Decides which documents are used; each of the others is dropped for exactly one reason."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Screened:
    """The usable documents, and how many were dropped.

    Attributes
    ----------
    usable : documents to keep (doc_id, path, words, counts).
    read : how many documents there were.
    dropped : documents per reason.
    """

    usable: DataFrame
    read: int
    dropped: dict[str, int]

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())


def screen(counted: DataFrame, settings: IngestSettings, work: Workplace) -> Screened:
    """Apply the reasons in a fixed order: unreadable, null path, duplicate, empty, too short, duplicate text.

    A duplicate has the same whole text as another document; a duplicate text has the same text once quoted mails are
    removed. Of several copies, the one with the smallest id is kept, independently of the partitioning.
    """
    if settings.missing_path == "unknown":
        counted = counted.withColumn("path", F.transform("path", _named))
    if settings.id_col:
        _refuse_repeated_ids(counted, settings.id_col)
    before = F.when(F.col("problem").isNotNull(), F.col("problem")).when(_path_missing(), F.lit("null_path"))
    short = (F.when(F.col("length") == 0, F.lit("empty"))
             .when(F.col("length") < settings.min_tokens, F.lit("too_short")))
    if settings.duplicates_dropped:
        narrow = counted.select("doc_id", "whole_key", "text_key", before.alias("reason"), short.alias("short"))
        _with_duplicates(narrow).write.parquet(work.part("reasons"))
        verdicts = counted.sparkSession.read.schema("doc_id string, reason string").parquet(work.readable("reasons"))
        usable = counted.join(verdicts.filter(F.col("reason").isNotNull()), "doc_id", "left_anti")
    else:
        verdicts = counted.select(F.coalesce(before, short).alias("reason"))
        usable = counted.filter(F.coalesce(before, short).isNull())
    tally = {row["reason"]: row["count"] for row in verdicts.groupBy("reason").count().collect()}
    read = sum(tally.values())
    tally.pop(None, None)
    if settings.missing_path == "error" and tally.get("null_path"):
        raise InputError(
            f"document tree: {tally['null_path']:,} documents have a null in their path; drop them "
            "(`missing_path=drop`) or file them under 'unknown' (`missing_path=unknown`)"
        )
    return Screened(usable.select("doc_id", "path", "words", "counts"), read, dict(sorted(tally.items())))


def _refuse_repeated_ids(counted: DataFrame, column: str) -> None:
    repeated = counted.filter(F.col("problem").isNull()).groupBy("doc_id").count().filter(F.col("count") > 1)
    found = repeated.agg(F.count("*"), F.sum("count")).collect()[0]
    if found[0]:
        raise InputError(
            f"column '{column}': {found[0]:,} ids stand for {found[1]:,} rows; give a column of unique ids, or none"
        )


def _with_duplicates(narrow: DataFrame) -> DataFrame:
    """Reasons including duplicates, by document id; narrow columns only, so that little is shuffled."""
    first = _first_of("whole_key", F.col("reason").isNull())
    narrow = narrow.withColumn("reason", F.when(F.col("reason").isNull() & ~first, F.lit("duplicate"))
                               .otherwise(F.coalesce("reason", "short")))
    first = _first_of("text_key", F.col("reason").isNull())
    return narrow.select("doc_id", F.when(F.col("reason").isNull() & ~first, F.lit("duplicate_text"))
                         .otherwise(F.col("reason")).alias("reason"))


def _first_of(key: str, usable: Column) -> Column:
    """Whether a usable document has the smallest id of all usable documents with its key."""
    smallest = F.min(F.when(usable, F.col("doc_id"))).over(Window.partitionBy(key))
    return smallest.isNull() | (F.col("doc_id") == smallest)


def _path_missing() -> Column:
    return F.col("path").isNull() | F.exists("path", lambda part: part.isNull() | (part == ""))


def _named(part: Column) -> Column:
    return F.when(part.isNull() | (part == ""), F.lit(UNKNOWN)).otherwise(part)
