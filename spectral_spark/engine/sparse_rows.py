"""Arrays of which a shard touched few rows, such as sums per node of a large tree, travel and add up as those rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

FEWEST_ROWS = 4096           # smaller arrays stay whole
_ROWS, _VALUES, _LENGTH = "@rows", "@values", "@length"


@dataclass(frozen=True, eq=False)
class TouchedRows:
    """An array of ``length`` rows that are all zero but for ``values`` at ``rows`` (sorted)."""

    rows: np.ndarray
    values: np.ndarray
    length: int

    def whole(self) -> np.ndarray:
        array = np.zeros((self.length, *self.values.shape[1:]))
        array[self.rows] = self.values
        return array


Partial = dict[str, np.ndarray | TouchedRows]


def thinned(state: Mapping[str, np.ndarray]) -> Partial:
    """The state with its mostly empty arrays cut to the rows in use."""
    return {name: _thin(array) for name, array in state.items()}


def whole(state: Mapping[str, np.ndarray | TouchedRows]) -> dict[str, np.ndarray]:
    """The state as plain arrays."""
    return {name: array.whole() if isinstance(array, TouchedRows) else array for name, array in state.items()}


def added(left: np.ndarray | TouchedRows, right: np.ndarray | TouchedRows) -> np.ndarray | TouchedRows:
    """left + right, reusing the memory of a plain one."""
    if isinstance(left, TouchedRows) and isinstance(right, TouchedRows):
        rows = np.union1d(left.rows, right.rows)
        values = np.zeros((len(rows), *left.values.shape[1:]))
        values[np.searchsorted(rows, left.rows)] = left.values
        values[np.searchsorted(rows, right.rows)] += right.values
        return TouchedRows(rows, values, left.length)
    if isinstance(left, TouchedRows):
        left, right = right, left
    assert isinstance(left, np.ndarray)
    if isinstance(right, TouchedRows):
        left[right.rows] += right.values
        return left
    return np.add(left, right, out=left)


def flattened(state: Mapping[str, np.ndarray | TouchedRows]) -> dict[str, np.ndarray]:
    """Plain arrays that :func:`gathered` makes the same state of."""
    plain: dict[str, np.ndarray] = {}
    for name, array in state.items():
        if isinstance(array, TouchedRows):
            plain |= {name + _ROWS: array.rows, name + _VALUES: array.values, name + _LENGTH: np.array([array.length])}
        else:
            plain[name] = array
    return plain


def gathered(plain: Mapping[str, np.ndarray]) -> Partial:
    """The state that was :func:`flattened`."""
    thin = [name.removesuffix(_ROWS) for name in plain if name.endswith(_ROWS)]
    state: Partial = {name: array for name, array in plain.items() if not name.endswith((_ROWS, _VALUES, _LENGTH))}
    for name in thin:
        rows, length = plain[name + _ROWS].astype(np.int64), int(plain[name + _LENGTH][0])
        state[name] = TouchedRows(rows, plain[name + _VALUES], length)
    return state


def _thin(array: np.ndarray) -> np.ndarray | TouchedRows:
    if array.ndim < 2 or len(array) < FEWEST_ROWS:
        return array
    rows = np.flatnonzero(array.any(axis=tuple(range(1, array.ndim))))
    return TouchedRows(rows, array[rows], len(array)) if 2 * len(rows) < len(array) else array
