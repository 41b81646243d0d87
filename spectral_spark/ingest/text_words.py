"""A DataFrame column of text to documents of word ids and counts, with the vocabulary chosen as ``ingest`` does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame

from spectral_spark.engine.arrow import with_arrow_column
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.errors import InputError
from spectral_spark.ingest.count_words import count_words
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.readers.source import Source
from spectral_spark.ingest.vocabulary import choose_vocabulary, index_documents, term_statistics
from spectral_spark.text.text_recipe import TextCounter, TextRecipe

COUNTED = "struct<terms:array<int>,counts:array<int>>"


@dataclass(frozen=True)
class VocabularyCut:
    """Which words enter the vocabulary; see ``IngestSettings``."""

    vocab_size: int = 10_000
    min_documents: int = 10
    max_document_share: float = 0.5


@contextmanager
def documents_from_text(
    text: Column, path: Column, doc_id: Column, frame: DataFrame, recipe: TextRecipe, cut: VocabularyCut
) -> Iterator[tuple[DataFrame, tuple[str, ...]]]:
    """Documents (doc_id, path, terms, counts) and their vocabulary; the text is tokenised once and kept meanwhile."""
    rows = frame.select(doc_id.cast("string").alias("doc_id"), path.alias("path"), text.cast("string").alias("text"))
    counted = count_words(Source(rows), recipe.tokeniser, keys=False).select("doc_id", "path", "words", "counts")
    counted = counted.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        total = counted.count()
        if not total:
            raise InputError("there are no documents: the DataFrame is empty")
        settings = IngestSettings(
            source="table", input="memory", output="memory", text_col="text", vocab_size=cut.vocab_size,
            min_documents=cut.min_documents, max_document_share=cut.max_document_share,
        )
        try:
            vocabulary = choose_vocabulary(term_statistics(counted), None, total, settings)
        except InputError:
            raise InputError(
                f"no word is in at least {cut.min_documents} and in at most {cut.max_document_share:.0%} of the "
                f"{total:,} documents; lower minDocuments or raise maxDocumentShare"
            ) from None
        yield index_documents(counted, vocabulary, 0), tuple(vocabulary.terms.to_pylist())
    finally:
        counted.unpersist()


def add_counted(frame: DataFrame, text: Column, output: str, counter: TextCounter) -> DataFrame:
    """The frame with a struct column of word ids and counts of a text column, in the vocabulary of ``counter``."""
    handle = hold(frame, counter)

    def run(texts: pa.Array, *_: pa.Array) -> pa.Array:
        return handle()(texts)

    return with_arrow_column(frame, output, run, [text.cast("string")], COUNTED)

