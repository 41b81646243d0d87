"""Texts of a few documents, read again from where a corpus came from: the corpus itself holds none."""

import tempfile
from collections.abc import Collection, Iterator
from dataclasses import fields
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.paths import exists
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.readers.source import BatchParser, read_source, readable_input
from spectral_spark.ingest.table_names import table_in_catalog

_TEXTS = "doc_id string, text string"


def source_texts(spark: SparkSession, manifest: dict[str, Any], ids: Collection[str]) -> dict[str, str]:
    """The texts of the documents with these ids; one pass over the source that ``corpus.json`` names."""
    settings = _settings(manifest)
    if settings.ready_made:
        raise InputError("the corpus was made from counts of words, so there is no text to show")
    if not table_in_catalog(settings.input, settings.format) and not exists(settings.input):
        raise InputError(f"the texts were at '{settings.input}', where there is nothing now; without the text the ids "
                         "still name the documents")
    with tempfile.TemporaryDirectory(prefix="spectral-spark-") as scratch, readable_input(settings.input):
        source = read_source(spark, settings, Workplace(scratch), lambda line: None)
        rows = source.rows if source.parse is None else source.rows.mapInArrow(_Texts(source.parse), _TEXTS)
        found = rows.select("doc_id", "text").filter(F.col("doc_id").isin(list(ids))).collect()
    return {row["doc_id"]: row["text"] or "" for row in found}


def _settings(manifest: dict[str, Any]) -> IngestSettings:
    given = manifest["settings"]
    known = {field.name for field in fields(IngestSettings)}
    values = {name: value for name, value in given.items() if name in known and value is not None}
    if (version := manifest.get("notes", {}).get("table_version")) is not None:
        values["table_version"] = version                   # the texts of the documents that were read, not newer ones
    return IngestSettings(**{**values, "output": "unused", "path_cols": tuple(values.get("path_cols") or ()),
                             "keep_cols": (), "find_boilerplate": None})


class _Texts:
    """Runs on an executor: raw rows → ids and texts."""

    def __init__(self, parse: BatchParser) -> None:
        self._parse = parse

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parsed = self._parse(batch)
            yield pa.RecordBatch.from_arrays([parsed["doc_id"], parsed["text"]], names=["doc_id", "text"])
