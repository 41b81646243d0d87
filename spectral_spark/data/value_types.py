"""What a setting may be: each type reads text, checks values, and says in words what it expects.

Called with text, as flags give it, a type parses; :meth:`check` takes values, as Python and TOML give them. Both return
the value in its canonical form, or raise a ValueError that says what was given and what is expected.
"""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, NoReturn, TypeGuard

LARGEST_WHOLE = 2**31 - 1
LARGEST_COUNT = 2**53
LARGEST_SEED = 2**63 - 1
_MOST_COMPARED, _LONGEST_COMPARED = 20_000, 200


def nearest(word: str, valid: Iterable[str]) -> str:
    """A hint at the valid name that a mistyped one was meant to be; empty when none is near."""
    names = {name.replace("_", "-").lower(): name for name in valid}
    meant = word[:_LONGEST_COMPARED].replace("_", "-").lower()
    alike = list(names)
    if len(alike) > _MOST_COMPARED:                         # a tree of a million nodes: those that begin or end alike
        alike = [name for name in alike if name[:3] == meant[:3] or name[-3:] == meant[-3:]][:_MOST_COMPARED]
    close = difflib.get_close_matches(meant, alike, n=1, cutoff=0.5)
    return f"; did you mean '{names[close[0]]}'?" if close else ""


