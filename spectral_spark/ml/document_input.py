"""Documents as users give them: text is counted, group columns become a path, the vocabulary is found or chosen."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from spectral_spark.engine.documents import DocumentColumns
from spectral_spark.errors import InputError
from spectral_spark.ingest.text_words import VocabularyCut, add_counted, documents_from_text
from spectral_spark.ml.local_documents import TEXT, as_table, check_documents, is_local, to_spark
from spectral_spark.ml.params import SpectralHDPModelParams
from spectral_spark.ml.vocabulary_discovery import discovered_vocabulary
from spectral_spark.text.language_tokeniser import LanguageTokeniser
from spectral_spark.text.languages import language_codes
from spectral_spark.text.text_recipe import TextCounter, TextRecipe
from spectral_spark.text.tokeniser import load_stop_words

COLUMN_PARAMS = ("textCol", "featuresCol", "termsCol", "countsCol", "pathCol", "pathCols", "idCol")
VOCABULARY_SIZE = 10_000
_WORDS, _PATH = "spectral_spark_words", "spectral_spark_path"


@dataclass(frozen=True)
class Prepared:
    """Documents that the engine can read.

    Attributes
    ----------
    frame : the user's rows, with temporary columns where they were needed.
    columns : which of its columns hold what.
    temporary : names of the temporary columns.
    """

    frame: DataFrame
    columns: DocumentColumns
    temporary: tuple[str, ...]


@dataclass(frozen=True)
class TrainingDocuments:
    """Documents ready for a fit; ``words`` and ``recipe`` are None where they are not known."""

    frame: DataFrame
    columns: DocumentColumns
    words: tuple[str, ...] | None
    vocab_size: int | None
    recipe: TextRecipe | None = None


class DocumentInput(SpectralHDPModelParams):
    """What estimator and model share: where documents are found in a DataFrame."""

    def _column_names(self) -> list[str | None]:
        """Every column that documents may need."""
        several = self._value("pathCols") or []
        return [*(self._value(name) for name in COLUMN_PARAMS if name != "pathCols"), *several]

    def _on_spark(self, dataset: Any) -> DataFrame:
        """Documents as a Spark DataFrame; a pandas DataFrame and a list of strings are sent there."""
        check_documents(dataset)
        if is_local(dataset):
            return to_spark(as_table(dataset, self._value("textCol") or TEXT), self._column_names())
        return dataset

    def _prepared(self, frame: DataFrame, *, scoring: bool = False, counter: TextCounter | None = None) -> Prepared:
        """The documents of a frame; while scoring, a missing path column means the root of the tree."""
        frame, path, temporary = self._with_path(frame, scoring)
        text, terms = self._value("textCol"), self._value("termsCol")
        if text and counter:
            frame = _with_words(frame, text, counter)
            columns = DocumentColumns(None, f"{_WORDS}_terms", f"{_WORDS}_counts", path)
            temporary = (*temporary, columns.terms or "", columns.counts or "")
        else:
            columns = DocumentColumns(None if terms else self._features(frame), terms, self._value("countsCol"), path)
        key = self._value("idCol")
        return Prepared(frame, replace(columns, id=None if scoring and key not in frame.columns else key), temporary)

    def _features(self, frame: DataFrame) -> str:
        name: str = self._value("featuresCol")
        _require(frame, name, "featuresCol",
                 ". Set featuresCol to a Vector column of counts, or textCol to a column of text")
        return name

    def _with_path(self, frame: DataFrame, scoring: bool) -> tuple[DataFrame, str | None, tuple[str, ...]]:
        """The frame, its column of paths (None: all documents are at the root), and whether that is temporary."""
        single, several = self._value("pathCol"), self._value("pathCols")
        names = several or [single]
        if any(name not in frame.columns for name in names) and (
            scoring or (not several and not self.isSet("pathCol"))
        ):
            return frame, None, ()
        for name in names:
            _require(frame, name, "pathCols" if several else "pathCol")
        if not several and not isinstance(frame.schema[single].dataType, StringType):
            return frame, single, ()
        levels = F.array(*(frame_column(frame, name, "pathCols").cast("string") for name in names))
        return frame.withColumn(_PATH, levels), _PATH, (_PATH,)


@contextmanager
def training_documents(
    source: DocumentInput, dataset: DataFrame, words: tuple[str, ...] | None, recipe: TextRecipe | None
) -> Iterator[TrainingDocuments]:
    """The documents of a frame, in the given vocabulary, one found beside them, or one chosen from their text."""
    text = source._value("textCol")
    if not text:
        prepared = source._prepared(dataset)
        if words is None and prepared.columns.features is not None:
            words = discovered_vocabulary(dataset.schema, prepared.columns.features)
        yield TrainingDocuments(prepared.frame, prepared.columns, words, source._value("vocabSize"))
        return
    text_column = frame_column(dataset, text, "textCol")
    recipe = recipe or _recipe(source)
    if words:
        prepared = source._prepared(dataset, counter=TextCounter(recipe, words))
        yield TrainingDocuments(prepared.frame, prepared.columns, words, None, recipe)
        return
    frame, path, _ = source._with_path(dataset, False)
    key = source._value("idCol")
    cut = VocabularyCut(
        source._value("vocabSize") or VOCABULARY_SIZE, source.getMinDocuments(), source.getMaxDocumentShare(),
        _phrases(source._value("phrases")),
    )
    group = frame_column(frame, path, "pathCol").cast("array<string>") if path else F.array().cast("array<string>")
    name = frame_column(frame, key, "idCol") if key else F.lit(None)
    with documents_from_text(text_column, group, name, frame, recipe, cut) as (documents, chosen, recipe):
        columns = DocumentColumns(None, "terms", "counts", "path" if path else None, "doc_id" if key else None)
        yield TrainingDocuments(documents, columns, chosen, None, recipe)


def _recipe(source: DocumentInput) -> TextRecipe:
    """How text becomes words, but for the phrases that are still to be found."""
    languages = language_codes(source._value("language") or ())
    given = source.getStopWords() if source.isSet("stopWords") else None
    if isinstance(given, list):
        words = frozenset(word.lower() for word in given)
    else:
        words = load_stop_words(given or ",".join(languages) or "english")
    recipe = TextRecipe(tuple(sorted(words)), source.getMinWordLength(), languages, bool(source._value("lemmas")))
    if isinstance(recipe.tokeniser, LanguageTokeniser):
        recipe.tokeniser.prepare()
    return recipe


def _phrases(asked: int | str | None) -> int | None:
    """The largest number of phrases; 0 for all that pass the test."""
    return 0 if asked == "auto" else None if asked is None else int(asked)


def _with_words(frame: DataFrame, text: str, counter: TextCounter) -> DataFrame:
    counted = add_counted(frame, frame_column(frame, text, "textCol"), _WORDS, counter)
    parts = {f"{_WORDS}_{name}": F.col(_WORDS)[name] for name in ("terms", "counts")}
    return counted.withColumns(parts).drop(_WORDS)


def frame_column(frame: DataFrame, name: str, parameter: str) -> Column:
    """A column by its name, whatever characters that has."""
    _require(frame, name, parameter)
    return F.col("`" + name.replace("`", "``") + "`")


def _require(frame: DataFrame, name: str, parameter: str, advice: str = "") -> None:
    if name not in frame.columns:
        raise InputError(
            f"there is no column '{name}' ({parameter}); the columns are {', '.join(frame.columns)}{advice}"
        )
