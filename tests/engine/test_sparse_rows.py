"""Mostly empty arrays as their rows: the same sums, through flattening and back."""

import numpy as np
import pyarrow as pa
import pytest

from spectral_spark.engine import partial_states
from spectral_spark.engine.partial_states import assemble, encode
from spectral_spark.engine.sparse_rows import FEWEST_ROWS, TouchedRows, added, flattened, gathered, thinned, whole
from spectral_spark.engine.tree_sum import TreeSum

LENGTH = FEWEST_ROWS


def array(seed: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.zeros((LENGTH, 3))
    values[rng.choice(LENGTH, rows, replace=False)] = rng.standard_normal((rows, 3))
    return values


@pytest.mark.parametrize(("one", "two"), [(40, 60), (40, LENGTH), (LENGTH, 40), (LENGTH, LENGTH), (0, 40)])
def test_sums_are_those_of_whole_arrays(one: int, two: int) -> None:
    left, right = array(1, one), array(2, two)
    expected = left + right
    got = added(thinned({"x": left.copy()})["x"], thinned({"x": right.copy()})["x"])
    assert np.array_equal(whole({"x": got})["x"], expected)


def test_only_mostly_empty_large_arrays_are_cut() -> None:
    state = thinned({"thin": array(1, 40), "full": array(2, LENGTH), "small": np.zeros((5, 3)), "flat": np.zeros(9999)})
    assert [name for name, part in state.items() if isinstance(part, TouchedRows)] == ["thin"]
    again = gathered({name: part.astype(float) for name, part in flattened(state).items()})
    assert again.keys() == state.keys()
    for name, part in whole(again).items():
        assert np.array_equal(part, whole(state)[name])


@pytest.mark.parametrize("rows", [0, 40, LENGTH])
def test_states_survive_the_way_to_the_driver(rows: int) -> None:
    state = thinned({"x": array(1, rows), "flat": np.arange(3.0)})
    table = pa.Table.from_batches(list(encode(1, 0, flattened(state))))
    got = assemble([table], top=1).finish(1)
    assert got is not None
    assert np.array_equal(got["x"], array(1, rows))
    assert np.array_equal(got["flat"], np.arange(3.0))


def test_a_tree_sum_of_rows_does_not_depend_on_the_tasks() -> None:
    shards = [array(seed, 30) for seed in range(8)]
    sums = []
    for tasks in ([range(8)], [range(0, 8, 2), range(1, 8, 2)], [[7], [0, 3], [1, 2, 4, 5, 6]]):
        final = TreeSum()
        for task in tasks:
            part = TreeSum()
            for shard in task:
                part.push(0, shard, thinned({"x": shards[shard].copy()}))
            for level, position, state in part.nodes():
                final.push(level, position, gathered(flattened(state)))
        result = final.finish(3)
        assert result is not None
        sums.append(result["x"].tobytes())
    assert len(set(sums)) == 1


def test_a_row_longer_than_a_part_travels_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third moment is one row: as one cell it would not pass 2 GiB, nor the limit of results."""
    monkeypatch.setattr(partial_states, "PART_BYTES", 64)
    rng = np.random.default_rng(0)
    state = {"third": rng.random((1, 21)), "words": rng.random((5, 3)), "wide": rng.random((2, 11)),
             "none": np.zeros((0, 3))}
    rows = list(encode(0, 0, state))
    assert max(batch.column("data")[0].as_buffer().size for batch in rows) <= 64
    found = assemble([pa.Table.from_batches(rows)], 1).finish(0)
    assert found is not None
    assert found.keys() == state.keys()
    assert all(np.array_equal(found[name], state[name]) for name in state)
