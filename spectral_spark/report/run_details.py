"""Under the hood: the run report as tables, whatever it contains."""

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.summary_text import fit_settings

_EXPLAINED = {
    "solver": "how the topics were found from the moments",
    "residual": "part of the third-moment tensor the topics do not explain; 0 is perfect",
    "weighting": "how much a document counts in the moments",
    "effective_sample_size": "how many equally weighted documents the weighted ones are worth",
    "noise_floor": "spectrum values below this look like chance",
    "rank_reason": "why this number of topics",
    "delta": "chance that one of the bounds is broken",
    "independent_documents": "how many equally weighted documents the bounds given the groups rest on",
    "independent_groups": "how many equally weighted top-level groups those of the root rest on",
    "smallest_eigenvalue": "the k-th of the corrected second moment over words",
    "seed": "the same seed and data give the same model",
}
_OVERVIEW = ("k", "rank_reason", "documents", "terms", "tokens", "effective_sample_size", "weighting", "solver",
             "residual", "noise_floor", "condition", "seed")
_ELSEWHERE = {"spectrum", "passes", "versions", "bounds", "concentrations", "seconds", "dropped",
              "settings"}


class Row(NamedTuple):
    """One line: a name, its value in words, and what it means when that is not obvious."""

    name: str
    value: str
    meaning: str = ""


class Table(NamedTuple):
    """A titled table of the folded part."""

    title: str
    rows: list[Row]
    note: str = ""


def hood_tables(files: TopicModelFiles) -> list[Table]:
    """The tables that have something to say, in reading order."""
    summary = files.summary
    rest = {key: value for key, value in summary.items() if key not in {*_OVERVIEW, *_ELSEWHERE}}
    rest["extra"] = {key: value for key, value in _mapping(summary.get("extra"), "extra").items() if key != "warnings"}
    tables = [
        Table("The fit", _rows({key: summary[key] for key in _OVERVIEW if key in summary})),
        Table("Concentrations", _concentrations(summary.get("concentrations")),
              "Small: a document keeps to few topics, a group to few themes. Large: children resemble their parent."),
        Table("Bounds", _bounds(_mapping(summary.get("bounds"), "bound")),
              "Up to the stated chance, the measured moments of word frequencies are no further than this from those "
              "of infinitely many documents of the same groups and, for the root, of new groups. No two moments are "
              "further apart than 1.41."),
        Table("Time", _rows(_mapping(summary.get("seconds"), "total"), unit=" s")),
        Table("Dropped", _rows(_mapping(summary.get("dropped"), "documents"))),
        Table("Evaluation", _rows({k: v for k, v in (files.evaluation or {}).items() if k != "nodes"})),
        Table("Settings", _rows(fit_settings(files))),
        Table("Further", _rows(rest)),
        Table("Versions", _rows(_mapping(summary.get("versions"), "version"))),
    ]
    return [table for table in tables if table.rows]


_BOUNDED = {
    "moments": "first, second and third moments, given the groups",
    "tensor": "corrected second moment, given the groups",
    "third_tensor": "corrected third moment, given the groups",
    "root_moments": "moments of the root: only whole top-level groups are independent of each other",
    "root_tensor": "corrected second moment of the root",
    "root_third_tensor": "corrected third moment of the root",
}
_FURTHEST = sqrt(2.0)       # no two moments are further apart
_RECONSTRUCTED = {
    "whitening": "error of the second moment relative to its smallest eigenvalue; the theorems need less than 1",
    "whitened_tensor": "error of the tensor that is decomposed",
    "smallest_tensor_eigenvalue": "the theorems need an error of the tensor below 0.414 times this",
    "weights": "largest error of a topic's weight",
    "topics": "largest distance of a topic to the true one, in the basis",
}


def _bounds(bounds: Mapping[str, Any]) -> list[Row]:
    """The bounds, with "vacuous here" where they exclude nothing."""
    rows = []
    for name, value in bounds.items():
        if name == "reconstruction" and isinstance(value, Mapping):
            rows += _reconstruction(value)
        elif name in _BOUNDED and isinstance(value, float) and value >= _FURTHEST:
            shown, why = f"{value_text(value)} (vacuous here)", _too_few(name, bounds)
            rows.append(Row(name.replace("_", " "), shown, f"{_BOUNDED[name]}; {why}"))
        else:
            rows.append(Row(name.replace("_", " "), value_text(value), _BOUNDED.get(name, _EXPLAINED.get(name, ""))))
    return rows


def _too_few(name: str, bounds: Mapping[str, Any]) -> str:
    """Why a bound excludes nothing; reports of older models do not know how much it rests on."""
    of, what = ("groups", "top-level groups") if name.startswith("root_") else ("documents", "documents")
    number = bounds.get(f"independent_{of}")
    rests = f"a sample worth {value_text(float(number))} equal, independent {what}" if isinstance(number, int | float) \
        and not isinstance(number, bool) else f"so few independent {what}"
    return f"it excludes nothing, because {rests} says too little"


def _reconstruction(found: Mapping[str, Any]) -> list[Row]:
    """The theorems on topics and their weights with what they need, and whether they have it."""
    missing = found.get("missing")
    rows = []
    for name, meaning in _RECONSTRUCTED.items():
        value = found.get(name)
        if value is None and name in ("weights", "topics"):
            rows.append(Row(f"reconstructed {name}", "vacuous here", str(missing or "")))
        elif value is not None:
            shown = f"reconstructed {name}" if name in ("weights", "topics") else name.replace("_", " ")
            rows.append(Row(shown, value_text(value), meaning))
    return rows


def value_text(value: Any) -> str:
    """A JSON value as a reader would write it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(value_text(item) for item in value[:12])
        return f"{shown}, … ({len(value):,} in all)" if len(value) > 12 else shown or "–"
    return str(value)


def _rows(values: Mapping[str, Any], unit: str = "", prefix: str = "") -> list[Row]:
    rows: list[Row] = []
    for key, value in values.items():
        name = f"{prefix}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping):
            rows += _rows(value, unit, f"{name} › ")
        elif key == "seed" and isinstance(value, int):
            rows.append(Row(name, str(value), _EXPLAINED["seed"]))
        else:
            suffix = unit if isinstance(value, int | float) else ""
            rows.append(Row(name, value_text(value) + suffix, _EXPLAINED.get(str(key), "")))
    return rows


def _concentrations(values: Any) -> list[Row]:
    if not isinstance(values, list | tuple):
        return _rows(_mapping(values, "value"))
    names = [*(f"groups on level {level}" for level in range(1, len(values))), "documents"] if values else []
    return [Row(name, value_text(value)) for name, value in zip(names, values, strict=True)]


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {} if value is None else {name: value}
