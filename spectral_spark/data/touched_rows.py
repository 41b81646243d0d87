"""Arrays of which a shard touches few rows, such as sums per node of a large tree: only those rows are kept."""

from dataclasses import dataclass

import numpy as np

FEWEST_ROWS = 4096           # smaller arrays stay whole


@dataclass(frozen=True, eq=False)
class TouchedRows:
    """An array of ``length`` rows that are all zero but for ``values`` at ``rows`` (sorted)."""

    rows: np.ndarray
    values: np.ndarray
    length: int

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.values.nbytes

    def whole(self) -> np.ndarray:
        array = np.zeros((self.length, *self.values.shape[1:]))
        array[self.rows] = self.values
        return array


Rows = np.ndarray | TouchedRows


class RowIndex:
    """Numbers the rows that are in use, in the order of their first use."""

    def __init__(self, length: int) -> None:
        self._length, self.used = length, 0 if length >= FEWEST_ROWS else length
        self._place = np.full(length, -1, np.int64) if length >= FEWEST_ROWS else None
        self._rows = np.zeros(64, np.int64)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """The place of each row; int array of the same shape."""
        if self._place is None:
            return rows
        new = np.unique(rows[self._place[rows] < 0])
        if len(new):
            self._place[new] = np.arange(self.used, self.used + len(new))
            self._rows = grown(self._rows, self.used + len(new))
            self._rows[self.used : self.used + len(new)] = new
            self.used += len(new)
        return self._place[rows]

    def spread(self, values: np.ndarray) -> Rows:
        """What was summed at these places, as an array of all rows or of those in use."""
        if self._place is None:
            return values[: self._length]
        rows = self._rows[: self.used]
        order = np.argsort(rows)
        return TouchedRows(rows[order], values[: self.used][order], self._length)


def grown(values: np.ndarray, rows: int) -> np.ndarray:
    """The array with room for so many rows, zeros at its end."""
    if len(values) >= rows:
        return values
    larger = np.zeros((max(rows, 2 * len(values)), *values.shape[1:]), values.dtype)
    larger[: len(values)] = values
    return larger
