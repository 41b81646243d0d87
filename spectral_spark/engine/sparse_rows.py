"""Arrays of which a shard touched few rows, such as sums per node of a large tree, travel and add up as those rows."""

from collections.abc import Mapping

import numpy as np

from spectral_spark.data.touched_rows import FEWEST_ROWS, Rows, TouchedRows

_ROWS, _VALUES, _LENGTH = "@rows", "@values", "@length"
Partial = dict[str, Rows]


def thinned(state: Mapping[str, Rows]) -> Partial:
    """The state with its mostly empty arrays cut to the rows in use."""
    return {name: _thin(array) for name, array in state.items()}


def whole(state: Mapping[str, Rows]) -> dict[str, np.ndarray]:
    """The state as plain arrays."""
    return {name: array.whole() if isinstance(array, TouchedRows) else array for name, array in state.items()}


def added(left: Rows, right: Rows) -> Rows:
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


def flattened(state: Mapping[str, Rows]) -> dict[str, np.ndarray]:
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


def _thin(array: Rows) -> Rows:
    if isinstance(array, TouchedRows):
        return array
    plain: np.ndarray = np.ascontiguousarray(array, np.float64)
    if plain.ndim < 2 or len(plain) < FEWEST_ROWS:
        return plain
    rows = np.flatnonzero(plain.any(axis=tuple(range(1, plain.ndim))))
    return TouchedRows(rows, plain[rows], len(plain)) if 2 * len(rows) < len(plain) else plain
