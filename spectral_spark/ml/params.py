"""Parameters of SpectralHDP: declared, documented and checked once."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from pyspark.ml.param import Param, Params, TypeConverters

from spectral_spark.errors import SettingsError

SOLVERS = ("polar", "power", "als", "sketch")
WEIGHTINGS = ("tokens", "ess", "uniform")
RANK_RULES = ("noise-floor", "gap", "paper")
TENSORS = ("root", "groups")
AUTO = "auto"
DEFAULTS = {
    "k": AUTO, "featuresCol": "features", "pathCol": "path", "topicDistributionCol": "topicDistribution",
    "solver": "polar", "weighting": "tokens", "layers": "all", "concentrations": AUTO, "rankRule": "noise-floor",
    "tensors": "root", "basisSize": AUTO, "countCap": 16.0, "wordScaling": 0.25, "rangePasses": 2, "refinePasses": 2,
    "exploreSweeps": AUTO, "groupBalance": 0.0, "seed": 0,
}


def _choice(name: str, allowed: tuple[str, ...]) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in allowed:
            raise SettingsError(f"{name} is {value!r}; choose one of {', '.join(allowed)}")
        return str(value)

    return convert


def _whole(name: str, least: int, auto: bool = False) -> Callable[[Any], int | str]:
    def convert(value: Any) -> int | str:
        if auto and value == AUTO:
            return AUTO
        number = isinstance(value, int | float | np.integer) and not isinstance(value, bool)
        if not number or not isfinite(value) or value != int(value):
            wanted = f"a whole number of at least {least}" + (' or "auto"' if auto else "")
            raise SettingsError(f"{name} is {value!r}; give {wanted}")
        if value < least:
            raise SettingsError(f"{name} is {value}; the least is {least}")
        return int(value)

    return convert


def _number(name: str, least: float, most: float) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise SettingsError(f"{name} is {value!r}; give a number from {least:g} to {most:g}")
        return float(value)

    return convert


def _concentrations(value: Any) -> str | list[float]:
    """ "auto", "calibrated", or positive numbers, one per layer below the root."""
    if value in (AUTO, "calibrated"):
        return str(value)
    values = [value] if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(values, list | tuple) or not values:
        raise SettingsError(f'concentrations is {value!r}; give "auto", "calibrated" or numbers, one per layer')
    for number in values:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < float("inf"):
            raise SettingsError(f"concentrations has {number!r}; every concentration is a positive number")
    return [float(number) for number in values]


def _layers(value: Any) -> str | int:
    if value == "all":
        return "all"
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise SettingsError(f'layers is {value!r}; give "all", 2 (root and documents), 3 (one level of groups) or more')
    return value


def _words(value: Any) -> list[str]:
    words = list(value)
    for place, word in enumerate(words):
        if not isinstance(word, str):
            raise SettingsError(f"vocabulary has {word!r} at place {place}; it is a list of words, one per id")
    return words


def _param(name: str, doc: str, converter: Callable[[Any], Any] = TypeConverters.toString) -> Param:
    return Param(Params._dummy(), name, doc, converter)


class SpectralHDPParams(Params):
    """What a fit can be told. Every parameter has a default; see the table in :class:`SpectralHDP`."""

    k = _param("k", 'number of topics, or "auto"', _whole("k", 1, auto=True))
    featuresCol = _param("featuresCol", "Vector column of word counts")
    termsCol = _param("termsCol", "array column of word ids, with countsCol, instead of featuresCol")
    countsCol = _param("countsCol", "array column of counts, one per entry of termsCol")
    pathCol = _param("pathCol", "array<string> column: from the root's children down to the document's group")
    idCol = _param("idCol", "column that identifies a document; without it, its content does")
    topicDistributionCol = _param("topicDistributionCol", "Vector column that transform adds")
    vocabulary = _param("vocabulary", "the words, in the order of their ids", _words)
    vocabSize = _param("vocabSize", "number of words, where only arrays are given", _whole("vocabSize", 1))
    solver = _param("solver", "decomposition of the third moment: " + ", ".join(SOLVERS), _choice("solver", SOLVERS))
    weighting = _param(
        "weighting",
        "weight of a document: by its words (tokens), equal (ess), or each tree node averages its children (uniform)",
        _choice("weighting", WEIGHTINGS),
    )
    layers = _param("layers", 'layers of the tree to use: "all", 2 (no groups), 3, …', _layers)
    concentrations = _param(
        "concentrations",
        'of the layers below the root, top to documents: "auto" (learnt by the refinement; without it, chosen on the '
        'data), "calibrated" (from the moments) or numbers',
        _concentrations,
    )
    rankRule = _param(
        "rankRule", 'how k="auto" counts topics: ' + ", ".join(RANK_RULES), _choice("rankRule", RANK_RULES)
    )
    tensors = _param(
        "tensors",
        "decompose the root's moments (root), or the mean of the groups' tensors (groups: few and large ones)",
        _choice("tensors", TENSORS),
    )
    basisSize = _param(
        "basisSize", 'columns p of the basis; "auto" is a little more than k, or 128 for k="auto"',
        _whole("basisSize", 2, auto=True),
    )
    countCap = _param(
        "countCap", "a word counts at most this often in the moments of a document; 0 for no cap",
        _number("countCap", 0, float("inf")),
    )
    wordScaling = _param(
        "wordScaling", "exponent a of the word scaling (frequency)^-a of the basis", _number("wordScaling", 0, 1)
    )
    rangePasses = _param("rangePasses", "passes that find the basis", _whole("rangePasses", 1))
    refinePasses = _param("refinePasses", "passes of refinement after the spectral start", _whole("refinePasses", 0))
    exploreSweeps = _param(
        "exploreSweeps", "sweeps of sampling over a part of the documents before the passes of refinement; 0 for none, "
        '"auto" for 60, and up to 300 where documents are few', _whole("exploreSweeps", 0, auto=True),
    )
    groupBalance = _param(
        "groupBalance",
        "whom sampling and refinement serve, b from 0 (all documents alike) to 1 (all top-level groups of the tree "
        "alike, however many documents each has): a document counts in proportion to (documents of its group)^-b",
        _number("groupBalance", 0, 1),
    )
    checkpointDir = _param(
        "checkpointDir", "where finished passes are kept until the fit is done, so that a killed fit resumes"
    )
    seed = _param("seed", "of everything random", _whole("seed", 0))

    def _set_defaults(self) -> None:
        own = {name: value for name, value in DEFAULTS.items() if isinstance(getattr(type(self), name), Param)}
        self._setDefault(**own)             # a model has k and vocabSize as facts, not as parameters

    def _value(self, name: str) -> Any:
        """The value of a parameter, None when it has neither value nor default."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _validate_params(self) -> None:
        """Every check across parameters."""
        k, p = self._value("k"), self._value("basisSize")
        if k != AUTO and p != AUTO and k > p:
            raise SettingsError(f"k is {k} but the basis has {p} columns; raise basisSize to {k} or leave it to auto")
        vocabulary = self._value("vocabulary")
        if vocabulary is not None and k != AUTO and k > len(vocabulary):
            raise SettingsError(f"k is {k} but there are {len(vocabulary)} words; topics cannot outnumber words")
        if (self._value("termsCol") is None) != (self._value("countsCol") is None):
            raise SettingsError("termsCol and countsCol go together: give both or neither")
        concentrations, layers = self._value("concentrations"), self._value("layers")
        if isinstance(concentrations, list) and layers != "all" and len(concentrations) != layers - 1:
            raise SettingsError(
                f"concentrations has {len(concentrations)} numbers for {layers} layers; give {layers - 1}, one per "
                "layer below the root"
            )
        if concentrations == "calibrated" and layers != 2 and self._value("tensors") == "groups":
            raise SettingsError('concentrations="calibrated" needs the root\'s moments; use tensors="root"')
