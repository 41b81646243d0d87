"""A DataFrame column of text to documents of word ids and counts, with the vocabulary chosen as ``ingest`` does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spectral_spark.engine.arrow import with_arrow_column
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.engine.kept_rows import keep_rows
from spectral_spark.errors import InputError
from spectral_spark.ingest.count_words import CountRules, count_words
from spectral_spark.ingest.find_phrases import find_phrases, statistics_with_phrases, with_phrases
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.readers.source import Source
from spectral_spark.ingest.vocabulary import choose_vocabulary, index_documents
from spectral_spark.ingest.word_statistics import HashCollisionError, added_up, refuse_collisions, word_statistics
from spectral_spark.text.phrases import phrase_set
from spectral_spark.text.text_recipe import TextCounter, TextRecipe

COUNTED = "struct<terms:array<int>,counts:array<int>>"


@dataclass(frozen=True)
class VocabularyCut:
    """Which words enter the vocabulary; see ``IngestSettings``. ``phrases`` is the largest number of phrases, 0 for all
    that pass the test, and None for none.
    """

    vocab_size: int = 10_000
    min_documents: int = 10
    max_document_share: float = 0.5
    phrases: int | None = None


@contextmanager
def documents_from_text(
    text: Column, path: Column, doc_id: Column, frame: DataFrame, recipe: TextRecipe, cut: VocabularyCut
) -> Iterator[tuple[DataFrame, tuple[str, ...], TextRecipe]]:
    """Documents (doc_id, path, terms, counts), their vocabulary, and the recipe with the phrases that were found.

    The text is tokenised once and kept meanwhile.
    """
    rows = frame.select(doc_id.cast("string").alias("doc_id"), path.alias("path"), text.cast("string").alias("text"))
    salt, found = 0, None
    while found is None:
        counted = count_words(Source(rows), recipe, CountRules(ordered=cut.phrases is not None, salt=salt))
        kept = keep_rows(counted, StorageLevel.MEMORY_AND_DISK, "the words of the documents")
        try:
            found = _chosen_words(kept.frame, recipe, cut, salt)
            yield found
        except HashCollisionError:
            salt += 1
        finally:
            kept.release()


def _chosen_words(
    counted: DataFrame, recipe: TextRecipe, cut: VocabularyCut, salt: int
) -> tuple[DataFrame, tuple[str, ...], TextRecipe]:
    documents = counted.filter(F.col("term").isNull()).select("doc_id", "path", "hashes", "counts")
    total = documents.count()
    if not total:
        raise InputError("there are no documents: the DataFrame is empty")
    statistics = added_up(word_statistics(counted))
    if cut.phrases is not None:
        phrases = find_phrases(documents, statistics, cut.min_documents, cut.phrases or None)
        documents, recipe = with_phrases(documents, phrases, salt), replace(recipe, phrases=phrase_set(phrases))
        statistics = added_up(statistics_with_phrases(documents, statistics, phrases, salt))
    refuse_collisions(statistics)
    settings = IngestSettings(
        source="table", input="memory", output="memory", text_col="text", vocab_size=cut.vocab_size,
        min_documents=cut.min_documents, max_document_share=cut.max_document_share,
    )
    try:
        vocabulary = choose_vocabulary(statistics, None, total, settings)
    except InputError:
        raise InputError(
            f"no word is in at least {cut.min_documents} and in at most {cut.max_document_share:.0%} of the "
            f"{total:,} documents; lower minDocuments or raise maxDocumentShare"
        ) from None
    return index_documents(documents, vocabulary, 0, salt), tuple(vocabulary.terms.to_pylist()), recipe


def add_counted(frame: DataFrame, text: Column, output: str, counter: TextCounter) -> DataFrame:
    """The frame with a struct column of word ids and counts of a text column, in the vocabulary of ``counter``."""
    handle = hold(frame, counter)

    def run(texts: pa.Array, *_: pa.Array) -> pa.Array:
        return handle()(texts)

    return with_arrow_column(frame, output, run, [text.cast("string")], COUNTED)

