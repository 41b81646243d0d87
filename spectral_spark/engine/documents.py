"""Turns a DataFrame of documents into the columns that the engine works on, and checks them before any pass."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, IntegralType, LongType, NumericType, StringType

from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.errors import InputError

# `array_contains` returns NULL if the array holds a null; this detects it without a lambda.
NO_NAME = "\0 no name of a group \0"
_LARGEST_ID = 2**31 - 1


@dataclass(frozen=True)
class DocumentColumns:
    """Which columns hold what.

    Parameters
    ----------
    features : a pyspark.ml Vector of counts; or None when ``terms`` and ``counts`` are given.
    terms, counts : arrays of word ids and of their counts, as in the corpus on disk.
    path : array of strings from the root's children down to the document's group; None for a corpus without a tree.
    id : a column that identifies a document; None to use the document's content.
    """

    features: str | None = "features"
    terms: str | None = None
    counts: str | None = None
    path: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class DocumentFrame:
    """Documents in working columns, with the counts of a first scan.

    Attributes
    ----------
    frame : DataFrame of (key long, tie long, path array<string>, path_hash long, terms array<int>, counts array).
    rows : documents in the input.
    vocab_size : number of words d.
    entries : distinct words of all documents together.
    fingerprint : hash of the content, independent of its order and partitioning.
    """

    frame: DataFrame
    rows: int
    vocab_size: int
    entries: int
    fingerprint: str

    @property
    def words(self) -> int:
        """About how many words there are, counting repetitions."""
        return words_of(self.entries)


def words_of(entries: int) -> int:
    """About how many words so many entries stand for: text repeats a quarter of its words."""
    return entries * 4 // 3


def working_columns(frame: DataFrame, columns: DocumentColumns, layers: int | None = None) -> DataFrame:
    """The columns (key, tie, path, path_hash, terms, counts, size) of a checked DataFrame, still lazy.

    ``layers`` cuts the tree: 2 keeps root and documents, 3 one level of groups, None all.
    """
    terms, counts, size = _counts(frame, columns)
    path = _path(frame, columns, layers)
    base = frame.select(
        terms.alias("terms"), counts.alias("counts"), size.alias("size"), path.alias("path"),
        *([_column(frame, columns.id, "idCol").cast("string").alias("id")] if columns.id else []),
    )
    tie = F.xxhash64("terms", "counts", "path")
    key = F.xxhash64("id") if columns.id else tie
    return base.select(
        key.alias("key"), tie.alias("tie"), "path", F.xxhash64("path").alias("path_hash"), "terms", "counts", "size"
    )


def inspect_documents(
    frame: DataFrame, columns: DocumentColumns, *, layers: int | None = None, vocab_size: int | None = None
) -> DocumentFrame:
    """A first scan of all rows, on the JVM: their number, their words, and a fingerprint of the content."""
    working = working_columns(frame, columns, layers)
    largest = F.max(F.array_max("terms")) if vocab_size is None and columns.terms else F.lit(None)
    row = working.agg(
        *_facts(working), F.min("size").alias("smallest"), F.max("size").alias("largest"), largest.alias("last_term"),
    ).first()
    if row is None or row["rows"] == 0:
        raise InputError("there are no documents: the DataFrame is empty")
    if row["smallest"] != row["largest"]:
        raise InputError(
            f"column '{columns.features}': vectors of different sizes ({row['smallest']} and {row['largest']}); "
            "build them with one vocabulary"
        )
    found = row["largest"] if columns.terms is None else (None if row["last_term"] is None else row["last_term"] + 1)
    if vocab_size is not None and columns.terms is None and found is not None and found != vocab_size:
        raise InputError(
            f"column '{columns.features}': vectors of size {found}, but the vocabulary has {vocab_size} words"
        )
    size = vocab_size if vocab_size is not None else found
    if not size:
        raise InputError("no document has a word: nothing to count")
    return DocumentFrame(working.drop("size"), vocab_size=int(size), **_read_facts(row))


def without_documents(source: DocumentFrame, keys: np.ndarray) -> DocumentFrame | None:
    """The documents whose key is not among ``keys``; None if none is left."""
    spark = source.frame.sparkSession
    unwanted = frame_from_arrow(spark, pa.table({"key": pa.array(np.unique(keys), pa.int64())}))
    frame = source.frame.join(F.broadcast(unwanted), "key", "left_anti").select(*source.frame.columns)
    row = frame.agg(*_facts(frame)).first()
    return replace(source, frame=frame, **_read_facts(row)) if row is not None and row["rows"] else None


def _facts(working: DataFrame) -> list[Column]:
    """The results of a scan of all documents: their number, the distinct words of all together, a fingerprint."""
    return [
        F.count(F.lit(1)).alias("rows"), F.sum(F.greatest(F.size("terms"), F.lit(0))).alias("entries"),
        F.sum(F.xxhash64("key", "tie").cast("decimal(20,0)")).alias("content"),
    ]


def _read_facts(row: Row) -> dict[str, Any]:
    fingerprint = f"{row['rows']}:{int(row['content']) % (1 << 64):016x}"
    return {"rows": int(row["rows"]), "entries": int(row["entries"] or 0), "fingerprint": fingerprint}


def document_columns(frame: DataFrame, columns: DocumentColumns) -> tuple[Column, Column, Column]:
    """Word ids, counts and path of a checked DataFrame, as columns to be used in a select."""
    terms, counts, _ = _counts(frame, columns)
    return terms, counts, _path(frame, columns, None)


def node_hashes(spark: SparkSession, paths: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of the nodes' paths as the JVM makes them, sorted, and the nodes they stand for."""
    table = pa.table({
        "node": pa.array(range(len(paths)), pa.int32()),
        "path": pa.array([list(path) for path in paths], pa.list_(pa.string())),
    })
    hashed = to_arrow(frame_from_arrow(spark, table).select("node", F.xxhash64("path").alias("hash")))
    hashes, nodes = hashed["hash"].to_numpy(), hashed["node"].to_numpy()
    order = np.argsort(hashes)
    return hashes[order], nodes[order]


