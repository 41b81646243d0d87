"""Finds phrases in documents whose words are in their order, and puts them in the place of their words.

Pairs of neighbouring words are counted once per document, in one pass over the documents, so that a text that repeats
itself proves nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from scipy import sparse

from spectral_spark.engine.kept_rows import keep_rows
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.ingest.word_statistics import binary_values, statistics_of, word_rows
from spectral_spark.text.document_words import binary_column
from spectral_spark.text.phrases import (
    MOST_PHRASES,
    PairScores,
    Phrase,
    PhraseMatcher,
    pair_scores,
    phrase_word,
    significant_pairs,
)
from spectral_spark.text.text_recipe import phrase_matcher
from spectral_spark.text.word_numbers import word_hash

MOST_WORDS = 200_000           # the most widespread words, whose pairs are counted
_PAIR, _FIRST, _SECOND = range(3)
_COUNTS = "kind int, key long, documents long"


def find_phrases(
    documents: DataFrame, statistics: DataFrame, min_documents: int, limit: int | None
) -> tuple[Phrase, ...]:
    """Pairs of words that hold together, the strongest first.

    Parameters
    ----------
    documents : ``hashes`` in their order, with zeros where a phrase must end.
    statistics : ``hash, term, documents`` of their words.
    min_documents : a phrase is in at least so many documents.
    limit : the largest number of phrases; None for all that pass the tests of ``significant_pairs``.
    """
    frequent = to_arrow(statistics.filter(F.col("documents") >= min_documents).select("hash", "term")
                        .orderBy(F.desc("documents"), F.asc("term")).limit(MOST_WORDS)).sort_by("hash")
    if frequent.num_rows < 2:
        return ()
    codes, words = frequent["hash"].to_numpy(), frequent["term"].to_pylist()
    counted = documents.select("hashes").mapInArrow(_PairCounter(codes), _COUNTS)
    sums = counted.groupBy("kind", "key").agg(F.sum("documents").alias("documents"))
    sums = sums.filter((F.col("kind") > _PAIR) | (F.col("documents") >= min_documents))
    kept = keep_rows(sums, StorageLevel.MEMORY_AND_DISK, "the pairs of words")
    try:
        sums = kept.frame
        margins = to_arrow(sums.filter(F.col("kind") > _PAIR))
        pairs = sums.filter(F.col("kind") == _PAIR)
        first, second = (_margin(margins, kind, len(codes)) for kind in (_FIRST, _SECOND))
        scorer = _PairScorer(first, second, pairs.count())
        best = to_arrow(pairs.mapInArrow(scorer, "key long, ratio double, npmi double")
                        .orderBy(F.desc("ratio"), F.asc("key")).limit(MOST_PHRASES))
    finally:
        kept.release()
    scores = PairScores(best["ratio"].to_numpy(), best["npmi"].to_numpy())
    keys = best["key"].to_numpy()[significant_pairs(scores, scorer.candidates, limit)]
    return tuple((words[key // len(codes)], words[key % len(codes)]) for key in keys.tolist())


def _margin(margins: pa.Table, kind: int, n: int) -> np.ndarray:
    mine = margins["kind"].to_numpy() == kind
    margin = np.zeros(n, np.int64)
    margin[margins["key"].to_numpy()[mine]] = margins["documents"].to_numpy()[mine]
    return margin


@dataclass(frozen=True)
class _PairCounter:
    """Counts pairs of neighbouring frequent words, once per document, and what is first and second in any pair."""

    codes: np.ndarray

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hashes, starts = binary_values(batch.column("hashes"), np.int64)
            pairs = self._pairs(hashes, np.repeat(np.arange(batch.num_rows), np.diff(starts)))
            n = len(self.codes)
            for kind, keys in ((_PAIR, pairs), (_FIRST, pairs // n), (_SECOND, pairs % n)):
                distinct, counts = np.unique(keys, return_counts=True)
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.full(len(distinct), kind, np.int32)), pa.array(distinct), pa.array(counts)],
                    names=["kind", "key", "documents"])

    def _pairs(self, hashes: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Pairs as first · words + second, each once per document; documents begin with a zero, which is no word."""
        n = len(self.codes)
        place = np.minimum(np.searchsorted(self.codes, hashes), n - 1)
        known = (self.codes[place] == hashes) & (hashes != 0)
        both = known[:-1] & known[1:]
        pairs = place[:-1][both] * n + place[1:][both]
        distinct: np.ndarray = np.unique(owner[:-1][both] * n**2 + pairs) % n**2
        return distinct


@dataclass(frozen=True)
class _PairScorer:
    """Scores pairs; leaves out those that cannot be phrases."""

    first: np.ndarray
    second: np.ndarray
    candidates: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n, total = len(self.first), int(self.first.sum())
        for batch in batches:
            keys, together = batch.column("key").to_numpy(), batch.column("documents").to_numpy()
            scores = pair_scores(together, self.first[keys // n], self.second[keys % n], total)
            kept = significant_pairs(scores, self.candidates, None)
            yield pa.RecordBatch.from_arrays(
                [pa.array(keys[kept]), pa.array(scores.likelihood_ratio[kept]), pa.array(scores.npmi[kept])],
                names=["key", "ratio", "npmi"])


@dataclass(frozen=True)
class _PhraseJoiner:
    """Documents of ordered words to documents of counts, with phrases joined."""

    matcher: PhraseMatcher

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hashes, starts = binary_values(batch.column("hashes"), np.int64)
            words, left = self.matcher.apply(hashes, np.ones(len(hashes), bool))      # no phrase has the word zero
            starts = np.concatenate(([0], np.cumsum(left)))[starts]
            real = words != 0
            starts = np.concatenate(([0], np.cumsum(real)))[starts]
            distinct, place = np.unique(words[real], return_inverse=True)
            bags = sparse.csr_matrix((np.ones(len(place), np.int32), place, starts),
                                     shape=(batch.num_rows, len(distinct)))
            bags.sum_duplicates()
            ready = {"hashes": binary_column(distinct[bags.indices], bags.indptr),
                     "counts": binary_column(bags.data, bags.indptr)}
            yield pa.RecordBatch.from_arrays(
                [ready.get(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)],
                names=batch.schema.names)


def with_phrases(documents: DataFrame, phrases: tuple[Phrase, ...], salt: int) -> DataFrame:
    """The documents with ``hashes`` and ``counts`` of their words, phrases joined."""
    matcher = phrase_matcher(phrases, lambda word: word_hash(word, salt))
    return documents.mapInArrow(_PhraseJoiner(matcher), documents.schema)


def statistics_with_phrases(
    documents: DataFrame, statistics: DataFrame, phrases: tuple[Phrase, ...], salt: int
) -> DataFrame:
    """Statistics of words and phrases, in parts: those of ``documents``, with the words of ``statistics``."""
    named = statistics.select("hash", "term", F.lit(0).cast("long").alias("documents"),
                              F.lit(0).cast("long").alias("occurrences"))
    if phrases:
        named = named.unionByName(word_rows(map(phrase_word, phrases), documents.sparkSession, salt))
    return named.unionByName(statistics_of(documents))
