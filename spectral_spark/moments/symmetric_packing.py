"""Symmetric matrices and 3-tensors stored with every distinct entry once: p(p+1)/2 and p(p+1)(p+2)/6 numbers.

Entries (i, j) with i ≤ j, and (i, j, l) with i ≤ j ≤ l, are in lexicographic order.
"""

from functools import lru_cache

import numpy as np


def pair_count(p: int) -> int:
    """Distinct entries of a symmetric (p, p) matrix."""
    return p * (p + 1) // 2


def triple_count(p: int) -> int:
    """Distinct entries of a symmetric (p, p, p) tensor."""
    return p * (p + 1) * (p + 2) // 6


@lru_cache(maxsize=8)
def pair_indices(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each packed entry of a symmetric matrix; two int arrays of shape (pairs,)."""
    rows, columns = np.triu_indices(p)
    return _frozen(rows), _frozen(columns)


@lru_cache(maxsize=8)
def pair_positions(p: int) -> np.ndarray:
    """Symmetric int array of shape (p, p): where each entry of a symmetric matrix is packed."""
    rows, columns = pair_indices(p)
    positions = np.empty((p, p), dtype=np.int64)
    positions[rows, columns] = positions[columns, rows] = np.arange(len(rows))
    return _frozen(positions)


@lru_cache(maxsize=8)
def triple_indices(p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three indices i ≤ j ≤ l of each packed entry; int arrays of shape (triples,)."""
    rows, columns = pair_indices(p)
    per_pair = p - columns
    starts = np.cumsum(per_pair) - per_pair
    last = np.arange(triple_count(p)) - np.repeat(starts - columns, per_pair)
    return _frozen(np.repeat(rows, per_pair)), _frozen(np.repeat(columns, per_pair)), _frozen(last)


def pair_products(columns: np.ndarray) -> np.ndarray:
    """x_i x_j for all i ≤ j, in the order of packed pairs: (p, n) → (pairs, n)."""
    p = len(columns)
    products = np.empty((pair_count(p), columns.shape[1]))
    start = 0
    for i in range(p):
        np.multiply(columns[i:], columns[i], out=products[start : start + p - i])
        start += p - i
    return products


def pack2(matrix: np.ndarray) -> np.ndarray:
    """Upper triangles of symmetric matrices: (..., p, p) → (..., pairs)."""
    rows, columns = pair_indices(matrix.shape[-1])
    return matrix[..., rows, columns]


def unpack2(packed: np.ndarray, p: int) -> np.ndarray:
    """(..., pairs) → symmetric (..., p, p)."""
    return packed[..., pair_positions(p)]


def unpack3(packed: np.ndarray, p: int) -> np.ndarray:
    """(triples,) → symmetric (p, p, p). Entries with the lowest index i are packed together: no array of indices."""
    tensor, start = np.empty((p, p, p)), 0
    for i in range(p):
        stop = start + pair_count(p - i)
        part = unpack2(packed[start:stop], p - i)
        tensor[i, i:, i:] = tensor[i:, i, i:] = tensor[i:, i:, i] = part
        start = stop
    return tensor


def pack_placements(pairs_by_vector: np.ndarray, p: int) -> np.ndarray:
    """Packed sym3 of Σ A ⊗ h, given its rows over the packed pairs of A: (pairs, p) → (triples,).

    sym3 sums the three placements: out_ijl = K_(ij)l + K_(il)j + K_(jl)i.
    """
    placed, start, first = np.empty(triple_count(p)), 0, 0
    for i in range(p):
        rows, columns = np.triu_indices(p - i)
        mixed = pairs_by_vector[first : first + p - i, i:]                          # K_(ij)l for j, l ≥ i
        stop = start + len(rows)
        placed[start:stop] = mixed[rows, columns]
        placed[start:stop] += mixed[columns, rows]
        placed[start:stop] += pairs_by_vector[first:, i]                            # the pairs (j, l) with j ≥ i
        start, first = stop, first + p - i
    return placed


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
