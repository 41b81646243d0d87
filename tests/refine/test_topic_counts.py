"""Topic-word counts between two sweeps: blocks and threads change no bit, and sums fit into their type."""

import numpy as np
import pytest

from spectral_spark.refine.fixed_point import LIKELIHOOD_STEPS
from spectral_spark.refine.topic_counts import by_blocks, count_type, likelihood_steps, thread_number


@pytest.mark.parametrize(("words", "k"), [(1, 1), (50, 3), (3001, 700), (9000, 37)])
def test_blocks_and_threads_change_no_bit_of_the_likelihoods(words: int, k: int) -> None:
    rng = np.random.default_rng(k)
    counts = (rng.gamma(0.05, size=(words, k)) * 2**20).astype(np.uint32)
    shares = (counts / 64).astype(np.float32) + np.float32(0.05)
    shares *= (1.0 / shares.sum(axis=0, dtype=np.float64)).astype(np.float32)
    expected = np.rint(shares * (np.float32(LIKELIHOOD_STEPS) / shares.max(axis=1, keepdims=True)))
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(likelihood_steps(counts, 0.05, unit=64, threads=threads), expected)
        np.testing.assert_array_equal(likelihood_steps(counts / 64, 0.05, threads=threads), expected)


@pytest.mark.parametrize("threads", [1, 4])
def test_every_row_is_worked_on_once(threads: int) -> None:
    seen = np.zeros((5000, 300), int)

    def visit(rows: slice) -> None:
        seen[rows] += 1

    by_blocks(seen.shape, threads, visit)
    assert (seen == 1).all()


def test_sums_are_narrow_as_long_as_they_fit_and_few_threads_have_large_ones() -> None:
    assert count_type(2**32 - 1) is np.uint32
    assert count_type(2**32) is np.int64
    assert thread_number(2, 20_290 * 1000, np.uint32) == 2          # a thousand topics on both of two cores
    assert thread_number(64, 20_290 * 1000, np.uint32) == 10
    assert thread_number(64, 1000, np.int64) == 64
    assert thread_number(0, 0, np.int64) == 1
