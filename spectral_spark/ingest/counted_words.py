"""The documents with their words counted: tokenised once, screened, and with phrases joined."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.paths import is_local
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.count_words import CountRules, WordCounter, count_words, counted_schema
from spectral_spark.ingest.counted_files import CountedFiles, counted_files
from spectral_spark.ingest.counted_parts import write_parts
from spectral_spark.ingest.driver_holdout import DriverDocuments, sums_of
from spectral_spark.ingest.driver_screening import reasons_on_driver, tally
from spectral_spark.ingest.driver_words import DriverWords
from spectral_spark.ingest.executor_holdout import ExecutorDocuments
from spectral_spark.ingest.filtering import DUPLICATE, UNKNOWN, Screened, screen, screened
from spectral_spark.ingest.find_phrases import find_phrases, statistics_with_phrases, with_phrases
from spectral_spark.ingest.holdout import Documents
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.readers.source import Source, readable_input
from spectral_spark.ingest.saved_vocabulary import known_words
from spectral_spark.ingest.word_statistics import (
    STATISTICS,
    HashCollisionError,
    added_up,
    refuse_collisions,
    word_rows,
    word_statistics,
)
from spectral_spark.ingest.words_setup import ingest_recipe
from spectral_spark.text.phrases import phrase_set
from spectral_spark.text.text_recipe import TextRecipe


@dataclass(frozen=True, eq=False)
class CountedWords:
    """The usable documents with their words as hashes, and the statistics of the words.

    Attributes
    ----------
    screened : how many documents are usable, and how many were dropped.
    documents : the usable ones, and the statistics of their words.
    recipe : how text became words, phrases included.
    """

    screened: Screened
    documents: Documents[Any]
    recipe: TextRecipe


def counted_words(spark: SparkSession, source: Source, settings: IngestSettings, work: Workplace) -> CountedWords:
    """Count the words of all documents; again, with other hashes, if two words have the same one, which is unlikely."""
    recipe, salt = ingest_recipe(settings), 0
    while True:
        try:
            return _counted(spark, source, settings, work, recipe, salt)
        except HashCollisionError:
            for name in ("counted", "reasons", "statistics", "joined", "joined_statistics"):
                work.delete(name)
            salt += 1


def _counted(
    spark: SparkSession, source: Source, settings: IngestSettings, work: Workplace, recipe: TextRecipe, salt: int
) -> CountedWords:
    rules = CountRules(
        min_tokens=settings.min_tokens, paths_checked=True, null_parts_named=settings.missing_path == "unknown",
        keys=settings.duplicates_dropped, ordered=settings.phrases is not None, salt=salt,
    )
    with readable_input(settings.input):
        if is_local(work.filesystem):
            write_parts(source, WordCounter(source.parse, recipe, rules), work, "counted")
        else:
            counted = count_words(source, recipe, rules).withColumn("row", F.monotonically_increasing_id())
            # dictionaries would be tried on hashes and keys, of which hardly two are the same
            counted.write.option("parquet.enable.dictionary", "false").parquet(work.part("counted"))
    files = None if rules.ordered else counted_files(work)
    if files is None:
        schema = counted_schema(source.kept).add("row", "long")
        counted = spark.read.schema(schema).parquet(work.readable("counted"))
        return _on_executors(counted, source, settings, work, recipe, rules)
    return _on_driver(spark, files, source, settings, work, recipe, salt)


def _on_driver(
    spark: SparkSession, files: CountedFiles, source: Source, settings: IngestSettings, work: Workplace,
    recipe: TextRecipe, salt: int
) -> CountedWords:
    """The driver decides what is used, and adds up the words."""
    table = files.documents(UNKNOWN if settings.missing_path == UNKNOWN else None)
    reasons = reasons_on_driver(table, settings, source.two_keys)
    copies = table.filter(pc.starts_with(reasons, DUPLICATE).fill_null(False)).select(["row", "short"])
    usable = _some(screened(tally(reasons), settings), settings)
    words = DriverWords.of(files.words(), known_words(settings.vocabulary) if settings.vocabulary else (), salt)
    if copies.num_rows:
        counted_rows = copies["row"].filter(copies["short"].is_null()).to_numpy()
        words = words.less(*files.entries(counted_rows, sums_of))
    table = table.select(["row", "doc_id", "group"]).filter(reasons.is_null())
    documents = DriverDocuments(spark, table, words, files, copies["row"].to_numpy(), source.kept, settings, work, salt)
    return CountedWords(usable, documents, recipe)


def _on_executors(
    counted: DataFrame, source: Source, settings: IngestSettings, work: Workplace, recipe: TextRecipe, rules: CountRules
) -> CountedWords:
    """Spark decides what is used, and adds up the words."""
    total, documents = screen(counted, settings, work, source.two_keys)
    _some(total, settings)
    parts = word_statistics(counted, None if rules.ordered else documents.duplicates)
    if settings.vocabulary:
        parts = parts.unionByName(word_rows(known_words(settings.vocabulary), counted.sparkSession, rules.salt))
    found = ExecutorDocuments(documents.usable, total.kept, _written(parts, work, "statistics"), settings, work,
                              rules.salt)
    words = CountedWords(total, found, recipe)
    return _phrases_joined(words, found) if rules.ordered else words


def _some(screened: Screened, settings: IngestSettings) -> Screened:
    """The same, if there is a document that can be used."""
    if not screened.kept:
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in screened.dropped.items())
        raise InputError(f"no document of '{settings.input}' can be used: {reasons or 'there is none'}")
    return screened


def _phrases_joined(words: CountedWords, documents: ExecutorDocuments) -> CountedWords:
    """Find phrases in the usable documents, and count these with them; the text is not read again."""
    usable, settings, work = documents.frame, documents.settings, documents.work
    phrases = find_phrases(usable, documents.statistics, settings.min_documents, settings.phrase_limit)
    with_phrases(usable, phrases, documents.salt).write.parquet(work.part("joined"))
    joined = usable.sparkSession.read.schema(usable.schema).parquet(work.readable("joined"))
    parts = statistics_with_phrases(joined, documents.statistics, phrases, documents.salt)
    return CountedWords(words.screened,
                        replace(documents, frame=joined, statistics=_written(parts, work, "joined_statistics")),
                        replace(words.recipe, phrases=phrase_set(phrases)))


def _written(parts: DataFrame, work: Workplace, name: str) -> DataFrame:
    """Statistics added up and written, after a look at the hashes."""
    added_up(parts).write.parquet(work.part(name))
    statistics = parts.sparkSession.read.schema(STATISTICS).parquet(work.readable(name))
    refuse_collisions(statistics)
    return statistics
