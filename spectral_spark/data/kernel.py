"""What the engine asks of a kernel. It knows nothing of topics: documents go in, an additive state comes out."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np


class Accumulator(Protocol):
    """Takes in the documents of one logical shard, batch by batch, in a fixed order."""

    def add(self, batch: Any) -> None:
        """Add a batch (``moments.CountBatch`` for word counts, ``ibp.DenseBatch`` for real vectors)."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The state: float64 arrays whose shapes do not depend on the documents. The engine adds those of all shards
        in a fixed order."""


class Kernel(Protocol):
    """Starts an accumulator. A kernel is small and picklable; large arrays reach it through ``shared``."""

    def start(self, shared: Mapping[str, np.ndarray]) -> Accumulator:
        """A fresh accumulator for one logical shard. ``shared`` holds the broadcast arrays and is never written to."""
