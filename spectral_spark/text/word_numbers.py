"""Words as 64-bit hashes, so that documents can be staged, counted and indexed as arrays of numbers."""

import hashlib
from collections.abc import Iterable

import numpy as np

from spectral_spark.text.tokeniser import Tokeniser

MANY_WORDS = 500_000           # distinct words that a worker remembers at a time
_DROPPED = -1


def word_hash(word: str, salt: int = 0) -> int:
    """A signed 64-bit hash of a word, never zero. Two words of a corpus with the same hash need another ``salt``."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.to_bytes(4, "little"))
    return int.from_bytes(digest.digest(), "little", signed=True) or 1


def word_hashes(words: Iterable[str], salt: int = 0) -> np.ndarray:
    """The hashes of words, of type int64."""
    return np.fromiter((word_hash(word, salt) for word in words), np.int64)


class WordNumbers:
    """Numbers the words that one worker meets, in the order in which it meets them.

    Attributes
    ----------
    words : the words so far; position is the number.
    """

    def __init__(self, tokeniser: Tokeniser, salt: int) -> None:
        self._tokeniser, self._salt = tokeniser, salt
        self.words: list[str] = []
        self._raw: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._hashes = np.zeros(1024, np.int64)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def full(self) -> bool:
        return len(self._raw) + len(self.words) > MANY_WORDS

    @property
    def hashes(self) -> np.ndarray:
        """Hashes of the words, by number."""
        return self._hashes[: len(self.words)]

    def of_raw(self, distinct: list[str]) -> np.ndarray:
        """The number of the word that each token stands for; −1 for those that are dropped."""
        known = self._raw
        for raw in distinct:
            if raw not in known:
                self._new_raw(raw)
        return np.fromiter(map(known.__getitem__, distinct), np.int64, len(distinct))

    def of_word(self, word: str) -> int:
        """The number of a word, which is not changed or dropped."""
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
            if number == len(self._hashes):
                self._hashes = np.resize(self._hashes, 2 * number)
            self._hashes[number] = word_hash(word, self._salt)
        return number

    def _new_raw(self, raw: str) -> None:
        word = self._tokeniser.normal(raw)
        self._raw[raw] = self.of_word(word) if word else _DROPPED
