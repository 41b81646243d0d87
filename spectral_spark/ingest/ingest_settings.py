"""What an ingest run is asked to do, checked once."""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from spectral_spark.errors import SettingsError

SOURCES = ("enron", "amazon", "folders", "uci", "table")
MISSING_PATH = ("drop", "unknown", "error")
TABLE_FORMATS = ("parquet", "json", "csv")
MEBIBYTE = 1 << 20
LARGEST_VOCABULARY = 2**31 - 1

Progress = Callable[[str], None]


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

    Parameters
    ----------
    source : reader, one of ``enron``, ``amazon``, ``folders``, ``uci``, ``table``.
    input : file or directory to read, on a path the driver can reach (``uci`` and ``table``: the executors too).
    output : directory of the new corpus.
    vocab_size : at most this many words.
    min_documents : a word must occur in this many training documents.
    max_document_share : a word in a larger share of the training documents is dropped. None: 0.5 for text, 1.0 for
        words that come ready-made (``uci``, ``tokens_col``).
    vocabulary : a model or corpus whose words are taken, exactly and in their order; ``vocab_size`` then
        does not apply; ``min_documents`` and ``max_document_share`` only tell which of the words it lacks recur.
    holdout : documents marked as test, ``N`` or ``N/group`` (a group is the first level of the path; never more than
        half of a group, or of all documents, is taken), or None.
    seed : decides which documents are held out, together with their ids.
    text_col, tokens_col, path_cols, id_col, format : columns and format of a ``table``.
    missing_path : documents with a null in their path: ``drop`` and count them, file them under ``unknown``, or stop
        with an ``error``.
    stop_words : ``english``, ``none``, or a file with one word per line.
    min_word_length : shorter words are dropped (text only).
    min_tokens : documents with fewer words, before or after the vocabulary is chosen, are dropped as too short. Three
        is what a third moment needs.
    drop_duplicates : drop all but one of the documents with the same text. None: for mail and reviews,
        where copies would leak from the training into the test part.
    max_document_bytes : larger mails and files are dropped and counted, never held in memory.
    max_input_bytes : an archive that unpacks to more is refused.
    overwrite : replace an existing output.
    """

    source: str
    input: str
    output: str
    vocab_size: int = 10_000
    min_documents: int = 10
    max_document_share: float | None = None
    vocabulary: str | None = None
    holdout: str | int | Holdout | None = None
    seed: int = 0
    text_col: str | None = None
    tokens_col: str | None = None
    path_cols: tuple[str, ...] = ()
    id_col: str | None = None
    format: str | None = None
    missing_path: str = "drop"
    stop_words: str = "english"
    min_word_length: int = 3
    min_tokens: int = 3
    drop_duplicates: bool | None = None
    max_document_bytes: int = 10 * MEBIBYTE
    max_input_bytes: int = 1 << 40
    overwrite: bool = False

    def __post_init__(self) -> None:
        columns = (self.path_cols,) if isinstance(self.path_cols, str) else self.path_cols
        object.__setattr__(self, "path_cols", tuple(columns or ()))
        if self.holdout is not None:
            object.__setattr__(self, "holdout", Holdout.parse(self.holdout))
        _one_of("source", self.source, SOURCES)
        _one_of("missing_path", self.missing_path, MISSING_PATH)
        if self.format is not None:
            _one_of("format", self.format, TABLE_FORMATS)
        for name in ("input", "output"):
            if not getattr(self, name):
                raise SettingsError(f"`{name}` is empty; give a path")
        for name in ("vocab_size", "min_documents", "min_word_length", "min_tokens", "max_document_bytes",
                     "max_input_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingsError(f"`{name}` is {value!r}; give a whole number of at least 1")
        if self.vocab_size > LARGEST_VOCABULARY:
            raise SettingsError(f"`vocab_size` is {self.vocab_size:,}; word ids end at {LARGEST_VOCABULARY:,}")
        share = self.max_document_share
        if share is not None and not 0 < share <= 1:
            raise SettingsError(f"`max_document_share` is {share}; give a number above 0 and up to 1")
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


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        near = get_close_matches(str(value), allowed, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise SettingsError(f"`{name}` is '{value}'; choose one of {', '.join(allowed)}{hint}")
