"""Tokenisers beyond the plain one: for languages, with lemmas, and functions of one's own."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.plain_text import shortened
from spectral_spark.text.languages import ELIDED, ELIDING, HAN_OR_KANA, lemmatiser, segmenter
from spectral_spark.text.tokeniser import Tokeniser

WordFunction = Callable[[str], Iterable[str]]


class LanguageTokeniser(Tokeniser):
    """Counts the words of texts in certain languages.

    Chinese and Japanese are cut into words, where a character counts as two letters; elided articles are cut off
    (``l'homme`` becomes ``homme``) in French, Italian and Catalan; with ``lemmas``, words become dictionary forms.
    """

    def __init__(
        self, stop_words: frozenset[str], min_length: int = 3, languages: tuple[str, ...] = (), lemmas: bool = False
    ) -> None:
        super().__init__(stop_words, min_length)
        self.languages, self.lemmas = languages, lemmas
        self._elides = bool(ELIDING & set(languages))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stop_words, self.min_length, self.languages, self.lemmas)

    @cached_property
    def _segment(self) -> Callable[[str], list[str]] | None:
        return segmenter(self.languages)

    @cached_property
    def _lemma(self) -> Callable[[str], str] | None:
        return lemmatiser(self.languages) if self.lemmas else None

    def prepare(self) -> None:
        """Load what the languages need, so that a missing package is told at once."""
        _ = self._segment, self._lemma

    def split(self, text: str) -> list[str]:
        return [piece for token in super().split(text) for piece in self._pieces(token)]

    def split_in_order(self, text: str) -> Iterator[tuple[str, bool]]:
        for token, follows in super().split_in_order(text):
            for number, piece in enumerate(self._pieces(token)):
                yield piece, follows or number > 0

    def _pieces(self, token: str) -> list[str]:
        """A token, with runs of Han characters and kana in it cut into words."""
        if self._segment is None or HAN_OR_KANA.search(token) is None:
            return [token]
        pieces, end = [], 0
        for run in HAN_OR_KANA.finditer(token):
            pieces += [token[end: run.start()], *self._segment(run[0])]
            end = run.end()
        return [piece for piece in (*pieces, token[end:]) if piece.strip("'")]

    def normal(self, raw: str) -> str:
        if self._elides and "'" in raw and raw not in self.stop_words and raw.split("'", 1)[0] in ELIDED:
            raw = raw.split("'", 1)[1]
        word = super().normal(raw)
        if not word or self._lemma is None:
            return word
        lemma = self._lemma(word)
        return lemma if self._long_enough(lemma) and lemma not in self.stop_words else ""

    def _long_enough(self, word: str) -> bool:
        if self._segment is None:
            return super()._long_enough(word)
        wide = sum(map(len, HAN_OR_KANA.findall(word)))
        return super()._long_enough(word) or (wide > 0 and len(word) + wide >= self.min_length)


class OwnTokeniser(Tokeniser):
    """Words as a function of one's own gives them: none is changed or dropped.

    Parameters
    ----------
    function : from a text to its words; executors must be able to import it.
    """

    splits_bytes = False

    def __init__(self, function: WordFunction) -> None:
        super().__init__(frozenset(), 1)
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function,)

    def split(self, text: str) -> list[str]:
        return own_words(self.function, text)

    def split_in_order(self, text: str) -> Iterator[tuple[str, bool]]:
        return ((word, number > 0) for number, word in enumerate(self.split(text)))

    def normal(self, raw: str) -> str:
        return raw


def own_words(function: WordFunction, text: str) -> list[str]:
    """The words that a function of one's own finds in a text, without empty ones.

    Whatever goes wrong in it is told without its message, which could quote the text.
    """
    name = f"{getattr(function, '__module__', None) or ''}:{getattr(function, '__qualname__', type(function).__name__)}"
    try:
        words = function(text)
        found = None if isinstance(words, str) else [word for word in words if word]
    except (Exception, SystemExit) as error:
        raise InputError(f"tokeniser '{name}' failed on a text with {type(error).__name__}; it must take a text and "
                         "return the list of its words") from None
    wrong = None if found is None else next((type(word).__name__ for word in found if not isinstance(word, str)), None)
    if found is None or wrong:
        raise InputError(f"tokeniser '{name}' returns {f'a list with {wrong}' if wrong else 'a text'}; it must return "
                         "the list of the words of a text, each a str")
    if any("\ud800" <= letter <= "\udfff" for word in found if not word.isascii() for letter in word):
        raise InputError(f"tokeniser '{name}' returns words with half a character, which no file can hold")
    return found


def load_tokeniser(name: str) -> WordFunction:
    """The function that ``package.module:function`` names. It is imported, so only a user may name it, never a file."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise SettingsError(f"tokeniser '{name}': name it as package.module:function")
    try:
        found = getattr(import_module(module), function)
    except ImportError as error:
        raise SettingsError(f"tokeniser '{name}': {module} cannot be imported ({error}); is it on the Python path, and "
                            "on that of the executors?") from None
    except AttributeError:
        known = [attribute for attribute, value in vars(import_module(module)).items() if callable(value)]
        raise SettingsError(f"tokeniser '{name}': {module} has no function '{function}'"
                            f"{nearest(function, known)}") from None
    except (Exception, SystemExit) as error:                # a module of somebody's own may do anything
        raise SettingsError(f"tokeniser '{name}': importing {module} fails with {type(error).__name__}: "
                            f"{shortened(str(error))}") from None
    if not callable(found):
        raise SettingsError(f"tokeniser '{name}' is not a function from a text to its words")
    return found
