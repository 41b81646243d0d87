"""Sums that are the same, bit for bit, however the work was split.

The logical shards 0 … S−1 (S a power of two) are the leaves of a fixed binary tree, and a state is always the sum
left + right at every inner node of that tree; a node with one empty side is its other side. A task that holds some of
the shards adds what it can of that tree and passes the rest on: any assignment of shards to tasks gives the same bits.
"""

from collections.abc import Iterator

import numpy as np

from spectral_spark.engine.sparse_rows import Partial, added, whole

State = dict[str, np.ndarray]


def add_states(left: Partial, right: Partial) -> Partial:
    """left + right, reusing their arrays. Both must have the same names and shapes."""
    if left.keys() != right.keys():
        raise ValueError(f"states differ in their arrays: {sorted(left)} and {sorted(right)}")
    return {name: added(array, right[name]) for name, array in left.items()}


class TreeSum:
    """States at nodes (level, position) of the fixed tree, merged with their sibling as soon as both are there.

    Parameters
    ----------
    top : the level at which merging stops; one below the root keeps the two half samples apart.
    """

    def __init__(self, top: int | None = None) -> None:
        self._top = top
        self._nodes: dict[tuple[int, int], Partial] = {}

    def push(self, level: int, position: int, state: Partial) -> None:
        """Add the state of a node; (0, s) is shard s. The sum takes over the arrays and may change them."""
        while level != self._top and (level, position ^ 1) in self._nodes:
            sibling = self._nodes.pop((level, position ^ 1))
            state = add_states(sibling, state) if position & 1 else add_states(state, sibling)
            level, position = level + 1, position >> 1
        if (level, position) in self._nodes:
            raise ValueError(f"node {(level, position)} of the sum was given twice")
        self._nodes[level, position] = state

    def nodes(self) -> Iterator[tuple[int, int, Partial]]:
        """The states that could not be merged yet, in a fixed order."""
        for level, position in sorted(self._nodes):
            yield level, position, self._nodes[level, position]

    def finish(self, depth: int) -> State | None:
        """The state of the root of a tree of 2**depth shards; None when no shard had any documents."""
        return _whole(self._lift(depth).get(0))

    def halves(self, depth: int) -> tuple[State | None, State | None]:
        """The states of the two children of the root: two half samples of the documents."""
        sides = self._lift(depth - 1)
        return _whole(sides.get(0)), _whole(sides.get(1))

    def _lift(self, depth: int) -> dict[int, Partial]:
        """Merge all levels below ``depth``; a node without a sibling moves up as it is."""
        current: dict[int, Partial] = {}
        for level in range(depth + 1):
            for (at, position), state in list(self._nodes.items()):
                if at == level:
                    current[position] = state
                    del self._nodes[at, position]
            if level == depth:
                break
            parents: dict[int, Partial] = {}
            for position in sorted(current):
                parent = position >> 1
                state = current[position]
                parents[parent] = add_states(parents[parent], state) if parent in parents else state
            current = parents
        return current


def _whole(state: Partial | None) -> State | None:
    return None if state is None else whole(state)


def power_of_two(value: float) -> int:
    """The smallest power of two that is at least ``value`` (and at least one)."""
    return 1 << max(0, int(np.ceil(np.log2(max(value, 1.0)))))
