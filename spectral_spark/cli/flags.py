"""Flags: declared once, read from the command line and from a configuration file in the same way."""

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spectral_spark.errors import SettingsError


@dataclass(frozen=True)
class Flag:
    """One setting of a verb, ``--name`` on the command line and ``name = …`` in the verb's table of a TOML file.

    Attributes
    ----------
    name : with dashes inside and none in front.
    help : one sentence; the default belongs into it.
    read : turns the text into the value; raises ValueError saying what is expected.
    choices : the only texts allowed, or empty.
    required, switch, repeated : must be given; takes no value; may be given several times.
    """

    name: str
    help: str
    read: Callable[[str], Any] = str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    required: bool = False
    switch: bool = False
    repeated: bool = False

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    def value(self, given: Any, where: str) -> Any:
        """The value of what was given (text, or text-like items of TOML); ``where`` names it in an error."""
        if self.switch:
            if not isinstance(given, bool):
                raise SettingsError(f"{where}: expected true or false, not {given!r}")
            return given
        if self.repeated:
            return tuple(self._one(item, where) for item in (given if isinstance(given, list) else [given]))
        return self._one(given, where)

    def _one(self, given: Any, where: str) -> Any:
        if isinstance(given, list):
            given = ",".join(str(item) for item in given)
        if isinstance(given, bool | dict):
            raise SettingsError(f"{where}: expected {self.metavar}, not {given!r}")
        text = str(given)
        if self.choices and text not in self.choices:
            hint = nearest(text, self.choices)
            raise SettingsError(f"{where}: '{text}' is not one of {', '.join(self.choices)}{hint}")
        try:
            return self.read(text)
        except ValueError as error:
            raise SettingsError(f"{where}: {error}") from None


def nearest(word: str, valid: Iterable[str]) -> str:
    """A hint at the valid name a mistyped one was meant to be; empty when none is near."""
    names = list(valid)
    close = difflib.get_close_matches(word.replace("_", "-"), names, n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""


def whole_number(least: int = 0) -> Callable[[str], int]:
    """Reads a whole number of at least ``least``."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"'{text}' is not a whole number") from None
        if number < least:
            raise ValueError(f"{number} is too small; at least {least} is needed")
        return number

    return read


def whole_number_or(word: str, least: int = 1) -> Callable[[str], int | str]:
    """Reads a whole number, or the given word."""

    def read(text: str) -> int | str:
        if text == word:
            return word
        try:
            return whole_number(least)(text)
        except ValueError as error:
            raise ValueError(f"{error}, nor '{word}'" if "not a whole" in str(error) else str(error)) from None

    return read


def share(text: str) -> float:
    """Reads a number above 0 and at most 1."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number between 0 and 1") from None
    if not 0 < number <= 1:
        raise ValueError(f"{text} is not between 0 and 1")
    return number


def fraction(text: str) -> float:
    """Reads a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number from 0 to 1") from None
    if not 0 <= number <= 1:
        raise ValueError(f"{text} is not a number from 0 to 1")
    return number


def names(text: str) -> tuple[str, ...]:
    """Reads a comma-separated list of names."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise ValueError("an empty list of names")
    return found


def positive_numbers_or(*words: str) -> Callable[[str], tuple[float, ...] | str]:
    """Reads comma-separated positive numbers, or one of the given words."""

    def read(text: str) -> tuple[float, ...] | str:
        if text in words:
            return text
        try:
            numbers = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise ValueError(f"'{text}' is neither {' nor '.join(words)} nor numbers like 0.5,1") from None
        if not all(0 < number < float("inf") for number in numbers):
            raise ValueError(f"'{text}': every number must be positive")
        return numbers

    return read


def spark_setting(text: str) -> tuple[str, str]:
    """Reads spark.KEY=VALUE."""
    key, separator, value = (part.strip() for part in text.partition("="))
    if not separator or not key:
        raise ValueError(f"'{text}' is not KEY=VALUE")
    if not re.fullmatch(r"spark\.\S+", key):
        raise ValueError(f"'{key}' is no setting of Spark; their names begin with 'spark.'")
    return key, value
