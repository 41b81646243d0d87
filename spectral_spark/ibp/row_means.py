"""First pass: the number of rows, their mean, and checks of the input."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.errors import InputError


@dataclass(frozen=True)
class MeanKernel:
    """Sums each column over its present values, less ``centre`` (d,) where one is shared.

    State: ``rows`` (1,), ``sum``, ``present``, ``infinite``, ``nonzero`` (d,).
    """

    width: int

    def start(self, shared: Mapping[str, np.ndarray]) -> "_MeanAccumulator":
        return _MeanAccumulator(self.width, shared.get("centre"))


class _MeanAccumulator:
    def __init__(self, width: int, centre: np.ndarray | None) -> None:
        self._rows, self._centre = 0, centre
        self._sum, self._present, self._infinite, self._nonzero = np.zeros((4, width))

    def add(self, batch: DenseBatch) -> None:
        values = batch.values
        self._rows += batch.n_rows
        self._nonzero += np.count_nonzero(values, axis=0)
        if self._centre is not None:
            values = np.subtract(values, self._centre, dtype=np.float64)
        total = values.sum(axis=0, dtype=np.float64)
        if np.isfinite(total).all():
            self._sum += total
            self._present += batch.n_rows
            return
        missing, infinite = np.isnan(values), np.isinf(values)
        self._sum += np.where(missing | infinite, 0.0, values).sum(axis=0, dtype=np.float64)
        self._present += batch.n_rows - missing.sum(axis=0)
        self._infinite += infinite.sum(axis=0)
        self._nonzero -= missing.sum(axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "rows": np.array([self._rows], dtype=np.float64),
            "sum": self._sum,
            "present": self._present,
            "infinite": self._infinite,
            "nonzero": self._nonzero,
        }


@dataclass(frozen=True, eq=False)
class ColumnMeans:
    """Mean of each column over its present values, of shape (d,), the rows, and how many values were missing."""

    rows: int
    mean: np.ndarray
    missing: np.ndarray

    @property
    def width(self) -> int:
        return len(self.mean)


def column_means(arrays: Mapping[str, np.ndarray], missing: str) -> ColumnMeans:
    """Means from the state of :class:`MeanKernel`.

    ``missing="refuse"`` raises when a value is missing; otherwise it is left out of its column's mean. Infinite
    values, empty columns, all-zero data and no data are refused either way.
    """
    rows = int(arrays["rows"][0])
    if rows == 0:
        raise InputError("there are no rows to fit; check the input and its filters")
    if arrays["infinite"].any():
        raise InputError(
            f"{int(arrays['infinite'].sum())} values are infinite, in {_columns(arrays['infinite'] > 0)}; "
            "replace them before fitting"
        )
    present = arrays["present"]
    absent = rows - present
    if missing == "refuse" and absent.any():
        raise InputError(
            f"{int(absent.sum())} values are missing (null or NaN), in {_columns(absent > 0)}; fill them, drop those "
            'rows, or set `missing="pairwise"` to work with the values that are there'
        )
    if (present == 0).any():
        raise InputError(f"no value at all in {_columns(present == 0)}; drop these columns")
    if not arrays["nonzero"].any():
        raise InputError(f"all {rows} rows of {len(present)} values are zero; there is nothing to find")
    return ColumnMeans(rows, arrays["sum"] / present, absent.astype(np.int64))


def refuse_constant(variance: np.ndarray, mean: np.ndarray) -> None:
    """Raise if a column is constant up to rounding, or too large to be squared."""
    beyond = ~np.isfinite(variance)
    if beyond.any():
        raise InputError(f"values too large to be squared in {_columns(beyond)}; divide all columns by a common number")
    constant = variance <= (1e-10 * np.abs(mean)) ** 2
    if constant.any():
        raise InputError(
            f"constant values in {_columns(constant)}; they carry no information and contradict noise of equal "
            "variance; drop these columns (on the command line, --drop-constant does)"
        )


def _columns(flags: np.ndarray, shown: int = 5) -> str:
    found = np.flatnonzero(flags)
    names = ", ".join(str(i) for i in found[:shown])
    more = f" and {len(found) - shown} more" if len(found) > shown else ""
    return f"column{'s' if len(found) > 1 else ''} {names}{more}"
