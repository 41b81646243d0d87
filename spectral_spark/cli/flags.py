"""Flags: declared once, read from the command line and from a configuration file in the same way."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spectral_spark.data.setting import Audience, Setting
from spectral_spark.data.value_types import (
    LARGEST_COUNT,
    LARGEST_SEED,
    LARGEST_WHOLE,
    Choice,
    Number,
    Switch,
    Text,
    TextOrWhole,
    Texts,
    ValueType,
    Whole,
    nearest,
)
from spectral_spark.errors import SettingsError

__all__ = [
    "Flag", "fraction", "names", "nearest", "nearest_flag", "seed_number", "setting_flag", "setting_flags", "share",
    "spark_setting", "text_or_number", "whole_number", "whole_number_or",
]

_TEXT = Text()


@dataclass(frozen=True)
class Flag:
    """One setting of a verb, ``--name`` on the command line and ``name = …`` in the verb's table of a TOML file.

    Attributes
    ----------
    name : with dashes inside and none in front.
    help : one sentence, including the default.
    read : what is allowed: a type of value, or a function that turns text into the value and raises a ValueError that
        begins with "is …".
    metavar : placeholder for the value on the help page; if empty, that of the type.
    choices : the only texts allowed, or empty.
    required, switch, repeated : must be given; takes no value; may be given several times.
    expert : shown in a group of its own on the help page.
    aliases : what people call it elsewhere, so that a wrong name gets the right hint.
    """

    name: str
    help: str
    read: Callable[[str], Any] = _TEXT
    metavar: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    switch: bool = False
    repeated: bool = False
    expert: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    @property
    def shown_value(self) -> str:
        """The placeholder for the value on the help page."""
        if self.choices:
            return "|".join(self.choices)
        return self.metavar or (self.read.metavar if isinstance(self.read, ValueType) else "TEXT")

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        text = f"{self.help[0].upper()}{self.help[1:]}".rstrip(".") + "."
        return f"{text} Required." if self.required else text

    def value(self, given: Any, where: str) -> Any:
        """The value of what was given, text or a value of TOML; ``where`` names it in an error."""
        if self.switch:
            if not isinstance(given, bool):
                raise SettingsError(f"{where} is {given!r}; give true or false")
            return given
        if self.repeated:
            return tuple(self._one(item, where) for item in (given if isinstance(given, list) else [given]))
        return self._one(given, where)

    def _one(self, given: Any, where: str) -> Any:
        read = Choice(self.choices) if self.choices else self.read
        try:
            if isinstance(given, str):
                return read(given)
            if isinstance(read, ValueType):
                return read.check(given)
            raise ValueError(f"is {given!r}; give a text")
        except ValueError as error:
            raise SettingsError(f"{where} {error}") from None


def setting_flag(setting: Setting, required: bool = False, expert: bool | None = None) -> Flag:
    """The flag of a setting of the table."""
    required = required or setting.required
    default = f" Default: {setting.default_text}." if setting.default is not None and not required else ""
    return Flag(
        setting.flag, f"{setting.help}{default}", setting.type, required=required, aliases=setting.aliases,
        switch=isinstance(setting.type, Switch),
        expert=setting.audience == Audience.EXPERTS if expert is None else expert,
    )


def setting_flags(settings: Iterable[Setting]) -> tuple[Flag, ...]:
    return tuple(setting_flag(setting) for setting in settings)


def nearest_flag(word: str, flags: Iterable[Flag], dashes: str = "--") -> str:
    """A hint at the flag that was probably meant: one known under another name, or with a similar spelling."""
    known, wanted = list(flags), word.lstrip("-").replace("-", "_").lower()
    meant = next((flag for flag in known if wanted in flag.aliases), None)
    if meant is not None:
        return f"; did you mean '{dashes}{meant.name}'?"
    return nearest(word, [f"{dashes}{flag.name}" for flag in known])


def whole_number(least: int = 0) -> Whole:
    """A whole number of at least ``least``."""
    return Whole(least, LARGEST_COUNT)


def whole_number_or(word: str, least: int = 1) -> Whole:
    """A whole number, or the given word."""
    return Whole(least, LARGEST_WHOLE, word)


seed_number = Whole(0, LARGEST_SEED)
share = Number(0, 1, above=True, metavar="SHARE")
fraction = Number(0, 1)
names = Texts()
text_or_number = TextOrWhole()


def spark_setting(text: str) -> tuple[str, str]:
    """Reads spark.KEY=VALUE."""
    key, separator, value = (part.strip() for part in text.partition("="))
    if not separator or not key:
        raise ValueError(f"is '{text}', which is not KEY=VALUE")
    if not re.fullmatch(r"spark\.\S+", key):
        raise ValueError(f"is '{text}', but '{key}' is no setting of Spark; their names begin with 'spark.'")
    return key, value
