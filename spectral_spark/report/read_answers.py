"""The answers about documents that the page shows, as the verb ``answers`` writes them, or refused with a reason."""

import math
from collections.abc import Mapping
from typing import Any

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import resolve
from spectral_spark.files.formats import ANSWERS_KIND, ANSWERS_VERSION
from spectral_spark.files.safe_reading import parse_object
from spectral_spark.plain_text import printable

_MOST = {"nodes": 10_000, "exemplars": 1_000_000, "columns": 100}
_LONGEST_NAME = 2_000


def read_answers(path: str, k: int) -> dict[str, Any]:
    """Read and check a file of the verb ``answers`` for a model with k topics."""
    filesystem, inside = resolve(path)
    try:
        with filesystem.open_input_stream(inside) as source:
            value = parse_object(source.read(), path)
    except OSError:
        raise InputError(f"there are no answers at '{path}'; write them with the verb 'answers'") from None
    return checked_answers(value, path, k)


def checked_answers(value: Mapping[str, Any], path: str, k: int) -> dict[str, Any]:
    """The same value, refusing what the page could not show."""
    if value.get("kind") != ANSWERS_KIND:
        raise FormatError(f"'{path}' is JSON but no file of the verb 'answers'")
    if value.get("version") != ANSWERS_VERSION:
        raise FormatError(f"'{path}' has version {value.get('version')!r} of the answers, and this release reads "
                          f"{ANSWERS_VERSION}; write it again with the verb 'answers'")
    if value.get("k") != k:
        raise InputError(f"'{path}' is about a model with {value.get('k')!r} topics, and this one has {k}; ask this "
                         "model again with the verb 'answers'")
    check = _Check(path, k)
    if not check.is_number(value.get("interval")):
        raise check.wrong("it has no 'interval'")
    parts = {name: check.rows(value.get(name), name, most) for name, most in _MOST.items()}
    return {"interval": float(value["interval"]), "nodes": [check.node(row) for row in parts["nodes"]],
            "exemplars": [check.exemplar(row) for row in parts["exemplars"]],
            "columns": [check.column(row) for row in parts["columns"]]}


class _Check:
    """Checks values from one file; whatever is wrong becomes an error that names it."""

    def __init__(self, path: str, k: int) -> None:
        self._path, self._k = path, k

    def wrong(self, what: str) -> FormatError:
        return FormatError(f"'{self._path}' holds no answers: {what}; write it again with the verb 'answers'")

    def is_number(self, value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

    def rows(self, value: Any, name: str, most: int) -> list[Mapping[str, Any]]:
        if not isinstance(value, list) or len(value) > most or not all(isinstance(row, Mapping) for row in value):
            raise self.wrong(f"'{name}' is not a list of at most {most:,} objects")
        return value

    def numbers(self, value: Any, name: str, size: int) -> list[float]:
        if not isinstance(value, list) or len(value) != size or not all(map(self.is_number, value)):
            raise self.wrong(f"'{name}' is not a list of {size} numbers")
        return [float(number) for number in value]

    def names(self, value: Any, name: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise self.wrong(f"'{name}' is not a list of names")
        return [printable(text)[:_LONGEST_NAME] for text in value]

    def topic(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < self._k:
            raise self.wrong(f"there is no topic {value!r}")
        return value

    def node(self, row: Mapping[str, Any]) -> dict[str, Any]:
        path = row.get("path")
        self.names(path, "path")
        return {"path": path, **{name: self.numbers(row.get(name), name, self._k)
                                 for name in ("shares", "lower", "upper")}}

    def exemplar(self, row: Mapping[str, Any]) -> dict[str, Any]:
        self.names(row.get("path"), "path")
        if not isinstance(row.get("id"), str) or not self.is_number(row.get("share")):
            raise self.wrong("an exemplar has no id or no share")
        return {"path": row["path"], "topic": self.topic(row.get("topic")), "share": float(row["share"]),
                "id": printable(row["id"])[:_LONGEST_NAME]}

    def column(self, row: Mapping[str, Any]) -> dict[str, Any]:
        values = self.names(row.get("values"), "values")
        tables = {}
        for name in ("share", "lower", "upper"):
            given = row.get(name)
            if not isinstance(given, list) or len(given) != len(values):
                raise self.wrong(f"'{name}' does not have a row for each of {len(values)} values")
            tables[name] = [self.numbers(line, name, self._k) for line in given]
        tests = {name: self._tests(row.get(name)) for name in ("trend", "change")}
        left_out = row.get("left_out", 0)
        return {"by": self.names(row.get("by"), "by"), "values": values,
                "documents": self.numbers(row.get("documents"), "documents", len(values)),
                "leftOut": left_out if isinstance(left_out, int) else 0, **tables, **tests}

    def _tests(self, value: Any) -> list[float] | None:
        return None if not isinstance(value, list) or None in value else self.numbers(value, "trend", self._k)