def _counts(frame: DataFrame, columns: DocumentColumns) -> tuple[Column, Column, Column]:
    if columns.terms or columns.counts:
        if not (columns.terms and columns.counts):
            raise InputError("`termsCol` and `countsCol` go together: give both or neither")
        terms, counts = _column(frame, columns.terms, "termsCol"), _column(frame, columns.counts, "countsCol")
        _check_array(frame.schema[columns.terms].dataType, IntegralType, columns.terms, "whole numbers (word ids)")
        _check_array(frame.schema[columns.counts].dataType, NumericType, columns.counts, "numbers (counts)")
        ids = _word_ids(terms, frame.schema[columns.terms].dataType)
        return ids, counts.cast("array<double>"), F.lit(None).cast("int")
    name = columns.features or "features"
    _column(frame, name, "featuresCol")
    kind = frame.schema[name].dataType
    if kind.typeName() != "vectorudt" and "VectorUDT" not in type(kind).__name__:
        raise InputError(
            f"column '{name}' is {kind.simpleString()}, not a pyspark.ml Vector of counts; make one with "
            "CountVectorizer, or name array columns with `termsCol` and `countsCol`"
        )
    vector = F.unwrap_udt(F.col(_quoted(name)))
    dense = F.sequence(F.lit(0), F.size(vector["values"]) - 1)
    terms = F.coalesce(vector["indices"], F.when(F.size(vector["values"]) > 0, dense))
    return terms, vector["values"], F.coalesce(vector["size"], F.when(vector.isNotNull(), F.size(vector["values"])))


def _word_ids(terms: Column, kind: DataType) -> Column:
    """Word ids as integers; an id that does not fit is no word of any vocabulary (-1), in ANSI mode or not."""
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, LongType):
        fits = F.transform(terms, lambda term: F.when(term.between(0, _LARGEST_ID) | term.isNull(), term).otherwise(-1))
        return fits.cast("array<int>")
    return terms.cast("array<int>")


def _path(frame: DataFrame, columns: DocumentColumns, layers: int | None) -> Column:
    if layers is not None and layers < 2:
        raise InputError(f"`layers` is {layers}; a tree has at least 2: the root and the documents")
    if columns.path is None or layers == 2:
        return F.array().cast("array<string>")
    path = _column(frame, columns.path, "pathCol")
    kind = frame.schema[columns.path].dataType
    if not (isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)):
        raise InputError(
            f"column '{columns.path}' is {kind.simpleString()}, not array<string>: one name per level, from the root's "
            "children down to the document's group"
        )
    path = F.when(F.array_contains(path, NO_NAME).isNull(), F.lit(None)).otherwise(path)
    return path if layers is None else F.slice(path, 1, layers - 2)


def _check_array(kind: DataType, element: type[DataType], name: str, wanted: str) -> None:
    if not (isinstance(kind, ArrayType) and isinstance(kind.elementType, element)):
        raise InputError(f"column '{name}' is {kind.simpleString()}, not an array of {wanted}")


def _column(frame: DataFrame, name: str | None, parameter: str) -> Column:
    if name not in frame.columns:
        raise InputError(f"there is no column '{name}' (`{parameter}`); the columns are {', '.join(frame.columns)}")
    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return "`" + re.sub("`", "``", name) + "`"
