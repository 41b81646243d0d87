"""JSON lines as a DataFrame, whatever keys the lines have.

Spark finds the columns with a first look at all lines. It refuses files in which a key occurs twice, or twice but for
upper and lower case; for these only the columns that were asked for are read, by their exact names. Of a key that
occurs twice in a line the last value counts, as in Python.
"""

import json

from pyarrow import fs
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from spectral_spark.engine.spark_versions import error_condition
from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import spark_readable
from spectral_spark.ingest.input_files import open_input

CORRUPT = "_corrupt_record"
_HEAD = 1 << 16
_MOST_KEYS = 1000
_CONVERT = "write one object per line, for example with: jq -c '.[]?' FILE.json > FILE.jsonl"


def open_json(spark: SparkSession, path: str, wanted: list[str]) -> DataFrame:
    """The rows with their columns and ``_corrupt_record``; ``wanted`` are the columns that will be used."""
    location = spark_readable(path)
    try:
        schema = spark.read.option("primitivesAsString", True).json(location).schema
    except AnalysisException as error:
        if error_condition(error) != "COLUMN_ALREADY_EXISTS":
            raise
        schema = _schema_of(spark, location, wanted)
    if not [name for name in schema.names if name != CORRUPT]:
        raise InputError(f"'{path}' {_why_without_columns(path)}")
    return spark.read.schema(with_corrupt(schema)).option("columnNameOfCorruptRecord", CORRUPT).json(location)


def with_corrupt(schema: StructType) -> StructType:
    """The schema with a last column for lines that cannot be read."""
    fields = [field for field in schema.fields if field.name != CORRUPT]
    return StructType([*fields, StructField(CORRUPT, StringType())])


def _schema_of(spark: SparkSession, location: str, wanted: list[str]) -> StructType:
    """The wanted columns that some line has, as text or as lists of text, and the other keys, as text."""
    lines = spark.read.text(location)
    keys = lines.select(F.explode(F.json_object_keys("value")).alias("key")).distinct()
    asked_first = keys.orderBy(F.when(F.col("key").isin(wanted), 0).otherwise(1), "key").limit(_MOST_KEYS)
    names = [row["key"] for row in asked_first.collect()]
    asked = [name for name in dict.fromkeys(wanted) if name in names]
    lists = lines.agg(F.lit(0), *(F.max(_is_list(name)) for name in asked)).first()
    fields: dict[str, StructField] = {}
    for i, name in enumerate(asked, 1):
        kind: DataType = ArrayType(StringType()) if lists is not None and lists[i] else StringType()
        fields[name.lower()] = StructField(name, kind)
    for name in sorted(names, key=str.swapcase):            # of names that differ in their letters, the small ones
        fields.setdefault(name.lower(), StructField(name, StringType()))
    return StructType(list(fields.values()))


def _is_list(name: str) -> Column:
    """Whether a line has a list under this name."""
    parsed = F.from_json("value", StructType([StructField(name, ArrayType(StringType()))]))
    return F.coalesce(parsed[name].isNotNull(), F.lit(False))


def _why_without_columns(path: str) -> str:
    """What a file without a single readable row is, and what to do."""
    try:
        head = _first_bytes(path).decode("utf-8-sig", "replace").lstrip()
    except OSError:
        head = "?"
    if not head:
        return "is empty: it has no rows; check what wrote it"
    first = head.splitlines()[0]
    if head[0] in "{[" and not _is_json(first):
        return ("is JSON spread over several lines (pretty-printed), and JSON lines are needed, one object per line; "
                f"{_CONVERT}")
    if _is_json(first):
        return f"has lines of JSON that are no objects with named columns; {_CONVERT}"
    return "does not hold JSON lines; check the file, or say what it is with --format"


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _first_bytes(path: str) -> bytes:
    """The beginning of the first file that is not empty, unpacked."""
    filesystem, inside, kind = open_input(path)
    names = [inside]
    if kind == fs.FileType.Directory:
        listed = filesystem.get_file_info(fs.FileSelector(inside, recursive=True))
        names = sorted(info.path for info in listed
                       if info.type == fs.FileType.File and info.size and not info.base_name.startswith((".", "_")))
    for name in names:
        with filesystem.open_input_stream(name) as source:
            if head := source.read(_HEAD):
                return bytes(head)
    return b""
