"""In how many documents each word is and how often it occurs, summed up from what workers wrote about their words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.text.word_numbers import word_hashes

STATISTICS = "hash long, term string, other string, documents long, occurrences long"
_OF_HASHES = "hash long, term string, documents long, occurrences long"


class HashCollisionError(Exception):
    """Two words have the same hash: count again with another salt."""


def binary_values(column: pa.Array, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of a column of bytes, and where those of each row start; null is empty."""
    column = column.cast(pa.large_binary())
    column = column.fill_null(b"") if column.null_count else column
    if not len(column):
        return np.zeros(0, dtype), np.zeros(1, np.int64)
    offsets = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, 8 * column.offset)
    buffer, size = column.buffers()[2], np.dtype(dtype).itemsize
    n = int(offsets[-1] - offsets[0]) // size
    values: np.ndarray = np.frombuffer(buffer, dtype, n, int(offsets[0])) if n else np.zeros(0, dtype)
    return values, (offsets - offsets[0]) // size


@dataclass(frozen=True, eq=False)
class HashSums:
    """In how many of some documents each word is and how often it occurs; ``hashes`` are sorted, each once."""

    hashes: np.ndarray
    documents: np.ndarray
    occurrences: np.ndarray

    @classmethod
    def of(cls, hashes: pa.Array, counts: pa.Array) -> "HashSums":
        """Of documents with their hashes and counts as bytes."""
        listed, occurrences = binary_values(hashes, np.int64)[0], binary_values(counts, np.int32)[0]
        distinct, place = np.unique(listed, return_inverse=True)
        # counts are below 2**31, and their sums below 2**53: exact in float64
        return cls(distinct, np.bincount(place, minlength=len(distinct)).astype(np.int64),
                   np.bincount(place, occurrences, len(distinct)).astype(np.int64))


@dataclass(frozen=True)
class _HashStatistics:
    """Documents (hashes, counts) to the statistics of their words, times ``sign``. Runs on the executors."""

    sign: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sums = HashSums.of(batch.column("hashes"), batch.column("counts"))
            yield pa.RecordBatch.from_arrays(
                [pa.array(sums.hashes), pa.nulls(len(sums.hashes), pa.string()), pa.array(self.sign * sums.documents),
                 pa.array(self.sign * sums.occurrences)], names=["hash", "term", "documents", "occurrences"])


def statistics_of(documents: DataFrame, sign: int = 1) -> DataFrame:
    """Statistics of the words of some documents, by hash, in parts that are to be added; ``term`` is null."""
    return documents.select("hashes", "counts").mapInArrow(_HashStatistics(sign), _OF_HASHES)


def word_rows(words: Iterable[str], spark: SparkSession, salt: int) -> DataFrame:
    """Words with statistics of zero, in the form of the parts that are added."""
    listed = list(words)
    zeros = pa.array(np.zeros(len(listed), np.int64))
    return frame_from_arrow(spark, pa.table({
        "hash": pa.array(word_hashes(listed, salt)), "term": pa.array(listed, pa.string()), "documents": zeros,
        "occurrences": zeros}))


def word_statistics(counted: DataFrame, without: DataFrame | None = None) -> DataFrame:
    """What the workers wrote about their words, and less the documents ``without``, which were counted and do not
    count: parts that are to be added.
    """
    parts = counted.filter(F.col("term").isNotNull()).select("hash", "term", "documents", "occurrences")
    return parts if without is None else parts.unionByName(statistics_of(without, -1))


def added_up(parts: DataFrame) -> DataFrame:
    """One row per hash: ``hash, term, other, documents, occurrences``; ``other`` differs from ``term`` if two words
    have the hash. Words that are in no document are there, with zeros.
    """
    return parts.groupBy("hash").agg(
        F.min("term").alias("term"), F.max("term").alias("other"), F.sum("documents").alias("documents"),
        F.sum("occurrences").alias("occurrences"))


def refuse_collisions(statistics: DataFrame) -> None:
    """Raise if two words have one hash; ``statistics`` as ``added_up`` gives them."""
    if statistics.filter(F.col("term") != F.col("other")).limit(1).count():
        raise HashCollisionError
