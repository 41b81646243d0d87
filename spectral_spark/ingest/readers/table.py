"""Tables: Parquet, JSON lines, CSV, Delta, Iceberg, or a name of Spark's catalogue, with a text or a token column, path
columns and an id column.

Lines that are no JSON or have the wrong number of CSV fields are counted as unreadable. Without an id column a
document is named by a hash of its content, so that its name does not depend on where the row stands.
"""

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructType

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace, spark_readable
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.kept_columns import KEPT, table_schema
from spectral_spark.ingest.lake_tables import find_table, open_version
from spectral_spark.ingest.readers.json_lines import CORRUPT, open_json, with_corrupt
from spectral_spark.ingest.readers.source import Source, readable_input
from spectral_spark.ingest.table_schema import check_columns, table_format, wanted_columns

_STRINGS = ArrayType(StringType())


def read(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Rows of the table as documents."""
    frame, notes = _rows(spark, settings, say)
    kind = notes["format"]
    check_columns([name for name in frame.columns if name != CORRUPT], settings)
    content = _content(frame, settings)
    path = _path(frame, settings.path_cols)
    corrupt = _quoted(CORRUPT).isNotNull() if kind in ("json", "csv") else F.lit(False)
    problem = F.when(corrupt, F.lit("unreadable"))
    given = F.lit(None).cast("string")
    if settings.id_col:
        given = _quoted(settings.id_col).cast("string")
        problem = problem.when(given.isNull(), F.lit("null_id"))
    types = table_schema(frame.schema, settings.keep_cols)
    kept = [F.struct(*map(_quoted, settings.keep_cols)).alias(KEPT)] if types else []
    named = frame.select(given.alias("given"), path.alias("path"), content, problem.alias("problem"), *kept)
    return Source(_with_ids(named, settings), notes=notes, kept=types)


def _rows(spark: SparkSession, settings: IngestSettings, say: ShowProgress) -> tuple[DataFrame, dict[str, Any]]:
    """The rows as they are, and what the corpus should say about where they came from."""
    if table := find_table(spark, settings.input, settings.format):
        frame, notes = open_version(spark, table, settings.table_version)
        version = f", version {notes['table_version']}" if "table_version" in notes else ""
        say(f"reading the {table.kind} table {settings.input}{version}")
        return frame, notes
    if settings.table_version is not None:
        raise InputError(f"'{settings.input}' is no Delta or Iceberg table, so it has no versions; leave out "
                         "`table_version`")
    kind, separator = table_format(settings)
    say(f"reading {kind} rows from {settings.input}")
    with readable_input(settings.input):
        return _open(spark, settings, kind, separator), {"format": kind}


def _open(spark: SparkSession, settings: IngestSettings, kind: str, separator: str) -> DataFrame:
    location = spark_readable(settings.input)
    if kind == "parquet":
        return spark.read.parquet(location)
    if kind == "json":
        return open_json(spark, settings.input, wanted_columns(settings))
    reader = spark.read.options(header=True, sep=separator, quote='"', escape='"', multiLine=True, encoding="UTF-8")
    schema = reader.csv(location).schema
    return (reader.schema(with_corrupt(schema)).options(columnNameOfCorruptRecord=CORRUPT, columnPruning=False,
                                                         enforceSchema=False).csv(location))


def _content(frame: DataFrame, settings: IngestSettings) -> Column:
    """The text, or the words; words in one string are split at white space."""
    if settings.text_col:
        if isinstance(frame.schema[settings.text_col].dataType, ArrayType | StructType):
            raise InputError(f"column '{settings.text_col}' holds lists, not text; name it as the tokens column")
        return _quoted(settings.text_col).cast("string").alias("text")
    name = str(settings.tokens_col)
    kind = frame.schema[name].dataType
    if isinstance(kind, StringType):
        return F.filter(F.split(_quoted(name), r"\s+"), lambda word: word != "").alias("words")
    if not isinstance(kind, ArrayType) or isinstance(kind.elementType, ArrayType | StructType):
        raise InputError(f"column '{name}' is {kind.simpleString()}; tokens are lists of words, or words in a string")
    return _quoted(name).cast(_STRINGS).alias("words")


def _path(frame: DataFrame, columns: tuple[str, ...]) -> Column:
    parts = []
    for name in columns:
        nothing = F.array(F.lit(None).cast("string"))
        if isinstance(frame.schema[name].dataType, ArrayType):
            parts.append(F.coalesce(_quoted(name).cast(_STRINGS), nothing))
        else:
            parts.append(F.array(_quoted(name).cast("string")))
    return F.concat(*parts) if parts else F.array().cast(_STRINGS)


def _with_ids(named: DataFrame, settings: IngestSettings) -> DataFrame:
    """Ids as given; else the hash of path and content, numbered among equal rows in the order of their kept columns, so
    that the same table always gives the same corpus.

    A row with a problem is only counted: its id need not be unique, but must not be that of a row that is used.
    """
    content = "text" if settings.text_col else "words"
    kept = [name for name in named.columns if name == KEPT]
    hashed = F.substring(F.sha2(F.to_json(F.struct("path", content)), 256), 1, 32)
    if settings.id_col:
        doc_id = F.when(F.col("problem").isNull(), F.col("given")).otherwise(F.concat(F.lit("unused-"), hashed))
    else:
        number = F.row_number().over(Window.partitionBy("hash").orderBy("hash", *kept))
        named = named.withColumn("hash", hashed).withColumn("number", number)
        doc_id = F.concat("hash", F.lit("-"), F.col("number").cast("string"))
    return named.select(doc_id.alias("doc_id"), "path", content, "problem", *kept)


def _quoted(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


