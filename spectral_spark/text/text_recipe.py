"""How the words of a model were made from text, so that new text can be read the same way, with or without Spark."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.text.tokeniser import Tokeniser

TEXT_JSON = "text.json"


@dataclass(frozen=True)
class TextRecipe:
    """The tokeniser's settings, saved with a model as ``text.json``.

    Attributes
    ----------
    stop_words : the words that were dropped, sorted. The words themselves, not the name of a list, so that the recipe
        stays the same when a list changes.
    min_word_length : shorter words were dropped.
    """

    stop_words: tuple[str, ...]
    min_word_length: int = 3

    @cached_property
    def tokeniser(self) -> Tokeniser:
        return Tokeniser(frozenset(self.stop_words), self.min_word_length)

    def as_dict(self) -> dict[str, Any]:
        return {"version": 1, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Any, path: str) -> "TextRecipe":
        """From ``text.json``; anything but a recipe is refused."""
        if not isinstance(values, dict) or values.get("version") != 1:
            raise FormatError(f"'{path}' does not hold tokeniser settings that this version knows; upgrade "
                              "spectral_spark, or fit the model again")
        words, length = values.get("stop_words"), values.get("min_word_length")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise FormatError(f"'{path}': stop_words is not a list of words; the directory is damaged")
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise FormatError(f"'{path}': min_word_length is not a positive whole number; the directory is damaged")
        return cls(tuple(words), length)


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
        return self.recipe.tokeniser.counts(text) if isinstance(self.recipe, TextRecipe) else Counter(self.recipe(text))
