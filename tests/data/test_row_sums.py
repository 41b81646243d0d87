"""Sums of rows that share a target have the bits of one addition after the other."""

import numpy as np
import pytest

from spectral_spark.data.row_sums import add_to_rows


@pytest.mark.parametrize(("rows", "added", "width"), [(10, 300, 7), (500, 40, 3), (1, 2000, 1), (5, 0, 4)])
def test_rows_are_added_one_after_the_other(rows: int, added: int, width: int) -> None:
    rng = np.random.default_rng(0)
    targets = np.sort(rng.integers(0, rows, added))
    values, start = rng.standard_normal((added, width)), rng.standard_normal((rows, width))
    expected = start.copy()
    for target, value in zip(targets, values, strict=True):
        expected[target] += value
    add_to_rows(start, targets, values)
    assert start.tobytes() == expected.tobytes()


def test_single_numbers() -> None:
    total = np.array([1.0, 2.0, 4.0])
    add_to_rows(total, np.array([0, 2, 2]), np.array([10.0, 20.0, 30.0]))
    assert total.tolist() == [11.0, 2.0, 54.0]
