"""The change feed of a Delta table into a model: inserts are added, deletes removed, updates both, each exactly once.

A feed has a row for every change with the columns ``_change_type`` (insert, delete, update_preimage, update_postimage)
and ``_commit_version``. A document may change several times in it. What counts is how it was before the first of its
changes and how it is after the last: the first is taken out of the model, the second put in. A model knows its
documents one by one, so changes that it has seen already are skipped, and a feed may be applied again after a crash.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError, NoDocumentsError, SettingsError
from spectral_spark.files.spark_paths import spark_location
from spectral_spark.ingest.lake_tables import LakeTable, explained, newest_version
from spectral_spark.ml.hdp import SpectralHDPModel

CHANGE, VERSION = "_change_type", "_commit_version"
_TAKEN_OUT, _PUT_IN = ("delete", "update_preimage"), ("insert", "update_postimage")


def is_change_feed(frame: DataFrame) -> bool:
    """Whether the rows are those of a change feed."""
    return CHANGE in frame.columns and VERSION in frame.columns


def read_changes(
    spark: SparkSession, table: LakeTable, since: int, until: int | None = None
) -> tuple[DataFrame | None, int]:
    """The changes of a Delta table after version ``since`` up to ``until`` or the newest, and that version.

    No changes are None. The table must have ``delta.enableChangeDataFeed`` set since then.
    """
    if table.kind != "delta":
        raise InputError(f"'{table.name}' is a table of {table.kind}; only Delta tables have a change feed here")
    with explained(table.name, table.kind, until):
        last = newest_version(spark, table) if until is None else until
        if last < since:
            raise SettingsError(f"the changes of '{table.name}' are asked for since version {since}, which is after "
                                f"{last}; give an earlier version")
        if last == since:
            return None, last
        reader = spark.read.format("delta").options(
            readChangeFeed="true", startingVersion=str(since + 1), endingVersion=str(last)
        )
        frame = reader.table(table.identifier) if table.named else reader.load(spark_location(table.name))
        _ = frame.columns
        return frame, last


def net_changes(feed: DataFrame, key: str, content: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """Documents to take out and documents to put in, with the columns ``key`` and ``content``.

    A document that ends as it began is in neither.
    """
    after = F.col(CHANGE).isin(*_PUT_IN)
    order = F.struct(F.col(VERSION), after.cast("int"))
    said = F.struct(after.alias("there"), *(_quoted(name) for name in content))
    ends = feed.filter(F.col(CHANGE).isin(*_TAKEN_OUT, *_PUT_IN)).groupBy(_quoted(key)).agg(
        F.min_by(said, order).alias("first"), F.max_by(said, order).alias("last")
    )
    same = ~F.col("first.there") & F.col("last.there")
    for name in content:
        same = same & F.col(f"first.{_name(name)}").eqNullSafe(F.col(f"last.{_name(name)}"))
    changed = ends.filter(~same)

    def part(end: str, where: Column) -> DataFrame:
        return changed.filter(where).select(_quoted(key), *(F.col(f"{end}.{_name(name)}") for name in content))

    return part("first", ~F.col("first.there")), part("last", F.col("last.there"))


def apply_changes(model: SpectralHDPModel, feed: DataFrame) -> SpectralHDPModel:
    """The model after the changes of a feed, whose columns are those that the model was fitted to.

    Parameters
    ----------
    model : fitted with an ``idCol``, which tells the documents apart.
    feed : rows of a change feed, of any number of commits.
    """
    key = model._value("idCol")
    if not key:
        raise SettingsError("a change feed changes documents by their ids; fit the model with an `idCol`")
    if not is_change_feed(feed):
        raise InputError(f"the rows have no columns {CHANGE} and {VERSION}; read them with readChangeFeed=true")
    columns = [name for name in dict.fromkeys(model._column_names()) if name and name != key and name in feed.columns]
    removed, added = net_changes(feed, key, columns)
    for frame, remove in ((removed, True), (added, False)):
        if frame.isEmpty():
            continue
        try:
            model = model.update(frame, remove=remove, skipKnown=True)
        except NoDocumentsError:                            # all of them are too short: the model never had them
            continue
    return model


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _quoted(name: str) -> Column:
    return F.col(_name(name))
