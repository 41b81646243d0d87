"""Symmetric third and fourth moments with each distinct entry once.

Pairs (a, b) with a ≤ b are ordered by a, then b. A packed third moment holds the entries (i ≤ j ≤ l), a packed fourth
moment (i ≤ j ≤ l ≤ m), in lexicographic order: k(k+1)(k+2)/6 and k(k+1)(k+2)(k+3)/24 numbers.
"""

from functools import lru_cache
from math import comb

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


@lru_cache(maxsize=16)
def sorted_indices(k: int, order: int) -> np.ndarray:
    """The distinct entries of a symmetric tensor, int array of shape (order, entries), columns ascending."""
    if order == 2:
        return np.stack(pairs(k))
    shorter = sorted_indices(k, order - 1)
    counts = k - shorter[-1]
    last = np.concatenate([np.arange(start, k) for start in shorter[-1]])
    return np.vstack([np.repeat(shorter, counts, axis=1), last])


def packed_size(k: int, order: int) -> int:
    return comb(k + order - 1, order)


def positions(indices: np.ndarray, k: int) -> np.ndarray:
    """Where entries given by ascending columns of shape (order, n) stand in a packed tensor."""
    order = len(indices)
    strict = indices + np.arange(order)[:, None]              # combinations out of k + order − 1, none repeated
    total = k + order - 1
    table = np.array([[comb(n, r) for r in range(order + 1)] for n in range(total + 1)], dtype=np.int64)
    after = sum(table[total - 1 - strict[r], order - r] for r in range(order))
    return np.asarray(comb(total, order) - 1 - after)


def unpack_third(packed: np.ndarray, k: int) -> np.ndarray:
    """The symmetric tensor of shape (k, k, k)."""
    ascending = np.sort(np.indices((k, k, k)).reshape(3, -1), axis=0)
    return packed[positions(ascending, k)].reshape(k, k, k)


def unpack_fourth(packed: np.ndarray, k: int) -> np.ndarray:
    """The symmetric tensor as a matrix of shape (pairs, pairs)."""
    first, second = pairs(k)
    total = len(first)
    rows, columns = np.indices((total, total)).reshape(2, -1)
    ascending = np.sort(np.stack([first[rows], second[rows], first[columns], second[columns]]), axis=0)
    return packed[positions(ascending, k)].reshape(total, total)
