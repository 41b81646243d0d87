"""One round in one shard: mini-batches, steps, and arrays that add up."""

import pickle

import numpy as np
import pytest

from spectral_spark.refine import RefineKernel
from tests.refine.corpora import Drawn, batch_of, draw, noisy, part
from tests.refine.test_backends import loop_e_step


def shared_of(drawn: Drawn, rate: float = 0.3) -> dict[str, np.ndarray]:
    tokens = drawn.batch.counts.sum()
    return {
        "statistics": noisy(drawn.topics) * (tokens / 8),
        "node_prior": np.vstack([np.full(8, 1 / 8), 0.8 * drawn.groups + 0.2 / 8]),
        "concentration": np.full(5, 1.5), "node_weight": np.ones(5), "rate": np.array([rate]),
        "documents": np.array([float(drawn.batch.n_documents)]),
    }


def arrays_of(kernel: RefineKernel, shared: dict[str, np.ndarray], *batches: object) -> dict[str, np.ndarray]:
    accumulator = kernel.start(shared)
    for batch in batches:
        accumulator.add(batch)      # type: ignore[arg-type]
    return accumulator.arrays()


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_a_round_is_stepwise_em(backend: str) -> None:
    drawn = draw(70, seed=2)
    shared = shared_of(drawn)
    kernel = RefineKernel(batch_size=32, inner_iterations=5, smoothing=0.2, backend=backend)
    got = arrays_of(kernel, shared, drawn.batch)
    state = shared["statistics"].copy()
    for first in (0, 32, 64):
        mine = part(drawn.batch, np.arange(first, min(first + 32, 70)))
        topics = (state + 0.2) / (state + 0.2).sum(axis=0)
        gained, _, _ = loop_e_step(
            mine, topics, shared["node_prior"][mine.nodes], np.full(mine.n_documents, 1.5), 5
        )
        rate = 0.3 * mine.n_documents / 32
        state = (1 - rate) * state + rate * gained * 70 / mine.n_documents
    np.testing.assert_allclose(got["statistics"], state, atol=1e-5 * state.max())


def test_how_documents_arrive_does_not_matter() -> None:
    drawn = draw(150)
    shared, kernel = shared_of(drawn), RefineKernel(batch_size=32)
    whole = arrays_of(kernel, shared, drawn.batch)
    rows = np.arange(150)
    cut = [part(drawn.batch, piece) for piece in np.split(rows, [1, 1, 40, 96, 149])]
    for name, array in arrays_of(kernel, shared, *cut).items():
        np.testing.assert_array_equal(array, whole[name], err_msg=name)


def test_sums_over_documents() -> None:
    drawn = draw(100)
    got = arrays_of(RefineKernel(batch_size=32), shared_of(drawn), drawn.batch)
    assert got["documents"] == [100]
    assert got["shards"] == [1]
    assert got["tokens"] == [drawn.batch.counts.sum()]
    assert got["node_tables"].shape == (5, 8)
    per_node = np.bincount(drawn.batch.nodes, minlength=5)
    np.testing.assert_array_equal(got["node_tables"].sum(axis=1) > 0, per_node > 0)
    still = arrays_of(RefineKernel(batch_size=32, frozen=True), shared_of(drawn), drawn.batch)
    np.testing.assert_allclose(still["statistics"].sum(), drawn.batch.counts.sum(), rtol=1e-9)
    assert all(array.dtype == np.float64 for array in got.values())


def test_a_shard_without_documents_adds_nothing() -> None:
    drawn = draw(30)
    got = arrays_of(RefineKernel(), shared_of(drawn))
    assert all(not array.any() for array in got.values())
    assert got["statistics"].shape == (200, 8)


def test_documents_without_words_move_nothing() -> None:
    drawn = draw(30)
    shared = shared_of(drawn)
    empty = batch_of([np.array([], int)] * 3, np.array([1, 2, 0]), 200)
    got = arrays_of(RefineKernel(), shared, empty)
    np.testing.assert_allclose(got["statistics"], shared["statistics"])
    assert got["documents"] == [3]


def test_long_shards_do_not_underflow() -> None:
    drawn = draw(60)
    shared, kernel = shared_of(drawn, rate=0.9), RefineKernel(batch_size=1, inner_iterations=1)
    got = arrays_of(kernel, shared, *[drawn.batch] * 6)
    assert np.isfinite(got["statistics"]).all()
    still = arrays_of(RefineKernel(batch_size=32, frozen=True), shared_of(drawn), drawn.batch)
    np.testing.assert_allclose(still["statistics"].sum(), drawn.batch.counts.sum(), rtol=1e-9)


def test_shared_arrays_are_never_written() -> None:
    drawn = draw(50)
    shared = shared_of(drawn)
    for array in shared.values():
        array.setflags(write=False)
    before = {name: array.copy() for name, array in shared.items()}
    arrays_of(RefineKernel(batch_size=16), shared, drawn.batch)
    for name, array in before.items():
        np.testing.assert_array_equal(shared[name], array)


def test_the_kernel_travels() -> None:
    kernel = RefineKernel(batch_size=7, backend="numpy")
    assert pickle.loads(pickle.dumps(kernel)) == kernel
