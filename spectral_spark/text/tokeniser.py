"""Text to word counts: lower case, Unicode words without digits, apostrophes resolved, stop words dropped."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import resolve
from spectral_spark.text.languages import LANGUAGES, language_code, stop_words_of

MAX_WORD_LENGTH = 40
_MEMO_LIMIT = 500_000
_MARKS_IN_A_ROW = 30
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_BETWEEN = re.compile(r"[\s\-\u2010\u2011]*")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'", "`": "'"})


@cache
def _marks() -> str:
    """The combining marks, as the inside of a character class."""
    planes = chain(range(0x30000), range(0xE0000, 0xF0000))    # the others are ideographs, unassigned or private
    marks = [code for code in planes if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


@cache
def _unicode_word() -> re.Pattern[str]:
    """Letters, digits and their combining marks: ``\\w`` alone would cut Devanagari words at vowel signs."""
    letters = rf"[\w{_marks()}]+"                          # underscores are gone: see Tokeniser._folded
    return re.compile(f"{letters}(?:'{letters})*")


@cache
def _pile_of_marks() -> re.Pattern[str]:
    """More marks in a row than any script needs (Unicode's stream-safe limit, UAX 15), which normalise slowly.

    The two halfwidth sound marks are letters that normalise to marks.
    """
    mark = rf"[{_marks()}\uff9e\uff9f]"
    return re.compile(f"({mark}{{{_MARKS_IN_A_ROW}}}){mark}+")


class Tokeniser:
    """Counts the words of a text.

    Web and mail addresses are left out, possessive ``'s`` is cut, other apostrophes are removed after the stop words
    had a look (``we'll`` is a stop word, ``o'brien`` becomes ``obrien``). A word with a digit in it is dropped.

    Parameters
    ----------
    stop_words : words to drop, in lower case.
    min_length : words with fewer letters are dropped.
    """

    splits_bytes = True        # ASCII texts may be split as bytes: ``text/token_batch.py``

    def __init__(self, stop_words: frozenset[str], min_length: int = 3) -> None:
        self.stop_words, self.min_length = stop_words, min_length
        self._memo: dict[str, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stop_words, self.min_length)

    def counts(self, text: str) -> dict[str, int]:
        """Occurrences of each kept word."""
        memo = self._memo
        if len(memo) > _MEMO_LIMIT:
            memo.clear()
        result: dict[str, int] = {}
        for raw, count in Counter(self.split(text)).items():
            word = memo.get(raw)
            if word is None:
                word = memo[raw] = self.normal(raw)
            if word:
                result[word] = result.get(word, 0) + count
        return result

    def normal(self, raw: str) -> str:
        """The word a lower-case token stands for; empty when it is to be dropped."""
        if raw in self.stop_words:
            return ""
        word = raw[:-2] if raw.endswith("'s") else raw
        word = word.replace("'", "")
        if not self._long_enough(word) or len(word) > MAX_WORD_LENGTH or word in self.stop_words:
            return ""
        return word if word.isalpha() or _letters_and_marks(word) else ""

    def _long_enough(self, word: str) -> bool:
        return len(word) >= self.min_length

    def split(self, text: str) -> list[str]:
        """The tokens of a text in lower case, in their order, before any is dropped."""
        text = _without_addresses(text)
        if text.isascii():
            return _ASCII_WORD.findall(text.lower().replace("`", "'"))
        return _unicode_word().findall(self._folded(text))

    def split_in_order(self, text: str) -> Iterator[tuple[str, bool]]:
        """The tokens, each with whether only white space or a hyphen is between it and the token before."""
        text, end = self._folded(_without_addresses(text, ".")), 0
        for found in _unicode_word().finditer(text):
            yield found[0], end > 0 and _BETWEEN.fullmatch(text, end, found.start()) is not None
            end = found.end()

    @staticmethod
    def _folded(text: str) -> str:
        """Lower case, with one kind of apostrophe, without underscores, and characters in their compatible form."""
        for mark in _APOSTROPHES:
            text = text.replace(chr(mark), "'")
        if max(map(len, text.split()), default=0) > _MARKS_IN_A_ROW:
            text = _pile_of_marks().sub(r"\1", text)
        return unicodedata.normalize("NFKC", text).lower().replace("_", ".")


def _without_addresses(text: str, instead: str = "") -> str:
    """The text with ``instead`` in the place of web and mail addresses."""
    if "@" in text or "://" in text or "www." in text:
        return " ".join(instead if "@" in word or "://" in word or "www." in word else word for word in text.split())
    return text


def _letters_and_marks(word: str) -> bool:
    return any(map(str.isalpha, word)) and all(unicodedata.category(c)[0] in "LM" for c in word)


def load_stop_words(name: str) -> frozenset[str]:
    """The lists of languages (``english``, ``german,en``), none (``none``), or a file: a word per line, # comments."""
    if name == "none":
        return frozenset()
    codes = [language_code(part) for part in name.split(",")]
    known = [code for code in codes if code is not None]
    if len(known) == len(codes):
        return frozenset(word.translate(_APOSTROPHES) for code in known for word in stop_words_of(code))
    filesystem, inside = resolve(name)
    try:
        with filesystem.open_input_stream(inside) as source:
            text = source.read().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        near = nearest(name, [*LANGUAGES.values(), "none"])
        raise SettingsError(f"stop words '{name}': no readable UTF-8 file there; give a language such as 'english', "
                            f"'none' or a file of words{near}") from None
    lines = (line.split("#", 1)[0].strip().lower() for line in text.splitlines())
    return frozenset(line.translate(_APOSTROPHES) for line in lines if line)
