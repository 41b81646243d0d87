"""Symmetric fourth moments with each distinct entry once; second and third ones are in ``moments.symmetric_packing``.

Entries (i, j, l, m) with i ≤ j ≤ l ≤ m are in lexicographic order: k(k+1)(k+2)(k+3)/24 numbers.
"""

from functools import lru_cache
from math import comb

import numpy as np

from spectral_spark.moments.symmetric_packing import pair_indices, triple_indices


def quadruple_count(k: int) -> int:
    """Distinct entries of a symmetric (k, k, k, k) tensor."""
    return comb(k + 3, 4)


def pairs_before(k: int, j: int) -> int:
    """How many packed pairs have a first index below j."""
    return j * k - j * (j - 1) // 2


@lru_cache(maxsize=8)
def quadruple_indices(k: int) -> np.ndarray:
    """The four indices i ≤ j ≤ l ≤ m of each packed entry; int array of shape (4, entries)."""
    triples = np.stack(triple_indices(k))
    counts = k - triples[-1]
    last = np.concatenate([np.arange(start, k) for start in triples[-1]])
    return np.vstack([np.repeat(triples, counts, axis=1), last])


def unpack4(packed: np.ndarray, k: int) -> np.ndarray:
    """The symmetric tensor as a matrix of shape (pairs, pairs)."""
    first, second = pair_indices(k)
    total = len(first)
    rows, columns = np.indices((total, total)).reshape(2, -1)
    ascending = np.sort(np.stack([first[rows], second[rows], first[columns], second[columns]]), axis=0)
    return packed[_positions(ascending, k)].reshape(total, total)


def _positions(indices: np.ndarray, k: int) -> np.ndarray:
    """Where entries given by ascending columns of shape (4, n) stand in a packed tensor."""
    strict = indices + np.arange(4)[:, None]                  # combinations of 4 out of k + 3, none repeated
    total = k + 3
    table = np.array([[comb(n, r) for r in range(5)] for n in range(total + 1)], dtype=np.int64)
    after = sum(table[total - 1 - strict[r], 4 - r] for r in range(4))
    return np.asarray(comb(total, 4) - 1 - after)
