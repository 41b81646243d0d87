"""What an estimator is fitted to: documents, their words, and how these were made from text."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spectral_spark.engine.documents import DocumentColumns
from spectral_spark.errors import InputError
from spectral_spark.ingest.text_words import VocabularyCut, documents_from_text
from spectral_spark.ml.document_input import DocumentInput
from spectral_spark.ml.vocabulary_discovery import discovered_vocabulary
from spectral_spark.text.text_recipe import TextCounter, TextRecipe
from spectral_spark.text.tokeniser import load_stop_words

VOCABULARY_SIZE = 10_000


@dataclass(frozen=True)
class TrainingDocuments:
    """Documents ready for a fit; ``words`` and ``recipe`` are None where they are not known."""

    frame: DataFrame
    columns: DocumentColumns
    words: tuple[str, ...] | None
    vocab_size: int | None
    recipe: TextRecipe | None = None


@contextmanager
def training_documents(
    source: DocumentInput, dataset: DataFrame, words: tuple[str, ...] | None, recipe: TextRecipe | None
) -> Iterator[TrainingDocuments]:
    """The documents of a frame, in the given vocabulary, one found beside them, or one chosen from their text."""
    text = source._value("textCol")
    if not text:
        prepared = source._prepared(dataset)
        found = words or discovered_vocabulary(dataset, prepared.columns.features)
        yield TrainingDocuments(prepared.frame, prepared.columns, found, source._value("vocabSize"))
        return
    if text not in dataset.columns:
        raise InputError(f"there is no column '{text}' (textCol); the columns are {', '.join(dataset.columns)}")
    recipe = recipe or _recipe(source)
    if words:
        prepared = source._prepared(dataset, counter=TextCounter(recipe, words))
        yield TrainingDocuments(prepared.frame, prepared.columns, words, None, recipe)
        return
    frame, path, _ = source._with_path(dataset, False)
    key = source._value("idCol")
    cut = VocabularyCut(
        source._value("vocabSize") or VOCABULARY_SIZE, source.getMinDocuments(), source.getMaxDocumentShare()
    )
    group = _column(frame, path, "pathCol").cast("array<string>") if path else F.array().cast("array<string>")
    name = _column(frame, key, "idCol") if key else F.lit(None)
    with documents_from_text(F.col(_quoted(text)), group, name, frame, recipe, cut) as (documents, chosen):
        columns = DocumentColumns(None, "terms", "counts", "path" if path else None, "doc_id" if key else None)
        yield TrainingDocuments(documents, columns, chosen, None, recipe)


def _recipe(source: DocumentInput) -> TextRecipe:
    given = source.getStopWords()
    words = load_stop_words(given) if isinstance(given, str) else frozenset(word.lower() for word in given)
    return TextRecipe(tuple(sorted(words)), source.getMinWordLength())


def _column(frame: DataFrame, name: str, parameter: str) -> Column:
    if name not in frame.columns:
        raise InputError(f"there is no column '{name}' ({parameter}); the columns are {', '.join(frame.columns)}")
    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
