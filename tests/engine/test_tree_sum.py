"""The fixed summation tree gives the same bits for every way of splitting the shards over tasks."""

import numpy as np
import pytest

from spectral_spark.engine.tree_sum import TreeSum, add_states, power_of_two


def shard_states(count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [{"x": rng.standard_normal(5) * 10.0 ** rng.integers(-8, 8), "n": np.ones(1)} for _ in range(count)]


def summed(states: list[dict[str, np.ndarray]], groups: list[list[int]], depth: int) -> np.ndarray:
    final = TreeSum()
    for group in groups:
        task = TreeSum()
        for shard in group:
            task.push(0, shard, {name: array.copy() for name, array in states[shard].items()})
        for level, position, state in task.nodes():
            final.push(level, position, state)
    total = final.finish(depth)
    assert total is not None
    return total["x"]


@pytest.mark.parametrize("missing", [set(), {0}, {3, 4, 5}, set(range(8)), {1, 6, 9, 15}])
def test_same_bits_for_any_assignment_of_shards_to_tasks(missing: set[int]) -> None:
    states = shard_states(16)
    present = [shard for shard in range(16) if shard not in missing]
    whole = summed(states, [present], 4)
    rng = np.random.default_rng(1)
    for tasks in (2, 3, 7, 16):
        owner = rng.integers(tasks, size=16)
        groups = [[s for s in rng.permutation(present) if owner[s] == task] for task in range(tasks)]
        assert summed(states, groups, 4).tobytes() == whole.tobytes()
    np.testing.assert_allclose(whole, sum(states[s]["x"] for s in present), rtol=1e-9)


@pytest.mark.parametrize("count", [8, 7, 3])
def test_halves_add_up_to_the_whole(count: int) -> None:
    states = shard_states(8)
    sums = TreeSum(top=2)
    for shard in range(count):
        sums.push(0, shard, {name: array.copy() for name, array in states[shard].items()})
    left, right = sums.halves(3)
    assert left is not None
    whole = summed(states, [list(range(count))], 3)
    assert left["n"][0] == min(count, 4)
    assert (left["x"] + right["x"] if right is not None else left["x"]).tobytes() == whole.tobytes()


def test_a_shard_given_twice_is_refused() -> None:
    sums = TreeSum()
    sums.push(0, 2, {"x": np.ones(1)})
    with pytest.raises(ValueError, match="twice"):
        sums.push(0, 2, {"x": np.ones(1)})


def test_states_of_different_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        add_states({"x": np.ones(1)}, {"y": np.ones(1)})


def test_power_of_two() -> None:
    assert [power_of_two(v) for v in (0, 1, 1.5, 2, 3, 64, 65)] == [1, 1, 2, 2, 4, 64, 128]
