"""Text to word counts: lower case, Unicode words without digits, apostrophes resolved, stop words dropped."""

import re
import sys
import unicodedata
from collections import Counter
from functools import cache
from importlib.resources import files

from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import resolve

MAX_WORD_LENGTH = 40
_MEMO_LIMIT = 500_000
_MARKS_IN_A_ROW = 30
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'", "`": "'"})


@cache
def _marks() -> str:
    """The combining marks, as the inside of a character class."""
    marks = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
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
    letters = rf"(?:[^\W_]|[{_marks()}])+"
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

    def __init__(self, stop_words: frozenset[str], min_length: int = 3) -> None:
        self.stop_words, self.min_length = stop_words, min_length
        self._memo: dict[str, str] = {}

    def __reduce__(self) -> tuple[type["Tokeniser"], tuple[frozenset[str], int]]:
        return type(self), (self.stop_words, self.min_length)

    def counts(self, text: str) -> dict[str, int]:
        """Occurrences of each kept word."""
        memo = self._memo
        if len(memo) > _MEMO_LIMIT:
            memo.clear()
        result: dict[str, int] = {}
        for raw, count in Counter(self._split(text)).items():
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
        if not self.min_length <= len(word) <= MAX_WORD_LENGTH or word in self.stop_words:
            return ""
        return word if word.isalpha() or _letters_and_marks(word) else ""

    @staticmethod
    def _split(text: str) -> list[str]:
        if "@" in text or "://" in text or "www." in text:
            text = " ".join(w for w in text.split() if "@" not in w and "://" not in w and "www." not in w)
        if text.isascii():
            return _ASCII_WORD.findall(text.lower().replace("`", "'"))
        text = text.translate(_APOSTROPHES)
        if max(map(len, text.split()), default=0) > _MARKS_IN_A_ROW:
            text = _pile_of_marks().sub(r"\1", text)
        text = unicodedata.normalize("NFKC", text).lower()
        return _unicode_word().findall(text)


def _letters_and_marks(word: str) -> bool:
    return any(map(str.isalpha, word)) and all(unicodedata.category(c)[0] in "LM" for c in word)


def load_stop_words(name: str) -> frozenset[str]:
    """The English list, no list (``none``), or a file with one word per line and ``#`` comments."""
    if name == "none":
        return frozenset()
    if name == "english":
        text = (files("spectral_spark.text") / "stop_words_english.txt").read_text("utf-8")
    else:
        filesystem, inside = resolve(name)
        try:
            with filesystem.open_input_stream(inside) as source:
                text = source.read().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            raise SettingsError(
                f"stop words '{name}': no readable UTF-8 file there; give 'english', 'none' or a file of words"
            ) from None
    lines = (line.split("#", 1)[0].strip().lower() for line in text.splitlines())
    return frozenset(line.translate(_APOSTROPHES) for line in lines if line)
