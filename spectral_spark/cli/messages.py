"""Messages in the words of the command line.

The library writes settings as code, between backticks and the way Python users know them, ``basisSize`` or
``missing="mean"``. On the command line the same settings are flags.
"""

import re
from functools import cache

from spectral_spark.cli.verb import verbs

_CODE = re.compile(r"`([A-Za-z][A-Za-z_]*)(?:=([^`]*))?`")


def with_flags(message: str) -> str:
    """The message with every setting written as a flag: ``--basis-size``, ``--missing mean``, ``--skip-known``."""
    return _CODE.sub(_as_flag, message)


def _as_flag(code: re.Match[str]) -> str:
    name = re.sub(r"([A-Z])", r"-\1", code[1]).lower().replace("_", "-")
    if name not in _flag_names():
        return code[0]
    value = (code[2] or "").strip("\"'")
    return f"--{name}" if value in ("", "True") else f"--{name} {value}"


@cache
def _flag_names() -> frozenset[str]:
    return frozenset(flag.name for verb in verbs().values() for flag in verb.all_flags)
