"""Tables of results on the command line: aligned for people, CSV or JSON lines for other programs."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from spectral_spark.cli.flags import Flag
from spectral_spark.plain_text import no_formula, printable

FORMATS = ("table", "csv", "json")
FORMAT = Flag("format", "table (default), csv, or json with one object per line", choices=FORMATS)

_PERCENTAGES = frozenset((
    "share", "otherShare", "shareA", "shareB", "difference", "lower", "upper", "exclusivity", "seed_return",
    "half_return",
))
_DIGITS = {"npmi": 3, "logOdds": 2, "z": 2, "count": 0, "seconds": 1}        # 4 for all others

Rows = Sequence[dict[str, Any]]


def result_lines(rows: Rows, columns: Sequence[str], form: str | None) -> list[str]:
    """The rows in the form that was asked for; every name and label is shown as plain text."""
    if form == "json":
        return [_json(row) for row in rows]
    if form == "csv":
        return [csv_line(columns), *(csv_line([_cell(row[name]) for name in columns]) for row in rows)]
    return _aligned(rows, columns)


def _aligned(rows: Rows, columns: Sequence[str]) -> list[str]:
    shown = [[printable(_short(name, row[name])) for name in columns] for row in rows]
    widths = [max([len(name), *(len(line[at]) for line in shown)]) for at, name in enumerate(columns)]
    right = [any(isinstance(row[name], int | float) for row in rows) for name in columns]
    lines = [list(columns), *shown]
    return ["  ".join(f"{cell:>{width}}" if side else f"{cell:<{width}}"
                      for cell, width, side in zip(line, widths, right, strict=True)).rstrip() for line in lines]


def _short(name: str, value: Any) -> str:
    """A number as people read it: shares as percentages, all others with as many digits as they are known to."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2%}" if name in _PERCENTAGES else f"{value:.{_DIGITS.get(name, 4)}f}"
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(str, value)) or "/"
    return "" if value is None else str(value)


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float) else _plain(value)


def csv_line(values: Sequence[Any]) -> str:
    """One line of CSV; texts are plain text for terminals, and no formulas for spreadsheets."""
    buffer = io.StringIO()
    cells = [no_formula(printable(value)) if isinstance(value, str) else value for value in values]
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()


def _json(row: dict[str, Any]) -> str:
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return text if printable(text) == text else json.dumps(row, allow_nan=False)
