"""How the words of a model were made from text, so that new text can be read the same way, with or without Spark."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError, InputError
from spectral_spark.text.document_words import DocumentWords
from spectral_spark.text.dropped_lines import LineFilter
from spectral_spark.text.language_tokeniser import LanguageTokeniser, OwnTokeniser, WordFunction, own_words
from spectral_spark.text.languages import LANGUAGES
from spectral_spark.text.phrases import MOST_PHRASES, Phrase, PhraseMatcher, phrase_word
from spectral_spark.text.token_batch import TextBytes, split_texts
from spectral_spark.text.tokeniser import Tokeniser
from spectral_spark.text.word_numbers import WordNumbers

TEXT_JSON = "text.json"
_MOST_LINES = 10_000_000


@dataclass(frozen=True)
class TextRecipe:
    """The tokeniser's settings, saved with a model as ``text.json``.

    Attributes
    ----------
    stop_words : the words that were dropped, sorted. The words themselves, not the name of a list, so that the recipe
        stays the same when a list changes.
    min_word_length : shorter words were dropped.
    languages : codes of the languages of the texts, if they were given.
    lemmas : whether words became dictionary forms.
    tokeniser_name : ``package.module:function`` of a tokeniser of one's own. A model only says its name: the function
        must be given again, because files of others must not decide what is run.
    phrases : pairs of words that were joined.
    dropped_lines : keys of lines that were left out of the texts.
    function : the tokeniser of one's own, once it was given.
    """

    stop_words: tuple[str, ...]
    min_word_length: int = 3
    languages: tuple[str, ...] = ()
    lemmas: bool = False
    tokeniser_name: str | None = None
    phrases: tuple[Phrase, ...] = ()
    dropped_lines: tuple[str, ...] = ()
    function: WordFunction | None = field(default=None, compare=False, repr=False)

    @cached_property
    def tokeniser(self) -> Tokeniser:
        if self.function is not None:
            return OwnTokeniser(self.function)
        if self.tokeniser_name is not None:
            raise InputError(f"the words of this model were made by the tokeniser '{self.tokeniser_name}'; it is not "
                             "run unless you name it again: with --tokeniser, or tokeniser= in Python")
        stop_words = frozenset(self.stop_words)
        if self.languages or self.lemmas:
            return LanguageTokeniser(stop_words, self.min_word_length, self.languages, self.lemmas)
        return Tokeniser(stop_words, self.min_word_length)

    @cached_property
    def line_filter(self) -> LineFilter | None:
        return LineFilter(self.dropped_lines) if self.dropped_lines else None

    def using(self, function: WordFunction | None) -> "TextRecipe":
        """The recipe with a tokeniser of one's own."""
        return self if function is None else replace(self, function=function)

    @property
    def plain(self) -> bool:
        """Whether it says nothing that release 0.1.0 did not know."""
        return not (self.languages or self.lemmas or self.tokeniser_name or self.phrases or self.dropped_lines)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        words = {"stop_words": list(self.stop_words), "min_word_length": self.min_word_length}
        if self.plain:
            return {"version": 1, **words}
        return {"version": 2, **words, "languages": list(self.languages), "lemmas": self.lemmas,
                "tokeniser": self.tokeniser_name, "phrases": list(map(list, self.phrases)),
                "dropped_lines": list(self.dropped_lines)}

    @classmethod
    def from_dict(cls, values: Any, path: str) -> "TextRecipe":
        """From ``text.json``; anything but a recipe is refused."""
        if not isinstance(values, dict) or values.get("version") not in (1, 2):
            raise FormatError(f"'{path}' does not hold tokeniser settings that this version knows; upgrade "
                              "spectral_spark, or fit the model again")
        words: Any = values.get("stop_words")
        length = values.get("min_word_length")
        if not _are_words(words):
            raise FormatError(f"'{path}': stop_words is not a list of words; the directory is damaged")
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise FormatError(f"'{path}': min_word_length is not a positive whole number; the directory is damaged")
        return cls(tuple(words), length, **(_extras(values, path) if values["version"] == 2 else {}))


