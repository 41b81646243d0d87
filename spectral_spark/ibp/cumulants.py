"""Third pass: the whitened third and fourth cumulants."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.ibp.packed_cumulants import pairs_before, quadruple_indices, unpack4
from spectral_spark.moments.symmetric_packing import (
    pair_count,
    pair_indices,
    pair_positions,
    triple_indices,
    unpack3,
)

_CHUNK_VALUES = 200_000
_GROUP = 8
_SAFE_SHIFT = 1e4


@dataclass(frozen=True)
class CumulantKernel:
    """Sums of y yᵀ, y⊗y⊗y and y⊗y⊗y⊗y for y = Wᵀ(x−μ).

    The fourth moment is a few matrix products, one for each group of ``_GROUP`` indices j: rows y_i y_j with i ≤ j,
    columns y_l y_m with l ≤ m from the group on. Every distinct entry is in one of them; together they are a quarter of
    the full pairs × pairs product at k = 40.

    Shared: ``mean`` (d,), ``whitening`` W (d, k). State: ``second`` (k, k), ``third`` and ``fourth`` packed as in
    :mod:`spectral_spark.ibp.packed_cumulants`.
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "_CumulantAccumulator":
        return _CumulantAccumulator(shared["mean"], shared["whitening"])


class _CumulantAccumulator:
    def __init__(self, mean: np.ndarray, whitening: np.ndarray) -> None:
        self._mean, self._whitening = mean, whitening
        self._shift = whitening.T @ mean
        self._shift_is_safe = float((np.abs(whitening).T @ np.abs(mean)).max()) < _SAFE_SHIFT
        k = whitening.shape[1]
        total = pair_count(k)
        self._chunk_rows = int(np.clip(_CHUNK_VALUES // total, 256, 2048))
        self._second, self._third = np.zeros((k, k)), np.zeros((total, k))
        self._blocks = [np.zeros(shape) for shape in _block_shapes(k)]
        self._pairs, self._left = np.empty((2, total, self._chunk_rows))

    def add(self, batch: DenseBatch) -> None:
        whitened = self._whiten(batch)
        for start in range(0, batch.n_rows, self._chunk_rows):
            self._add_chunk(np.ascontiguousarray(whitened[:, start : start + self._chunk_rows]))

    def _whiten(self, batch: DenseBatch) -> np.ndarray:
        """Wᵀ(x−μ) of shape (k, n). If no digits can be lost, the mean is subtracted after the product."""
        if self._shift_is_safe:
            whitened = self._whitening.T @ batch.values.T
            whitened -= self._shift[:, None]
            if not np.isnan(whitened.sum()):
                return np.asarray(whitened)
        return np.asarray(self._whitening.T @ batch.centred(self._mean).T)

    def _add_chunk(self, y: np.ndarray) -> None:
        k, rows = y.shape
        products, left = self._pairs[:, :rows], self._left[:, :rows]
        for i in range(k):
            np.multiply(y[i], y[i:], out=products[pairs_before(k, i) : pairs_before(k, i + 1)])
            np.multiply(y[i], y[: i + 1], out=left[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2])
        self._second += y @ y.T
        self._third += products @ y.T
        for block, start in zip(self._blocks, range(0, k, _GROUP), strict=True):
            stop = min(start + _GROUP, k)
            block += left[start * (start + 1) // 2 : stop * (stop + 1) // 2] @ products[pairs_before(k, start) :].T

    def arrays(self) -> dict[str, np.ndarray]:
        k = len(self._second)
        third, fourth = _gather(k)
        flat = np.concatenate([block.ravel() for block in self._blocks])
        return {"second": self._second, "third": self._third.ravel()[third], "fourth": flat[fourth]}


def _block_shapes(k: int) -> list[tuple[int, int]]:
    total = pair_count(k)
    starts = [(start, min(start + _GROUP, k)) for start in range(0, k, _GROUP)]
    return [
        (stop * (stop + 1) // 2 - start * (start + 1) // 2, total - pairs_before(k, start)) for start, stop in starts
    ]


@lru_cache(maxsize=8)
def _gather(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the packed entries of the third and fourth moment in the accumulator's arrays."""
    i, j, l = triple_indices(k)
    third = pair_positions(k)[i, j] * k + l
    i, j, l, m = quadruple_indices(k)
    shapes = np.array(_block_shapes(k))
    offsets = np.concatenate(([0], np.cumsum(shapes.prod(axis=1))[:-1]))
    group = j // _GROUP
    first = group * _GROUP
    row = j * (j + 1) // 2 + i - first * (first + 1) // 2
    column = pair_positions(k)[l, m] - (first * k - first * (first - 1) // 2)
    return third, offsets[group] + row * shapes[group, 1] + column


@dataclass(frozen=True, eq=False)
class WhitenedCumulants:
    """Cumulants in whitened coordinates.

    Attributes
    ----------
    first : Wᵀμ of shape (k,).
    third : symmetric tensor of shape (k, k, k).
    fourth : symmetric tensor as a matrix of shape (k(k+1)/2, k(k+1)/2) over index pairs.
    """

    first: np.ndarray
    third: np.ndarray
    fourth: np.ndarray

    @property
    def k(self) -> int:
        return len(self.first)


def whitened_cumulants(
    arrays: Mapping[str, np.ndarray], rows: int, mean: np.ndarray, whitening: np.ndarray
) -> WhitenedCumulants:
    """Cumulants from the state of :class:`CumulantKernel`. The second moment includes the noise, so that its part in
    the fourth moment is subtracted along with the Gaussian one (formulas §10)."""
    k = whitening.shape[1]
    second = arrays["second"] / rows
    fourth = unpack4(arrays["fourth"] / rows, k) - gaussian_fourth(second)
    return WhitenedCumulants(whitening.T @ mean, unpack3(arrays["third"] / rows, k), fourth)


def gaussian_fourth(second: np.ndarray) -> np.ndarray:
    """sym3(C ⊗ C) over index pairs: the fourth moment of a Gaussian with covariance C of shape (k, k)."""
    a, b = pair_indices(len(second))
    flat = second[a, b]
    crossed = second[np.ix_(a, a)] * second[np.ix_(b, b)] + second[np.ix_(a, b)] * second[np.ix_(b, a)]
    return np.outer(flat, flat) + crossed
