"""The interface between the engine and the mathematics: documents go in, an additive state comes out.

Several kernels can share one pass over the documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from spectral_spark.data.touched_rows import Rows

Part = TypeVar("Part")


class Accumulator(Protocol):
    """Accumulates the documents of one logical shard, batch by batch, in a fixed order."""

    def add(self, batch: Any) -> None:
        """Add a batch (``CountBatch`` for word counts, ``DenseBatch`` for real vectors)."""

    def arrays(self) -> Mapping[str, Rows]:
        """The state: float64 arrays whose shapes do not depend on the documents, or their rows in use. The engine adds
        those of all shards in a fixed order."""


class Kernel(Protocol):
    """Creates accumulators. A kernel is small and picklable; large arrays reach it through ``shared``."""

    def start(self, shared: Mapping[str, np.ndarray]) -> Accumulator:
        """A new accumulator for one logical shard. ``shared`` holds the broadcast arrays, which must not be changed."""


@dataclass(frozen=True)
class CompositeKernel:
    """Runs kernels side by side. Shared arrays and results are named ``kernel name + "/" + their own name``."""

    kernels: Mapping[str, Kernel]

    def start(self, shared: Mapping[str, np.ndarray]) -> "_CompositeAccumulator":
        return _CompositeAccumulator({name: kernel.start(part(shared, name)) for name, kernel in self.kernels.items()})


class _CompositeAccumulator:
    def __init__(self, accumulators: Mapping[str, Accumulator]) -> None:
        self._accumulators = accumulators

    def add(self, batch: Any) -> None:
        for accumulator in self._accumulators.values():
            accumulator.add(batch)

    def arrays(self) -> dict[str, Rows]:
        states = {name: accumulator.arrays() for name, accumulator in self._accumulators.items()}
        return joined(states)


def joined(states: Mapping[str, Mapping[str, Part]]) -> dict[str, Part]:
    """The arrays of several kernels in one dictionary, each name prefixed with that of its kernel."""
    return {f"{kernel}/{name}": array for kernel, state in states.items() for name, array in state.items()}


def part(arrays: Mapping[str, np.ndarray], kernel: str) -> dict[str, np.ndarray]:
    """The arrays of one kernel, without the prefix."""
    head = f"{kernel}/"
    return {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
