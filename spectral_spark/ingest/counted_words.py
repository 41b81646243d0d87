"""The documents with their words counted: tokenised once, screened, and with phrases joined."""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.count_words import CountRules, count_words
from spectral_spark.ingest.filtering import Screened, screen
from spectral_spark.ingest.find_phrases import find_phrases, statistics_with_phrases, with_phrases
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
    screened : the usable documents, and how many were dropped.
    statistics : ``hash, term, documents, occurrences``.
    recipe : how text became words, phrases included.
    salt : of the hashes.
    """

    screened: Screened
    statistics: DataFrame
    recipe: TextRecipe
    salt: int


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
    counted = count_words(source, recipe, rules).withColumn("row", F.monotonically_increasing_id())
    with readable_input(settings.input):
        counted.write.parquet(work.part("counted"))
    counted = spark.read.schema(counted.schema).parquet(work.readable("counted"))
    screened = screen(counted, settings, work, source.two_keys)
    if not screened.kept:
        reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in screened.dropped.items())
        raise InputError(f"no document of '{settings.input}' can be used: {reasons or 'there is none'}")
    without = None if rules.ordered else screened.duplicates
    parts = word_statistics(counted, without)
    if settings.vocabulary:
        parts = parts.unionByName(word_rows(known_words(settings.vocabulary), spark, salt))
    words = CountedWords(screened, _written(parts, work, "statistics"), recipe, salt)
    return _phrases_joined(words, settings, work) if rules.ordered else words


def _phrases_joined(words: CountedWords, settings: IngestSettings, work: Workplace) -> CountedWords:
    """Find phrases in the usable documents, and count these with them; the text is not read again."""
    usable, spark = words.screened.usable, words.statistics.sparkSession
    phrases = find_phrases(usable, words.statistics, settings.min_documents, settings.phrase_limit)
    with_phrases(usable, phrases, words.salt).write.parquet(work.part("joined"))
    joined = spark.read.schema(usable.schema).parquet(work.readable("joined"))
    parts = statistics_with_phrases(joined, words.statistics, phrases, words.salt)
    return CountedWords(replace(words.screened, usable=joined, duplicates=None),
                        _written(parts, work, "joined_statistics"), replace(words.recipe, phrases=phrase_set(phrases)),
                        words.salt)


def _written(parts: DataFrame, work: Workplace, name: str) -> DataFrame:
    """Statistics added up and written, after a look at the hashes."""
    added_up(parts).write.parquet(work.part(name))
    statistics = parts.sparkSession.read.schema(STATISTICS).parquet(work.readable(name))
    refuse_collisions(statistics)
    return statistics