def _extras(values: dict[str, Any], path: str) -> dict[str, Any]:
    """What version 2 has in addition."""
    named: tuple[Any, ...] = tuple(map(values.get, ("languages", "lemmas", "tokeniser", "phrases", "dropped_lines")))
    languages, lemmas, name, phrases, lines = named
    pairs = isinstance(phrases, list) and len(phrases) <= MOST_PHRASES and all(
        _are_words(pair) and len(pair) == 2 for pair in phrases)
    checks = {
        "languages": _are_words(languages) and set(languages) <= set(LANGUAGES),
        "lemmas": isinstance(lemmas, bool), "tokeniser": name is None or isinstance(name, str), "phrases": pairs,
        "dropped_lines": _are_words(lines) and len(lines) <= _MOST_LINES,
    }
    for key, good in checks.items():
        if not good:
            raise FormatError(f"'{path}': {key} is not as it is written; the directory is damaged")
    return {"languages": tuple(languages), "lemmas": lemmas, "tokeniser_name": name,
            "phrases": tuple((first, second) for first, second in phrases), "dropped_lines": tuple(lines)}


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def phrase_matcher(phrases: Sequence[Phrase], number: Callable[[str], int]) -> PhraseMatcher:
    """Joins phrases of words that ``number`` gives numbers to."""
    columns = [[number(phrase[0]) for phrase in phrases], [number(phrase[1]) for phrase in phrases],
               [number(phrase_word(phrase)) for phrase in phrases]]
    return PhraseMatcher(*(np.array(column, np.int64) for column in columns))


class TextCounter:
    """Texts to word ids and counts in a fixed vocabulary. Runs on executors and, for local data, on the driver.

    Parameters
    ----------
    recipe : how text becomes words; or a function from a text to the list of its words.
    vocabulary : the words, in the order of their ids; other words are left out.
    """

    def __init__(self, recipe: TextRecipe | Callable[[str], Iterable[str]], vocabulary: Sequence[str]) -> None:
        self.recipe = recipe
        self.ids = {word: number for number, word in enumerate(vocabulary)}
        if isinstance(recipe, TextRecipe):
            _ = recipe.tokeniser                    # refuses at once a recipe that needs a function to be given

    def __call__(self, texts: pa.Array) -> pa.StructArray:
        """A struct of ``terms`` (sorted ids) and ``counts`` for each text; a null text has no words."""
        terms, starts, counts = self.arrays(texts.to_pylist())
        offsets = pa.array(starts.astype(np.int32), pa.int32())
        return pa.StructArray.from_arrays(
            [pa.ListArray.from_arrays(offsets, pa.array(terms, pa.int32())),
             pa.ListArray.from_arrays(offsets, pa.array(counts, pa.int32()))],
            names=["terms", "counts"],
        )

    def arrays(self, texts: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Word ids, where those of each text start, of shape (n + 1,), and counts; ids are sorted within a text."""
        terms: list[int] = []
        counts: list[int] = []
        starts = np.zeros(len(texts) + 1, np.int64)
        for row, text in enumerate(texts):
            known = sorted((self.ids[word], count) for word, count in self.words(text).items() if word in self.ids)
            terms += [term for term, _ in known]
            counts += [count for _, count in known]
            starts[row + 1] = len(terms)
        return np.array(terms, np.int32), starts, np.array(counts, np.int32)

    def words(self, text: str | None) -> dict[str, int]:
        """How often each word is in a text, known to the vocabulary or not."""
        if not text:
            return {}
        if not isinstance(self.recipe, TextRecipe):
            return Counter(own_words(self.recipe, text))
        if self.recipe.line_filter is not None:
            text = self.recipe.line_filter(text)
        return self._with_phrases(text) if self.recipe.phrases else self.recipe.tokeniser.counts(text)

    def _with_phrases(self, text: str) -> dict[str, int]:
        assert isinstance(self.recipe, TextRecipe)
        numbers, matcher = self._phrases
        tokens = split_texts(TextBytes.of(pa.array([text.encode("utf-8", "replace")])), self.recipe.tokeniser,
                             follows=True)
        words = DocumentWords.of_tokens(tokens, numbers).with_phrases(matcher).words
        found = Counter(numbers.words[number] for number in words.tolist())
        if numbers.full:
            del self._phrases
        return found

    @cached_property
    def _phrases(self) -> tuple[WordNumbers, PhraseMatcher]:
        assert isinstance(self.recipe, TextRecipe)
        numbers = WordNumbers(self.recipe.tokeniser, 0)
        return numbers, phrase_matcher(self.recipe.phrases, numbers.of_word)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_phrases"}
