"""The settings of an ingest, checked once."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from spectral_spark.data.settings import INGEST
from spectral_spark.data.value_types import nearest
from spectral_spark.errors import SettingsError
from spectral_spark.text.languages import language_codes

LARGEST_VOCABULARY = 2**31 - 1
RESERVED = frozenset(("doc_id", "path", "terms", "counts", "split"))
KEEPABLE = {"enron": ("date", "month", "sender"), "amazon": ("rating", "date", "month", "reviewer", "product")}
_LATER: dict[str, Any] = {
    "keep_cols": [], "language": [], "lemmas": False, "phrases": None, "tokeniser": None, "drop_lines": None,
    "find_boilerplate": None, "boilerplate_documents": INGEST.default("boilerplateDocuments"),
}

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
    table_version: int | None = None
    missing_path: str = INGEST.default("missingPath")
    keep_cols: tuple[str, ...] = ()
    stop_words: str | None = None
    language: tuple[str, ...] = ()
    lemmas: bool = False
    phrases: int | str | None = None
    tokeniser: str | None = None
    drop_lines: str | None = None
    find_boilerplate: str | None = None
    boilerplate_documents: int = INGEST.default("boilerplateDocuments")
    min_word_length: int = INGEST.default("minWordLength")
    min_tokens: int = INGEST.default("minTokens")
    drop_duplicates: bool | None = None
    max_document_bytes: int = INGEST.default("maxDocumentBytes")
    max_input_bytes: int = INGEST.default("maxInputBytes")
    overwrite: bool = False

    def __post_init__(self) -> None:
        for name in ("path_cols", "keep_cols", "language"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given or ()))
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
        self._check_words()

    def _check_words(self) -> None:
        """Refuse what contradicts itself about words."""
        given = [name for name in ("language", "lemmas", "phrases", "tokeniser", "drop_lines", "find_boilerplate")
                 if getattr(self, name)]
        if self.ready_made and given:
            raise SettingsError(f"`{given[0]}` can be used only with text; these words come ready-made")
        if self.tokeniser and (self.language or self.lemmas or self.stop_words):
            raise SettingsError("`tokeniser` makes words by itself; leave out `language`, `lemmas` and `stop_words`")
        if self.phrases and self.vocabulary:
            raise SettingsError(f"`phrases` cannot be found anew for a given vocabulary; those of '{self.vocabulary}' "
                                "are used")
        language_codes(self.language)
        clash = sorted(RESERVED & {name.lower() for name in self.keep_cols})
        if clash:
            raise SettingsError(f"`keep_cols`: the corpus has a column '{clash[0]}' of its own; rename the other")
        if self.source != "table":
            known = KEEPABLE.get(self.source, ())
            for name in set(self.keep_cols) - set(known):
                has = f"has {', '.join(known)}" if known else "has no such columns"
                raise SettingsError(f"`keep_cols`: '{self.source}' {has}, not '{name}'{nearest(name, known)}")
        if len({name.lower() for name in self.keep_cols}) < len(self.keep_cols):
            raise SettingsError("`keep_cols`: a column is named twice")
        if self.text_col in self.keep_cols:
            raise SettingsError(f"`keep_cols`: '{self.text_col}' is the text, which a corpus never holds; join it by "
                                "the id where it is needed")

    def _check_table(self) -> None:
        given = [name for name in ("text_col", "tokens_col", "path_cols", "id_col", "format", "table_version")
                 if getattr(self, name) not in (None, (), "")]
        if self.source != "table":
            if given:
                used = ", ".join(f"`{name}`" for name in given)
                raise SettingsError(f"{used} can be used only with `source=table`; the source is '{self.source}'")
        elif bool(self.text_col) == bool(self.tokens_col):
            raise SettingsError("`source=table` needs either `text_col` or `tokens_col`")

    @property
    def stop_word_lists(self) -> str:
        """Which lists of stop words: as given, else those of the languages, else English."""
        if self.tokeniser:
            return "none"
        return self.stop_words or ",".join(language_codes(self.language)) or "english"

    @property
    def phrase_limit(self) -> int | None:
        """The largest number of phrases; None for all that pass the test."""
        return None if self.phrases in (None, "auto") else int(self.phrases)

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
        if self.table_version is None:
            del values["table_version"]
        values["holdout"] = None if self.split is None else str(self.split)
        for name in ("path_cols", "keep_cols", "language"):
            values[name] = list(getattr(self, name))
        values["stop_words"] = self.stop_word_lists
        for name, default in _LATER.items():       # what was not used need not be told
            if values[name] == default:
                del values[name]
        values["max_document_share"] = self.document_share
        if self.vocabulary is not None:
            values["vocab_size"] = None
        values["drop_duplicates"] = self.duplicates_dropped
        return values
