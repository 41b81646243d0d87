"""From the columns that a user names to those the engine works on: text is counted, group columns become a path."""

from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from spectral_spark.engine.documents import DocumentColumns
from spectral_spark.errors import InputError
from spectral_spark.ingest.text_words import add_counted
from spectral_spark.ml.params import SpectralHDPModelParams
from spectral_spark.text.text_recipe import TextCounter

COLUMN_PARAMS = ("textCol", "featuresCol", "termsCol", "countsCol", "pathCol", "pathCols", "idCol")
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


class DocumentInput(SpectralHDPModelParams):
    """What estimator and model share: where documents are found in a DataFrame."""

    def _column_names(self) -> list[str | None]:
        """Every column that documents may need."""
        several = self._value("pathCols") or []
        return [*(self._value(name) for name in COLUMN_PARAMS if name != "pathCols"), *several]

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
        if name not in frame.columns:
            raise InputError(
                f"there is no column '{name}' (featuresCol); the columns are {', '.join(frame.columns)}. Set "
                "featuresCol to a Vector column of counts, or textCol to a column of text"
            )
        return name

    def _with_path(self, frame: DataFrame, scoring: bool) -> tuple[DataFrame, str | None, tuple[str, ...]]:
        """The frame, its column of paths (None: all documents are at the root), and whether that is temporary."""
        single, several = self._value("pathCol"), self._value("pathCols")
        names = several or [single]
        missing = [name for name in names if name not in frame.columns]
        if missing:
            if scoring or (not several and not self.isSet("pathCol")):
                return frame, None, ()
            kind = "pathCols" if several else "pathCol"
            raise InputError(f"there is no column '{missing[0]}' ({kind}); the columns are {', '.join(frame.columns)}")
        if not several and not isinstance(frame.schema[single].dataType, StringType):
            return frame, single, ()
        levels = F.array(*(_column(name).cast("string") for name in names))
        return frame.withColumn(_PATH, levels), _PATH, (_PATH,)


def _with_words(frame: DataFrame, text: str, counter: TextCounter) -> DataFrame:
    if text not in frame.columns:
        raise InputError(f"there is no column '{text}' (textCol); the columns are {', '.join(frame.columns)}")
    counted = add_counted(frame, _column(text), _WORDS, counter)
    parts = {f"{_WORDS}_{name}": F.col(_WORDS)[name] for name in ("terms", "counts")}
    return counted.withColumns(parts).drop(_WORDS)


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
