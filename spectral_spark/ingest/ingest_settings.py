"""The settings of an ingest, checked once."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from spectral_spark.data.settings import INGEST
from spectral_spark.errors import SettingsError

LARGEST_VOCABULARY = 2**31 - 1

ShowProgress = Callable[[str], None]


@dataclass(frozen=True)
class Holdout:
    """How many documents are kept for testing: ``documents`` overall, or of every top-level group."""

    documents: int
    per_group: bool = False

    @classmethod
    def parse(cls, value: "str | int | Holdout") -> "Holdout":
        """Read ``1000`` or ``100/group``."""
        if isinstance(value, Holdout):
            return value
        match = re.fullmatch(r"([1-9]\d*)(/group)?", str(value).strip())
        if not match:
            raise SettingsError(f"`holdout` is '{value}'; give N or N/group, for example 1000 or 100/group")
        return cls(int(match[1]), match[2] is not None)

    def __str__(self) -> str:
        return f"{self.documents}/group" if self.per_group else str(self.documents)


@dataclass(frozen=True)
class IngestSettings:
    """Everything that decides what the corpus will contain.

    ``data/settings.py`` says what each setting does. In addition, ``overwrite`` replaces an existing output.
    """

    source: str
    input: str
    output: str
    vocab_size: int = INGEST.default("vocabSize")
    min_documents: int = INGEST.default("minDocuments")
    max_document_share: float | None = None
    vocabulary: str | None = None
    holdout: str | int | Holdout | None = None
    seed: int = INGEST.default("seed")
    text_col: str | None = None
    tokens_col: str | None = None
    path_cols: tuple[str, ...] = ()
    id_col: str | None = None
    format: str | None = None
    missing_path: str = INGEST.default("missingPath")
    stop_words: str = INGEST.default("stopWords")
    min_word_length: int = INGEST.default("minWordLength")
    min_tokens: int = INGEST.default("minTokens")
    drop_duplicates: bool | None = None
    max_document_bytes: int = INGEST.default("maxDocumentBytes")
    max_input_bytes: int = INGEST.default("maxInputBytes")
    overwrite: bool = False

    def __post_init__(self) -> None:
        columns = (self.path_cols,) if isinstance(self.path_cols, str) else self.path_cols
        object.__setattr__(self, "path_cols", tuple(columns or ()))
        if self.holdout is not None:
            object.__setattr__(self, "holdout", Holdout.parse(self.holdout))
        for setting in INGEST:
            value = getattr(self, setting.attribute)
            if value is None or isinstance(value, Holdout):
                continue
            try:
                setting.type.check(value)
            except ValueError as error:
                raise SettingsError(f"`{setting.attribute}` {error}") from None
        for name in ("input", "output"):
            if not getattr(self, name):
                raise SettingsError(f"`{name}` is empty; give a path")
        if self.vocab_size > LARGEST_VOCABULARY:
            raise SettingsError(f"`vocab_size` is {self.vocab_size:,}; word ids end at {LARGEST_VOCABULARY:,}")
        self._check_table()

    def _check_table(self) -> None:
        given = [name for name in ("text_col", "tokens_col", "path_cols", "id_col", "format") if getattr(self, name)]
        if self.source != "table":
            if given:
                used = ", ".join(f"`{name}`" for name in given)
                raise SettingsError(f"{used} can be used only with `source=table`; the source is '{self.source}'")
        elif bool(self.text_col) == bool(self.tokens_col):
            raise SettingsError("`source=table` needs either `text_col` or `tokens_col`")

    @property
    def split(self) -> Holdout | None:
        """The holdout as parsed."""
        return None if self.holdout is None else Holdout.parse(self.holdout)

    @property
    def ready_made(self) -> bool:
        """Whether the words come as they are, not from text that is tokenised here."""
        return self.source == "uci" or self.tokens_col is not None

    @property
    def document_share(self) -> float:
        if self.max_document_share is not None:
            return self.max_document_share
        return 1.0 if self.ready_made else 0.5

    @property
    def duplicates_dropped(self) -> bool:
        return self.source in ("enron", "amazon") if self.drop_duplicates is None else self.drop_duplicates

    def for_manifest(self) -> dict[str, Any]:
        """What decides the content, as JSON values."""
        values = asdict(self)
        for name in ("output", "overwrite"):
            del values[name]
        values["holdout"] = None if self.split is None else str(self.split)
        values["path_cols"] = list(self.path_cols)
        values["max_document_share"] = self.document_share
        if self.vocabulary is not None:
            values["vocab_size"] = None
        values["drop_duplicates"] = self.duplicates_dropped
        return values
