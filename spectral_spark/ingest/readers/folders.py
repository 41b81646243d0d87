"""Any directory of text files: the folders are the tree."""

import pyarrow as pa
from pyspark.sql import SparkSession

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.input_files import compact, directory_files
from spectral_spark.ingest.readers.source import Source, documents
from spectral_spark.ingest.text_decoding import decode_file, looks_like_html, plain_text


def read(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Compact the files into ``raw/``; a file's path is the list of folders it is in."""
    say(f"reading files below {settings.input}")
    rows, total = compact(spark, directory_files(settings.input, settings.max_document_bytes), work)
    if not total:
        raise InputError(f"'{settings.input}' contains no files; give a directory of text files")
    say(f"compacted {total:,} files")
    return Source(rows, parse_batch)


def parse_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Files to documents; binary files and broken HTML are unreadable."""
    names: list[str] = batch.column("name").to_pylist()
    problems: list[str | None] = batch.column("problem").to_pylist()
    texts = [
        None if problem else _text(content.as_py())
        for content, problem in zip(batch.column("content"), problems, strict=True)
    ]
    return documents(
        doc_id=names,
        path=[name.split("/")[:-1] for name in names],
        text=texts,
        problem=[
            problem or ("unreadable" if text is None else None) for problem, text in zip(problems, texts, strict=True)
        ],
    )


def _text(content: bytes) -> str | None:
    text = decode_file(content)
    try:
        return plain_text(text) if text is not None and looks_like_html(text) else text
    except ValueError:                                # an entity with more digits than Python converts
        return None
