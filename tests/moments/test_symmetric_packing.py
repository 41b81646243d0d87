"""Packed symmetric arrays."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from spectral_spark.moments.symmetric_packing import (
    pack2,
    pack_placements,
    pair_count,
    pair_indices,
    triple_count,
    triple_indices,
    unpack2,
    unpack3,
)
from spectral_spark.moments.third_moment import CubeSums, add_cubes

SIZES = [1, 2, 4, 7]


@pytest.mark.parametrize("p", SIZES)
def test_every_distinct_entry_once_in_order(p: int) -> None:
    triples = list(zip(*(index.tolist() for index in triple_indices(p)), strict=True))
    assert triples == list(combinations_with_replacement(range(p), 3))
    assert len(triples) == triple_count(p) == p * (p + 1) * (p + 2) // 6
    pairs = list(zip(*(index.tolist() for index in pair_indices(p)), strict=True))
    assert pairs == list(combinations_with_replacement(range(p), 2))
    assert len(pairs) == pair_count(p)


@pytest.mark.parametrize("p", SIZES)
def test_packing_is_undone(p: int) -> None:
    packed = np.arange(1.0, triple_count(p) + 1)
    tensor = unpack3(packed, p)
    assert np.array_equal(tensor[triple_indices(p)], packed)
    for axes in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        assert np.array_equal(tensor, tensor.transpose(axes))
    rows = np.arange(2.0 * pair_count(p)).reshape(2, -1)
    assert np.array_equal(pack2(unpack2(rows, p)), rows)


@pytest.mark.parametrize("p", SIZES)
def test_placements_sum_the_three_symmetric_positions(p: int) -> None:
    rng = np.random.default_rng(p)
    matrix, vector = rng.standard_normal((p, p)), rng.standard_normal(p)
    matrix = matrix + matrix.T
    placed = np.multiply.outer(matrix, vector)
    expected = placed + placed.transpose(0, 2, 1) + placed.transpose(2, 1, 0)
    found = unpack3(pack_placements(np.outer(pack2(matrix), vector), p), p)
    assert np.abs(found - expected).max() < 1e-14 * max(1.0, np.abs(expected).max()) * 4


@pytest.mark.parametrize("p", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("n", [1, 511, 513])
def test_cubes_with_several_weights(p: int, n: int) -> None:
    rng = np.random.default_rng(n)
    y, weights = rng.standard_normal((p, n)), [rng.random(n), rng.standard_normal(n)]
    targets = [CubeSums(p), CubeSums(p)]
    add_cubes(targets, y, weights)
    add_cubes(targets, y[:, :1].copy(), [np.ones(1), np.zeros(1)])
    for target, weight, extra in zip(targets, weights, (1.0, 0.0), strict=True):
        weight = weight + extra * (np.arange(n) == 0)
        expected = np.einsum("n,in,jn,ln->ijl", weight, y, y, y, optimize=True)
        assert np.abs(unpack3(target.packed(), p) - expected).max() < 1e-12 * np.abs(expected).max()
