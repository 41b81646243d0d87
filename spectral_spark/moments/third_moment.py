"""Σ w y⊗y⊗y over documents: the only computation that costs p³ per document, so it runs in BLAS.

Entry (i, j, l) with i ≤ j ≤ l is needed once. Columns j are taken in small blocks; for each, the products y_i y_j of
all i ≤ j are laid out row by row and multiplied with the weighted y_l of all l from the start of the block on. That is
p³/6 multiply-adds per document where all pairs against all l would be p³/2.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.linalg.blas import dgemm

from spectral_spark.moments.symmetric_packing import pair_count, pair_indices, triple_count

COLUMNS_PER_BLOCK = 4
DOCUMENTS_PER_BLOCK = 512


class CubeSums:
    """Accumulates Σ w y⊗y⊗y in float64."""

    def __init__(self, p: int) -> None:
        self.p = p
        self._sums = np.zeros(_blocks(p)[-1][3])

    def block(self, number: int) -> np.ndarray:
        """Block ``number`` of the sums, a view of shape (pairs in the block, p − first column)."""
        first, rows, start, stop = _blocks(self.p)[number]
        return self._sums[start:stop].reshape(rows, self.p - first)

    def packed(self) -> np.ndarray:
        """The sum so far, packed; array of shape (triples,).

        Entries (i, j, l) of one i are packed together, in the order of the pairs (j, l): a table of pairs is enough.
        """
        sources, strides = _pair_sources(self.p)
        packed, start = np.empty(triple_count(self.p)), 0
        for i in range(self.p):
            pairs = slice(len(sources) - pair_count(self.p - i), None)                 # those with j ≥ i
            stop = start + pair_count(self.p - i)
            packed[start:stop] = self._sums[sources[pairs] + i * strides[pairs]]
            start = stop
        return packed


def add_cubes(targets: Sequence[CubeSums], y: np.ndarray, weights: Sequence[np.ndarray]) -> None:
    """Add the documents to every target, each with its own weights; the pairs y_i y_j are formed once for all.

    Parameters
    ----------
    targets : accumulators of the same p.
    y : array of shape (p, n), one column per document, C order.
    weights : for each target an array of shape (n,).
    """
    p, n = y.shape
    blocks = _blocks(p)
    buffer = np.empty(max(block[1] for block in blocks) * min(n, DOCUMENTS_PER_BLOCK))
    for at in range(0, n, DOCUMENTS_PER_BLOCK):
        part = np.ascontiguousarray(y[:, at : at + DOCUMENTS_PER_BLOCK])
        weighted = [part * weight[at : at + DOCUMENTS_PER_BLOCK] for weight in weights]
        for number, (first, rows, _, _) in enumerate(blocks):
            pairs = buffer[: rows * part.shape[1]].reshape(rows, -1)
            row = 0
            for j in range(first, min(first + COLUMNS_PER_BLOCK, p)):
                np.multiply(part[: j + 1], part[j], out=pairs[row : row + j + 1])
                row += j + 1
            for target, scaled in zip(targets, weighted, strict=True):
                _accumulate(target.block(number), pairs, scaled[first:])


def _accumulate(sums: np.ndarray, pairs: np.ndarray, scaled: np.ndarray) -> None:
    """sums += pairs @ scaledᵀ in place. All views are transposed because BLAS wants Fortran order: no copies."""
    dgemm(1.0, scaled.T, pairs.T, 1.0, sums.T, trans_a=1, overwrite_c=1)


@lru_cache(maxsize=8)
def _blocks(p: int) -> list[tuple[int, int, int, int]]:
    """(first column, rows, start, stop) of each block in the flat buffer of sums."""
    blocks, start = [], 0
    for first in range(0, p, COLUMNS_PER_BLOCK):
        rows = sum(j + 1 for j in range(first, min(first + COLUMNS_PER_BLOCK, p)))
        stop = start + rows * (p - first)
        blocks.append((first, rows, start, stop))
        start = stop
    return blocks


@lru_cache(maxsize=8)
def _pair_sources(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Where entry (0, j, l) lies in the flat buffer of sums, and how far apart (i, j, l) and (i + 1, j, l) are; two int
    arrays of shape (pairs,) in the order of packed pairs (j, l)."""
    j, l = pair_indices(p)
    first = j - j % COLUMNS_PER_BLOCK
    starts = np.array([block[2] for block in _blocks(p)])[j // COLUMNS_PER_BLOCK]
    above = (j * (j + 1) - first * (first + 1)) // 2
    return starts + above * (p - first) + l - first, p - first