class ValueType(ABC):
    """The values that a setting may have.

    Attributes
    ----------
    expected : what to give, in words: "a whole number of at least 1".
    metavar : the short form for help pages: "N".
    annotation : the type in Python.
    """

    expected: str
    metavar: str
    annotation: str

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value in its canonical form."""

    @abstractmethod
    def __call__(self, text: str) -> Any:
        """The value that a text stands for."""

    def refuse(self, given: Any) -> NoReturn:
        raise ValueError(f"is {_shown(given)}; give {self.expected}")

    def refuse_item(self, item: Any, place: int) -> NoReturn:
        raise ValueError(f"has {_shown(item)} at place {place}; give {self.expected}")


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}…"


@dataclass(frozen=True)
class Whole(ValueType):
    """A whole number from ``least`` to ``most``, or the given word."""

    least: int = 0
    most: int = LARGEST_WHOLE
    word: str = ""

    @property
    def expected(self) -> str:  # type: ignore[override]
        most = f"from {self.least} to {self.most}" if self.most not in (LARGEST_WHOLE, LARGEST_COUNT) \
            else f"of at least {self.least}"
        return f"a whole number {most}" + (f", or '{self.word}'" if self.word else "")

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return f"N|{self.word}" if self.word else "N"

    @property
    def annotation(self) -> str:  # type: ignore[override]
        return "int | str" if self.word else "int"

    def check(self, value: Any) -> int | str:
        if self.word and isinstance(value, str) and value == self.word:
            return self.word
        if not _is_number(value) or not isfinite(value) or value != int(value) or not self.least <= value <= self.most:
            self.refuse(value)
        return int(value)

    def __call__(self, text: str) -> int | str:
        if self.word and text == self.word:
            return self.word
        try:
            return self.check(int(text))
        except ValueError:
            self.refuse(text)


@dataclass(frozen=True)
class Number(ValueType):
    """A number from ``least`` to ``most``; ``above`` leaves out ``least`` itself."""

    least: float = 0.0
    most: float = inf
    above: bool = False
    metavar: str = "X"
    annotation: str = "float"

    @property
    def expected(self) -> str:  # type: ignore[override]
        if self.most == inf:
            return f"a number {'above' if self.above else 'of at least'} {self.least:g}"
        return f"a number {'above' if self.above else 'from'} {self.least:g} {'and up to' if self.above else 'to'} " \
            f"{self.most:g}"

    def check(self, value: Any) -> Any:
        if not _is_number(value) or not isfinite(value) or not self.least <= value <= self.most:
            self.refuse(value)
        if self.above and value == self.least:
            self.refuse(value)
        return float(value)

    def __call__(self, text: str) -> float:
        try:
            return self.check(float(text))
        except ValueError:
            self.refuse(text)


@dataclass(frozen=True)
class NumberOrWord(Number):
    """A number, or the given word."""

    word: str = "auto"
    annotation: str = "float | str"

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"{super().expected}, or '{self.word}'"

    def check(self, value: Any) -> Any:
        return value if isinstance(value, str) and value == self.word else super().check(value)

    def __call__(self, text: str) -> Any:
        return text if text == self.word else super().__call__(text)


@dataclass(frozen=True)
class Choice(ValueType):
    """One of a few words."""

    options: tuple[str, ...]
    annotation: str = "str"

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"one of {', '.join(self.options)}"

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "|".join(self.options)

    def check(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.options:
            hint = nearest(value, self.options) if isinstance(value, str) else ""
            raise ValueError(f"is {_shown(value)}; choose {self.expected}{hint}")
        return value

    def __call__(self, text: str) -> str:
        return self.check(text)


@dataclass(frozen=True)
class Text(ValueType):
    """Any text that is not empty: a path, or the name of a column."""

    expected: str = "a text"
    metavar: str = "TEXT"
    annotation: str = "str"

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            self.refuse(value)
        return value

    def __call__(self, text: str) -> str:
        return self.check(text)


@dataclass(frozen=True)
class Switch(ValueType):
    """On or off; on the command line a flag without a value."""

    expected: str = "true or false"
    metavar: str = ""
    annotation: str = "bool"

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            self.refuse(value)
        return value

    def __call__(self, text: str) -> bool:
        if text not in ("true", "false"):
            self.refuse(text)
        return text == "true"


@dataclass(frozen=True)
class TextOrWhole(ValueType):
    """A text that may also be written as a bare whole number in a configuration file: ``holdout = 1000``."""

    expected: str = "a text or a whole number"
    metavar: str = "TEXT"
    annotation: str = "str"

    def check(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | Integral):
            self.refuse(value)
        return str(value)

    def __call__(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Texts(ValueType):
    """A list of texts; comma-separated on the command line."""

    expected: str = "a list of names"
    metavar: str = "A,B,…"
    annotation: str = "Sequence[str]"

    def check(self, value: Any) -> list[str]:
        if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
            self.refuse(value)
        texts = list(value)
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                self.refuse_item(text, place)
        return texts

    def __call__(self, text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        if not found:
            self.refuse(text)
        return found


@dataclass(frozen=True)
class TextOrTexts(Texts):
    """A text, or a list of texts."""

    annotation: str = "str | Sequence[str]"

    def check(self, value: Any) -> str | list[str]:  # type: ignore[override]
        return value if isinstance(value, str) else super().check(value)

    def __call__(self, text: str) -> str:  # type: ignore[override]
        return text


@dataclass(frozen=True)
class TextOrTable(ValueType):
    """The path of a file, or its content as a mapping."""

    expected: str = "the path of a file, or a dict"
    metavar: str = "FILE"
    annotation: str = "str | dict[str, Any]"

    def check(self, value: Any) -> str | dict[str, Any]:
        if isinstance(value, str) and value:
            return value
        if not isinstance(value, Mapping):
            self.refuse(value)
        return dict(value)

    def __call__(self, text: str) -> str | dict[str, Any]:
        return self.check(text)


@dataclass(frozen=True)
class PositiveNumbers(ValueType):
    """Positive numbers, comma-separated on the command line, or one of the given words."""

    words: tuple[str, ...] = ()
    annotation: str = "str | float | Sequence[float]"

    @property
    def expected(self) -> str:  # type: ignore[override]
        return f"{', '.join(repr(word) for word in self.words)} or positive numbers, one per layer below the root"

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "|".join((*self.words, "X,Y,…"))

    def check(self, value: Any) -> str | list[float]:
        if isinstance(value, str) and value in self.words:
            return value
        values = list(value) if isinstance(value, list | tuple) else [value]
        for place, number in enumerate(values):
            if not _is_number(number) or not 0 < number < inf:
                self.refuse_item(number, place) if isinstance(value, list | tuple) else self.refuse(value)
        if not values:
            self.refuse(value)
        return [float(number) for number in values]

    def __call__(self, text: str) -> str | list[float]:
        if text in self.words:
            return text
        try:
            return self.check([float(part) for part in text.split(",")])
        except ValueError:
            self.refuse(text)
