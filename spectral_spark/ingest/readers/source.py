"""What a reader hands to the pipeline."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress

# One row per document that was read, usable or not. Either text, or words with their counts. The two keys, when a
# reader gives them, decide what is a duplicate: the whole as it came, and the part that is kept.
DOCUMENT_FIELDS = (
    ("doc_id", pa.string()),
    ("path", pa.list_(pa.string())),
    ("text", pa.string()),
    ("words", pa.list_(pa.string())),
    ("counts", pa.list_(pa.int32())),
    ("whole_key", pa.binary()),
    ("text_key", pa.binary()),
    ("problem", pa.string()),
)
DOCUMENT_SCHEMA = pa.schema(DOCUMENT_FIELDS)

LARGEST_COUNT = 2**31 - 1

BatchParser = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class Source:
    """Documents as read.

    Attributes
    ----------
    rows : raw rows; with no ``parse`` they already have (some of) the columns of ``DOCUMENT_SCHEMA``.
    parse : turns a batch of raw rows into documents; runs on the executors, in the same pass as the tokeniser.
    notes : what a reader wants the manifest to say besides the counts (files it left aside, the format it found).
    kept : types of the columns that are carried along; they are in a column ``kept`` of the rows, or of what ``parse``
        returns.
    two_keys : whether the whole of a document and the part that is kept have keys of their own.
    """

    rows: DataFrame
    parse: BatchParser | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    kept: StructType | None = None
    two_keys: bool = False


def documents(**columns: Any) -> pa.RecordBatch:
    """A batch of documents; columns that are not given are null."""
    n = len(next(iter(columns.values())))
    unknown = columns.keys() - DOCUMENT_SCHEMA.names
    if unknown:
        raise TypeError(f"no such document columns: {sorted(unknown)}")
    arrays = [_column(columns.get(name), kind, n) for name, kind in DOCUMENT_FIELDS]
    return pa.RecordBatch.from_arrays(arrays, schema=DOCUMENT_SCHEMA)


def _column(values: Any, kind: pa.DataType, n: int) -> pa.Array:
    if values is None:
        return pa.nulls(n, kind)
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


@contextmanager
def readable_input(path: str) -> Iterator[None]:
    """Turn a Spark failure while reading the input into one line that names the input and the cause."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, PySparkException) and type(error).__name__ != "Py4JJavaError":     # py4j may be absent
            raise
        text = str(error)
        causes = re.findall(r"^Caused by: (?:[\w$]+\.)*([^\n]{1,300})", text, re.MULTILINE)
        reason = causes[-1] if causes else text.split("\n")[0][:300]
        raise InputError(f"reading '{path}' failed: {reason}") from error


def read_source(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Run the reader the settings name."""
    reader = import_module(f"spectral_spark.ingest.readers.{settings.source}")
    source: Source = reader.read(spark, settings, work, say)
    return source
