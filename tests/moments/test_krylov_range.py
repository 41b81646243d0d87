"""Block Krylov iteration: the best directions of all passes together."""

import numpy as np
import pytest

from spectral_spark.moments.krylov_range import KrylovRange
from spectral_spark.moments.range_finder import orthonormal

D, P = 200, 12


@pytest.fixture(scope="module")
def second_moment() -> np.ndarray:
    """A symmetric matrix whose spectrum falls slowly around the last wanted direction, as that of text does."""
    rng = np.random.default_rng(3)
    vectors = orthonormal(rng.standard_normal((D, D)))
    return (vectors * (1.0 / (1.0 + np.arange(D)) ** 0.7 * np.where(np.arange(D) % 7 == 3, -1.0, 1.0))) @ vectors.T


def searched(matrix: np.ndarray, passes: int, seed: int = 0, most_bytes: int = 1 << 30) -> KrylovRange:
    found = KrylovRange(P, P, seed, most_bytes)
    block = orthonormal(matrix @ np.random.default_rng(seed).standard_normal((D, P)))
    for _ in range(passes):
        found.add(block, matrix @ block)
        block = found.next_block()
    return found


def captured(matrix: np.ndarray, directions: np.ndarray) -> float:
    """The share of the P largest eigenvalues (by size) that the directions hold."""
    q = orthonormal(directions)
    best = np.sort(np.abs(np.linalg.eigvalsh(matrix)))[::-1][:P].sum()
    return float(np.abs(np.linalg.eigvalsh(q.T @ matrix @ q)).sum() / best)


def subspace_iteration(matrix: np.ndarray, passes: int) -> np.ndarray:
    block = orthonormal(matrix @ np.random.default_rng(0).standard_normal((D, P)))
    for _ in range(passes):
        block = matrix @ orthonormal(block)
    return block


def test_all_passes_together_capture_more_than_the_last_one(second_moment: np.ndarray) -> None:
    together = captured(second_moment, searched(second_moment, 4).directions())
    assert together > 0.995
    assert 1.0 - together < 0.5 * (1.0 - captured(second_moment, subspace_iteration(second_moment, 4)))


def test_the_directions_are_the_best_of_all_that_the_blocks_span(second_moment: np.ndarray) -> None:
    """Inner products are kept from block to block: the same as those of all blocks at once."""
    found, blocks = KrylovRange(P, P), []
    block = orthonormal(second_moment @ np.random.default_rng(0).standard_normal((D, P)))
    for _ in range(4):
        blocks.append(block)
        found.add(block, second_moment @ block)
        block = found.next_block()
    span = np.hstack(blocks)
    values, vectors = np.linalg.eigh(span.T @ second_moment @ span)
    best = second_moment @ span @ vectors[:, np.argsort(-np.abs(values))[:P]]
    one, other = orthonormal(best), orthonormal(found.directions())
    assert np.linalg.svd(one.T @ other, compute_uv=False).min() > 1.0 - 1e-10


def test_the_gain_tells_when_the_directions_no_longer_depend_on_the_seed(second_moment: np.ndarray) -> None:
    early, late = (searched(second_moment, passes) for passes in (2, 8))
    assert early.gain > 0.02 > 0.002 > late.gain >= -1e-12
    one, other = (orthonormal(searched(second_moment, 8, seed).directions())[:, : P // 2] for seed in (1, 2))
    assert np.linalg.svd(one.T @ other, compute_uv=False).min() > 0.999


def test_condensed_blocks_keep_their_best_directions(second_moment: np.ndarray) -> None:
    block = 8 * D * P
    condensed = searched(second_moment, 6, most_bytes=5 * block)
    assert captured(second_moment, condensed.directions()) > captured(
        second_moment, subspace_iteration(second_moment, 6)
    )


def test_a_wider_search_continues_from_what_was_found(second_moment: np.ndarray) -> None:
    found = searched(second_moment, 4)
    found.widen(2 * P, P)
    block = found.next_block()
    assert block.shape == (D, 2 * P)
    assert np.abs(block.T @ block - np.eye(2 * P)).max() < 1e-12
    found.add(block, second_moment @ block)
    assert found.directions().shape == (D, 2 * P)


def test_a_range_that_is_spanned_needs_no_further_block() -> None:
    rng = np.random.default_rng(0)
    few = orthonormal(rng.standard_normal((D, 5)))
    matrix = few @ np.diag([5.0, 4, 3, 2, 1]) @ few.T
    found, block = KrylovRange(8, 8), orthonormal(matrix @ rng.standard_normal((D, 8)))
    found.add(block, matrix @ block)
    assert found.next_block().shape[1] == 0
    directions = orthonormal(found.directions())
    assert np.abs(few - directions @ (directions.T @ few)).max() < 1e-9
