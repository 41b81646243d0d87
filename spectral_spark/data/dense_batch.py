"""A batch of real vectors: the input of the kernels of feature models."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.kernel import Kernel

Runner = Callable[[Kernel, Mapping[str, np.ndarray], str], dict[str, np.ndarray]]
"""``run(kernel, shared, name)`` runs a kernel once over all rows and returns the summed state."""


@dataclass(frozen=True, eq=False)
class DenseBatch:
    """Real vectors of n rows.

    Parameters
    ----------
    values : float array of shape (n, d); NaN marks a missing value.
    keys : int64 array of shape (n,), a stable hash of each row: the only source of per-row randomness.
    """

    values: np.ndarray
    keys: np.ndarray

    @property
    def n_rows(self) -> int:
        return self.values.shape[0]

    @property
    def width(self) -> int:
        return self.values.shape[1]

    def centred(self, mean: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """x − mean of shape (n, d) in float64; missing values count as the mean and become zero."""
        return centred(self.values, mean, out)


def centred(values: np.ndarray, mean: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """values − mean of shape (n, d) in float64, missing values as zero."""
    difference = np.subtract(values, mean, out=out, dtype=np.float64)
    if np.isnan(np.add.reduce(difference, axis=None)):
        difference[np.isnan(difference)] = 0.0
    return difference


def local_batches(values: np.ndarray, batch_rows: int = 1024) -> Iterator[DenseBatch]:
    """Batches over the rows of an array in memory; a row's key is its position."""
    for start in range(0, len(values), batch_rows):
        part = values[start : start + batch_rows]
        yield DenseBatch(part, np.arange(start, start + len(part), dtype=np.int64))


def local_runner(values: np.ndarray, batch_rows: int = 1024) -> Runner:
    """Runs kernels over an array of shape (n, d) in this process, without Spark."""
    values = np.asarray(values)

    def run(kernel: Kernel, shared: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
        accumulator = kernel.start(shared)
        for batch in local_batches(values, batch_rows):
            accumulator.add(batch)
        return {name: array for name, array in accumulator.arrays().items() if isinstance(array, np.ndarray)}

    return run
