"""UCI bag of words: ``docword.X.txt`` (three counts, then ``doc word count`` lines) and ``vocab.X.txt``, also gzipped.

There is no tree: all paths are empty. Documents that the header counts but no line mentions are read as empty; a
document with a count beyond a 32-bit integer is unreadable.
"""

import gzip
import zlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.directories import resolve
from spectral_spark.files.spark_paths import Workplace, file_name, spark_readable
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.input_files import open_input
from spectral_spark.ingest.readers.source import LARGEST_COUNT, Source, documents, readable_input

_MAX_VOCABULARY_BYTES = 1 << 29
_TRIPLE = r"^\s*(\d{1,10})\s+(\d{1,10})\s+(\d+)\s*$"


@dataclass(frozen=True)
class _Header:
    documents: int
    words: int
    entries: int


def read(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Group the lines by document, after checking them against the header."""
    docword, vocab = _find(settings.input)
    words = _vocabulary(vocab)
    header = _header(docword)
    if header.words != len(words):
        raise InputError(
            f"'{file_name(docword)}' counts {header.words:,} words, '{file_name(vocab)}' has {len(words):,}"
        )
    say(f"reading {header.entries:,} counts of {header.documents:,} documents")
    lines = spark.read.text(spark_readable(docword))
    document, word, count = (F.regexp_extract("value", _TRIPLE, i).try_cast("long") for i in (1, 2, 3))
    count = F.when(document.isNotNull(), F.coalesce(count, F.lit(LARGEST_COUNT + 1)))      # too many digits
    triples = lines.select(document.alias("document"), word.alias("word"), count.alias("count"))
    with readable_input(docword):
        _check(triples, lines, header, docword)
    grouped = (triples.filter(F.col("document").isNotNull()).groupBy("document")
               .agg(F.collect_list(F.struct("word", "count")).alias("entries")))
    everyone = spark.range(1, header.documents + 1).withColumnRenamed("id", "document")
    fits = F.coalesce(F.array_max("entries.count"), F.lit(0)) <= LARGEST_COUNT
    rows = everyone.join(grouped, "document", "left").select(
        "document", F.when(fits, F.col("entries.word")).alias("ids"),
        F.when(fits, F.col("entries.count")).try_cast("array<int>").alias("counts"),
        F.when(~fits, F.lit("unreadable")).alias("problem"))
    return Source(rows, _Parser(pa.array(words, pa.string()), len(str(header.documents))))


@dataclass(frozen=True)
class _Parser:
    """Word numbers to words."""

    words: pa.Array
    digits: int

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        ids = batch.column("ids")
        flat = self.words.take(pc.subtract(ids.flatten(), 1))
        words = pa.ListArray.from_arrays(pc.subtract(ids.offsets, ids.offsets[0]), flat)
        return documents(
            doc_id=[f"{document:0{self.digits}d}" for document in batch.column("document").to_pylist()],
            path=[[]] * batch.num_rows,
            words=words,
            counts=pc.fill_null(batch.column("counts"), pa.scalar([], pa.list_(pa.int32()))),
            problem=batch.column("problem"),
        )


def _find(path: str) -> tuple[str, str]:
    """The two files: of a directory, or the vocabulary beside a given docword file."""
    filesystem, inside, kind = open_input(path)
    folder = path.rstrip("/")
    if kind == fs.FileType.Directory:
        found = sorted(info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside))
                       if info.base_name.startswith("docword."))
        if len(found) != 1:
            raise InputError(f"'{path}' has {len(found)} docword.* files; give the one to read")
        name = found[0]
    else:
        folder, _, name = path.rpartition("/")
        folder = folder or ("" if path.startswith("/") else ".")
        if not name.startswith("docword."):
            raise InputError(f"'{path}' is not called docword.NAME.txt; give that file or its directory")
    plain = name.removesuffix(".gz").replace("docword.", "vocab.", 1)
    for candidate in (plain, f"{plain}.gz"):
        if filesystem.get_file_info(resolve(f"{folder}/{candidate}")[1]).type == fs.FileType.File:
            return f"{folder}/{name}", f"{folder}/{candidate}"
    raise InputError(f"'{folder}' has no {plain} or {plain}.gz beside {name}")


def _lines(path: str, limit: int) -> list[str]:
    filesystem, inside, _ = open_input(path)
    try:
        with filesystem.open_input_stream(inside, compression=None) as raw:
            stream = gzip.GzipFile(fileobj=raw) if path.endswith(".gz") else raw
            return stream.read(limit).decode("utf-8").splitlines()
    except (EOFError, OSError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is damaged or not text ({error})") from None


def _vocabulary(path: str) -> list[str]:
    words = [line.strip() for line in _lines(path, _MAX_VOCABULARY_BYTES)]
    while words and not words[-1]:
        words.pop()
    return words


def _header(path: str) -> _Header:
    lines = [line.strip() for line in _lines(path, 4096)[:3]]
    if len(lines) < 3 or not all(line.isdecimal() and len(line) <= 12 for line in lines):
        raise InputError(f"'{path}' does not begin with three counts (documents, words, entries): no docword file")
    return _Header(*map(int, lines))


def _check(triples: DataFrame, lines: DataFrame, header: _Header, path: str) -> None:
    """Compare the lines with what the header promises: a cut or mixed-up file must not pass."""
    found = triples.agg(
        F.count("document").alias("entries"), F.countDistinct("document").alias("documents"),
        F.min("document").alias("first"), F.max("document").alias("last"),
        F.min("word").alias("lowest"), F.max("word").alias("highest"),
    ).collect()[0]
    other = lines.filter(~F.col("value").rlike(_TRIPLE) & (F.trim("value") != "")).count()
    name = file_name(path)
    if other != 3:
        raise InputError(f"'{name}' has {other - 3:,} lines that are not 'document word count'; get the file again")
    if found["entries"] != header.entries:
        raise InputError(f"'{name}' promises {header.entries:,} counts, has {found['entries']:,}; get the file again")
    if found["entries"] and not (found["first"] >= 1 and found["last"] <= header.documents):
        raise InputError(f"'{name}' has documents outside 1…{header.documents:,}")
    if found["entries"] and not (found["lowest"] >= 1 and found["highest"] <= header.words):
        raise InputError(f"'{name}' has words outside 1…{header.words:,}")
    if header.documents > 1000 * (found["documents"] + 1000):
        raise InputError(f"'{name}' promises {header.documents:,} documents and mentions {found['documents']:,}")
