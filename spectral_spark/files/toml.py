"""TOML that people write: read without trusting it, and with one message for whatever is wrong with it."""

import sys
from typing import Any

from spectral_spark.plain_text import shortened

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # Python 3.10 has the same reader under another name
__all__ = ["parse_toml", "tomllib"]


def parse_toml(data: bytes) -> dict[str, Any]:
    """The content of a TOML file; a ValueError that begins with "is not …" says what is wrong.

    Python's reader has errors of several kinds: for wrong TOML, for numbers of thousands of digits, and for lists
    within lists within lists.
    """
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not valid TOML: {shortened(str(error))}") from None
    except RecursionError:
        raise ValueError("is not valid TOML: it is nested too deeply") from None
    except ValueError:
        raise ValueError("is not valid TOML: a number in it has too many digits") from None
