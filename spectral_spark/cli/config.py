"""Configuration files: TOML, one table per verb with the names of its flags, and ``[spark]`` for Spark's settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spectral_spark.cli.flags import nearest, nearest_flag
from spectral_spark.cli.verb import COMMON, Verb
from spectral_spark.errors import SettingsError
from spectral_spark.files.toml import parse_toml

_NOT_IN_A_FILE = {"config", "dry-run", "debug", "spark-conf", "master"}


@dataclass(frozen=True)
class Config:
    """What a file says, every name and value checked.

    Attributes
    ----------
    settings : values by attribute name, for each verb.
    spark : Spark settings by their full name.
    """

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)


def read_config(path: str, verbs: Mapping[str, Verb]) -> Config:
    """Read and check a whole file, also the tables of other verbs, so that typos are found before any work starts."""
    try:
        content = parse_toml(Path(path).read_bytes())
    except FileNotFoundError:
        raise SettingsError(f"there is no configuration file '{path}'") from None
    except IsADirectoryError:
        raise SettingsError(f"'{path}' is a directory, not a configuration file") from None
    except OSError as error:
        raise SettingsError(f"cannot read '{path}': {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(f"'{path}' {error}") from None
    settings = {}
    for name, table in content.items():
        if name != "spark" and name not in verbs:
            raise SettingsError(f"{path}: unknown table [{name}]{nearest(name, [*verbs, 'spark'])}")
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: '{name}' must be a table, written [{name}]")
        if name != "spark":
            settings[name] = _verb_settings(path, verbs[name], table)
    return Config(settings, _spark_settings(path, content.get("spark", {})))


def _verb_settings(path: str, verb: Verb, table: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for key, given in table.items():
        flag = verb.flag(key)
        if flag is None or flag.name in _NOT_IN_A_FILE:
            valid = [known for known in verb.all_flags if known.name not in _NOT_IN_A_FILE]
            hint = nearest_flag(key, valid, "") or f"; it may have: {', '.join(known.name for known in valid)}"
            if flag in COMMON:
                hint = "; give it on the command line" + (", or as [spark] master" if key == "master" else "")
            raise SettingsError(f"{path}: unknown key '{key}' in [{verb.name}]{hint}")
        values[flag.attribute] = flag.value(given, f"{path}: [{verb.name}] {key}")
    return values


def _spark_settings(path: str, table: Mapping[str, Any], prefix: str = "spark") -> dict[str, str]:
    settings: dict[str, str] = {}
    for key, value in table.items():
        name = key if key == prefix or key.startswith("spark.") else f"{prefix}.{key}"
        if not re.fullmatch(r"spark(\.[^\s.]+)+", name) and not (name == prefix and isinstance(value, dict)):
            raise SettingsError(f"{path}: [spark] '{name}' is not the name of a Spark setting")
        if isinstance(value, dict):
            settings |= _spark_settings(path, value, name)
        elif isinstance(value, bool):
            settings[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            settings[name] = str(value)
        else:
            raise SettingsError(f"{path}: [spark] {name} is {value!r}; give a text or a number")
    return settings
