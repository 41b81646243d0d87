"""Values of a column as groups of documents: text as it is, numbers in bins of equal size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    NumericType,
    StructType,
)

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError, SettingsError

MISSING = "(missing)"
MOST_VALUES = 10_000           # each has five sums per topic
MOST_BINS = 200


@dataclass(frozen=True)
class ColumnGroups:
    """A column that sorts documents into groups.

    Attributes
    ----------
    value : the group of a document, a text column.
    name : what a group is called; position : where it stands on the axis of a trend, None for a missing value.
    """

    value: Column
    name: Callable[[str], str]
    position: Callable[[str], float | None]


def column_groups(frame: DataFrame, names: Sequence[str], bins: int | None) -> ColumnGroups:
    """The groups of one column, or of the combinations of several."""
    if not names:
        raise SettingsError("`by` is empty; name a column")
    if len(names) == 1:
        return _single(frame, names[0], bins)
    if bins is not None:
        raise SettingsError("`bins` takes one column of numbers; name a single column in `by`")
    parts = [_single(frame, name, None).value for name in names]
    return ColumnGroups(F.concat_ws(" · ", *parts), str, lambda value: None)


def _single(frame: DataFrame, name: str, bins: int | None) -> ColumnGroups:
    """The groups of a column; one that is not there is answered with the nearest that is."""
    if name not in frame.columns:
        hint = nearest(name, frame.columns) or f"; the columns are {', '.join(frame.columns)}"
        raise InputError(f"there is no column '{name}' (`by`){hint}")
    kind, column = frame.schema[name].dataType, F.col("`" + name.replace("`", "``") + "`")
    if isinstance(kind, ArrayType | BinaryType | MapType | StructType):
        raise InputError(f"column '{name}' is {kind.simpleString()}; `by` takes text, numbers or dates")
    if bins is not None:
        if not isinstance(kind, NumericType):
            raise SettingsError(f"`bins` needs a column of numbers; '{name}' is {kind.simpleString()}")
        if not 2 <= bins <= MOST_BINS:
            raise SettingsError(f"`bins` is {bins}; give a whole number from 2 to {MOST_BINS}")
        return _binned(frame, name, _finite(column, kind), bins)
    return ColumnGroups(F.coalesce(_finite(column, kind).cast("string"), F.lit(MISSING)), str, _number)


def _finite(column: Column, kind: DataType) -> Column:
    """The column with null for NaN and for numbers without end, which have no place on an axis."""
    if not isinstance(kind, FloatType | DoubleType):
        return column
    return F.when(~F.isnan(column) & (F.abs(column) < float("inf")), column)


def _binned(frame: DataFrame, name: str, column: Column, bins: int) -> ColumnGroups:
    values = frame.select(column.cast("double").alias(name))
    shares = [number / bins for number in range(bins + 1)]
    edges = sorted(set(values.approxQuantile([name], shares, 0.0)[0]))
    if len(edges) < 2:
        raise InputError(f"column '{name}' has fewer than two different numbers, so it has no bins")
    inner = F.array(*map(F.lit, edges[1:-1])) if len(edges) > 2 else F.array().cast("array<double>")
    place = F.size(F.filter(inner, lambda edge: edge <= column.cast("double")))
    value = F.when(column.isNull(), F.lit(MISSING)).otherwise(place.cast("string"))

    def called(group: str) -> str:
        at = int(group) if group != MISSING else -1
        return group if at < 0 else f"{edges[at]:g} to {edges[at + 1]:g}"

    def middle(group: str) -> float | None:
        return None if group == MISSING else float(np.mean(edges[int(group) : int(group) + 2]))

    return ColumnGroups(value, called, middle)


def in_order(values: list[str], position: Callable[[str], float | None]) -> tuple[list[str], list[float | None]]:
    """The groups in the order of a trend, and where they stand: numbers by size, other text by its letters."""
    if len(values) > MOST_VALUES:
        raise InputError(f"`by` has {len(values):,} different values, more than {MOST_VALUES:,}; use `bins`, or a "
                         "coarser column")
    places = {value: position(value) for value in values}
    if all(place is not None for value, place in places.items() if value != MISSING):
        ordered = sorted(values, key=lambda value: (places[value] is None, places[value] or 0.0))
        return ordered, [places[value] for value in ordered]
    ordered = sorted(values, key=lambda value: (value == MISSING, value))
    return ordered, [None if value == MISSING else float(at) for at, value in enumerate(ordered)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
