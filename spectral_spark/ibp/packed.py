"""Symmetric third and fourth moments, each distinct entry once, in the order the moment pass produces them.

Pairs (a, b) with a ≤ b are ordered by a, then b. For every j the entries (i, j, l) with i ≤ j ≤ l form a block of
shape (j + 1, k − j) of the third moment, and (i, j, (l, m)) with i ≤ j ≤ l ≤ m a block (j + 1, pairs from j on) of
the fourth; the blocks follow one another.
"""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=8)
def pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second index of the k(k+1)/2 pairs, in order."""
    return np.triu_indices(k)


@lru_cache(maxsize=8)
def pair_positions(k: int) -> np.ndarray:
    """Symmetric array of shape (k, k): the position of each pair."""
    first, second = pairs(k)
    table = np.zeros((k, k), dtype=np.int64)
    table[first, second] = table[second, first] = np.arange(len(first))
    return table


def pairs_before(k: int, j: int) -> int:
    """How many pairs have a first index below j."""
    return j * k - j * (j - 1) // 2


def block_shapes(k: int, order: int) -> list[tuple[int, int]]:
    """Shapes of the blocks of the third (``order`` 3) or fourth (4) moment."""
    total = k * (k + 1) // 2
    return [(j + 1, k - j if order == 3 else total - pairs_before(k, j)) for j in range(k)]


def packed_size(k: int, order: int) -> int:
    return sum(rows * columns for rows, columns in block_shapes(k, order))


def unpack_third(packed: np.ndarray, k: int) -> np.ndarray:
    """The symmetric tensor of shape (k, k, k)."""
    i, j, l = np.sort(np.indices((k, k, k)).reshape(3, -1), axis=0)
    return packed[_starts(k, 3)[j] + i * (k - j) + l - j].reshape(k, k, k)


def unpack_fourth(packed: np.ndarray, k: int) -> np.ndarray:
    """The symmetric tensor as a matrix of shape (pairs, pairs)."""
    first, second = pairs(k)
    total = len(first)
    rows, columns = np.indices((total, total)).reshape(2, -1)
    i, j, l, m = np.sort(np.stack([first[rows], second[rows], first[columns], second[columns]]), axis=0)
    before = j * k - j * (j - 1) // 2
    return packed[_starts(k, 4)[j] + i * (total - before) + pair_positions(k)[l, m] - before].reshape(total, total)


def _starts(k: int, order: int) -> np.ndarray:
    sizes = [rows * columns for rows, columns in block_shapes(k, order)]
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
