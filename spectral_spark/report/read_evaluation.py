"""The evaluation that the page shows, as the verb ``evaluate`` writes it, or refused with the file's name."""

import json
import math
from collections.abc import Mapping
from typing import Any

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import resolve

_LARGEST_LOSS = 700.0        # nats per word; e to a larger one is no floating-point number
_NUMBERS = ("loss", "unigram_loss", "tokens")


def read_evaluation(path: str) -> dict[str, Any]:
    """Read and check a file that ``evaluate`` wrote."""
    filesystem, inside = resolve(path)
    try:
        with filesystem.open_input_stream(inside) as source:
            value = json.loads(source.read())
    except OSError:
        raise InputError(f"there is no evaluation at '{path}'; write one with the verb 'evaluate'") from None
    except ValueError:
        raise FormatError(f"'{path}' is not JSON; write it again with the verb 'evaluate'") from None
    return checked_evaluation(value, path)


def checked_evaluation(value: Any, path: str) -> dict[str, Any]:
    """The same value, refusing what the page could not show; ``path`` names it in an error."""
    if not isinstance(value, Mapping) or "loss" not in value:
        raise FormatError(f"'{path}' is JSON but no evaluation: it has no 'loss'")
    _check_numbers(value, path)
    nodes = value.get("nodes") or []
    if not isinstance(nodes, list):
        raise _foreign(path, f"'nodes' is {nodes!r}, not a list")
    for number, node in enumerate(nodes):
        if not isinstance(node, Mapping):
            raise _foreign(path, f"number {number} of 'nodes' is {node!r}, not an object")
        names = node.get("path") or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise _foreign(path, f"number {number} of 'nodes' has the path {names!r}, not a list of names")
        _check_numbers(node, path)
    return dict(value)


def _check_numbers(values: Mapping[str, Any], path: str) -> None:
    for key in _NUMBERS:
        given = values.get(key)
        if given is None or (isinstance(given, float) and math.isnan(given)):
            continue
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise _foreign(path, f"'{key}' is {given!r}, not a number")
        if key != "tokens" and abs(given) > _LARGEST_LOSS:
            raise _foreign(path, f"'{key}' is {given:g} nats per word, which no evaluation gives")


def _foreign(path: str, what: str) -> FormatError:
    return FormatError(f"'{path}' is no evaluation: {what}; write it again with the verb 'evaluate'")
