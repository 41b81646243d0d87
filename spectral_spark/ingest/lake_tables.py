"""Tables of a catalogue, and Delta and Iceberg tables: recognised, and read as one version of them.

Such a table changes while it is read. Unless a version is asked for, the newest one is looked up once, everything is
read as of that version, and the corpus says which one it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import spark_location
from spectral_spark.ingest.table_names import table_in_catalog, table_kind

_JARS = {
    "delta": "io.delta:delta-spark_2.13 in the version for this Spark, on spark.jars, with spark.sql.extensions="
             "io.delta.sql.DeltaSparkSessionExtension and spark.sql.catalog.spark_catalog="
             "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime in the version for this Spark, on spark.jars",
}
_NO_SUCH_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE",
                  "REQUIRES_SINGLE_PART_NAMESPACE")
_NO_SUCH_VERSION = ("DELTA_VERSION_NOT_FOUND", "VersionNotFoundException", "Cannot find snapshot", "DELTA_TIMESTAMP_",
                    "versions: [", "Cannot find a snapshot")
_NO_CONNECTOR = ("DATA_SOURCE_NOT_FOUND", "Cannot find catalog plugin", "CATALOG_NOT_FOUND", "PARSE_SYNTAX_ERROR",
                 "DELTA_CONFIGURE_SPARK_SESSION", "Failed to find the data source", "plugin class")


@dataclass(frozen=True)
class LakeTable:
    """A table whose versions can be read.

    Attributes
    ----------
    name : its name in the catalogue, or its path.
    kind : "delta", "iceberg", or the provider of another table of the catalogue.
    named : it is a name, not a path.
    """

    name: str
    kind: str
    named: bool

    @property
    def identifier(self) -> str:
        """As SQL calls it."""
        if self.named:
            return ".".join(f"`{part.replace('`', '``')}`" for part in self.name.split("."))
        return f"{self.kind}.`{spark_location(self.name)}`"


def find_table(spark: SparkSession, name: str, given_format: str | None) -> LakeTable | None:
    """The table that an input is; None for files."""
    if table_in_catalog(name, given_format):
        with explained(name, given_format):
            kind = given_format or _provider(spark, LakeTable(name, "", True).identifier)
        return LakeTable(name, kind, True)
    found = table_kind(name, given_format)
    return LakeTable(name, found, False) if found in _JARS else None


def open_version(spark: SparkSession, table: LakeTable, version: int | None) -> tuple[DataFrame, dict[str, Any]]:
    """The rows of a version, of the newest if none is given, and what the corpus should say about them."""
    with explained(table.name, table.kind, version):
        if table.kind not in _JARS:
            if version is not None:
                raise InputError(f"'{table.name}' is a table of {table.kind}, which has no versions; leave out "
                                 "--table-version")
            return spark.table(table.identifier), {"format": table.kind}
        asked = newest_version(spark, table) if version is None else version
        reader = spark.read.format(table.kind).option("versionAsOf", str(asked))
        frame = reader.table(table.identifier) if table.named else reader.load(spark_location(table.name))
        _ = frame.columns                                   # a version that is not there is found out here
        return frame, {"format": table.kind, "table_version": asked}


def newest_version(spark: SparkSession, table: LakeTable) -> int:
    """The version of a Delta table, or the snapshot of an Iceberg table, that is read when none is named."""
    if table.kind == "delta":
        row = spark.sql(f"DESCRIBE HISTORY {table.identifier} LIMIT 1").first()
        return int(row["version"]) if row is not None else 0
    refs = (spark.table(f"{table.identifier}.refs") if table.named
            else spark.read.format("iceberg").load(f"{spark_location(table.name)}#refs"))
    row = refs.where("name = 'main'").first()
    if row is None:
        raise InputError(f"the table '{table.name}' has no rows yet")
    return int(row["snapshot_id"])


@contextmanager
def explained(name: str, kind: str | None, version: int | None = None) -> Iterator[None]:
    """Say in one sentence what is wrong with a table, or with the Spark that should read it."""
    try:
        yield
    except PySparkException as error:
        text = str(error)
        if version is not None and any(word in text for word in _NO_SUCH_VERSION):
            raise InputError(f"the table '{name}' has no version {version}, or no longer; its history lists those that "
                             "it has") from None
        if any(word in text for word in _NO_SUCH_TABLE):
            raise InputError(f"there is no table '{name}' in the catalogue of this Spark, nor a file of that name") \
                from None
        if any(word in text for word in _NO_CONNECTOR):
            what = _JARS.get(kind or "", "its catalogue in spark.sql.catalog.NAME, and the jars of that")
            raise InputError(f"this Spark cannot read the table '{name}': it needs {what}") from None
        raise InputError(f"reading the table '{name}' failed: {text.splitlines()[0][:300]}") from error


def _provider(spark: SparkSession, identifier: str) -> str:
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {identifier}").where("col_name = 'Provider'").collect()
    return str(rows[0]["data_type"]).lower() if rows else "table"
