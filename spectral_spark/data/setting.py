"""One setting, and a table of them: what the estimators, the command line and the reference page are made from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spectral_spark.data.value_types import Choice, ValueType, nearest
from spectral_spark.errors import SettingsError


class Audience(Enum):
    """Who needs a setting."""

    EVERYONE = "everyone"
    EXPERTS = "experts"
    COLUMNS = "columns of a DataFrame"


@dataclass(frozen=True)
class Setting:
    """One thing that a fit or an ingest can be told.

    Attributes
    ----------
    name : the parameter in Python, ``basisSize``. ``flag`` (``basis-size``) and ``attribute`` (``basis_size``) follow.
    type : the values it may have.
    default : None when there is none.
    help : what it does, in a plain sentence or two.
    audience : everyone, experts, or those who name the columns of their own DataFrame.
    aliases : what people call it elsewhere, so that a wrong name gets the right hint.
    required : whether it must be given.
    """

    name: str
    type: ValueType
    default: Any
    help: str
    audience: Audience = Audience.EVERYONE
    aliases: tuple[str, ...] = ()
    required: bool = False

    @property
    def attribute(self) -> str:
        """The name in snake case."""
        return re.sub(r"([A-Z])", r"_\1", self.name).lower()

    @property
    def flag(self) -> str:
        """The name on the command line, without the two dashes in front, and in a configuration file."""
        return self.attribute.replace("_", "-")

    @property
    def options(self) -> tuple[str, ...]:
        """The words to choose from; empty for other types."""
        return self.type.options if isinstance(self.type, Choice) else ()

    @property
    def default_text(self) -> str:
        """The default as one would write it on the command line; empty when there is none."""
        return "" if self.default is None else f"{self.default:g}" if isinstance(self.default, float) \
            else str(self.default)

    def check(self, value: Any) -> Any:
        """The value in its canonical form; refuses what the setting may not be."""
        try:
            return self.type.check(value)
        except ValueError as error:
            raise SettingsError(f"{self.name} {error}") from None


class SettingsTable:
    """The settings of one estimator, or of ingest, in the order in which they are shown."""

    def __init__(self, title: str, *settings: Setting) -> None:
        self.title = title
        self._settings = {setting.name: setting for setting in settings}

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._settings.values())

    def __contains__(self, name: str) -> bool:
        return name in self._settings

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def default(self, name: str) -> Any:
        return self._settings[name].default

    def for_audience(self, *audiences: Audience) -> tuple[Setting, ...]:
        return tuple(setting for setting in self if setting.audience in audiences)

    def unknown(self, name: str) -> SettingsError:
        """The error for a parameter that does not exist, with the one that was probably meant."""
        wanted = name.replace("-", "_").lower()
        known = next((setting.name for setting in self if wanted in setting.aliases), None)
        hint = f"; did you mean '{known}'?" if known else nearest(name, self._settings)
        return SettingsError(f"there is no parameter '{name}'{hint or '; explainParams() lists them'}")
