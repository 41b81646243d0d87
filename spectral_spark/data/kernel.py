"""The interface between the engine and the mathematics: documents go in, an additive state comes out."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np


class Accumulator(Protocol):
    """Accumulates the documents of one logical shard, batch by batch, in a fixed order."""

    def add(self, batch: Any) -> None:
        """Add a batch (``CountBatch`` for word counts, ``DenseBatch`` for real vectors)."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The state: float64 arrays whose shapes do not depend on the documents. The engine adds those of all shards
        in a fixed order."""


class Kernel(Protocol):
    """Creates accumulators. A kernel is small and picklable; large arrays reach it through ``shared``."""

    def start(self, shared: Mapping[str, np.ndarray]) -> Accumulator:
        """A new accumulator for one logical shard. ``shared`` holds the broadcast arrays, which must not be changed."""
