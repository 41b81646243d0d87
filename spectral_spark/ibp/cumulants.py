"""Third pass: the whitened third and fourth cumulants."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.ibp.batch import DenseBatch
from spectral_spark.ibp.packed import block_shapes, packed_size, pairs, pairs_before, unpack_fourth, unpack_third

_CHUNK_ROWS = 512


@dataclass(frozen=True)
class CumulantKernel:
    """Sums of y yᵀ, y⊗y⊗y and y⊗y⊗y⊗y for y = Wᵀ(x−μ), every distinct entry once.

    The fourth moment is one matrix product per index j: rows y_i y_j with i ≤ j, columns y_l y_m with j ≤ l ≤ m. That
    is a third of the multiplications of the symmetric pairs × pairs product and a sixth of the full one.

    Shared: ``mean`` (d,), ``whitening`` W (d, k). State: ``second`` (k, k), ``third`` and ``fourth`` packed as in
    :mod:`spectral_spark.ibp.packed`.
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "_CumulantAccumulator":
        return _CumulantAccumulator(shared["mean"], shared["whitening"])


class _CumulantAccumulator:
    def __init__(self, mean: np.ndarray, whitening: np.ndarray) -> None:
        self._mean, self._whitening = mean, whitening
        k = whitening.shape[1]
        self._second = np.zeros((k, k))
        self._third, self._fourth = np.zeros(packed_size(k, 3)), np.zeros(packed_size(k, 4))
        self._third_blocks = _views(self._third, k, 3)
        self._fourth_blocks = _views(self._fourth, k, 4)
        self._pairs = np.empty((k * (k + 1) // 2, _CHUNK_ROWS))

    def add(self, batch: DenseBatch) -> None:
        whitened = self._whitening.T @ batch.centred(self._mean).T
        for start in range(0, whitened.shape[1], _CHUNK_ROWS):
            self._add_chunk(np.ascontiguousarray(whitened[:, start : start + _CHUNK_ROWS]))

    def _add_chunk(self, y: np.ndarray) -> None:
        k, rows = y.shape
        products = self._pairs[:, :rows]
        for i in range(k):
            np.multiply(y[i], y[i:], out=products[pairs_before(k, i) : pairs_before(k, i + 1)])
        self._second += y @ y.T
        for j in range(k):
            left = y[: j + 1] * y[j]
            self._third_blocks[j] += left @ y[j:].T
            self._fourth_blocks[j] += left @ products[pairs_before(k, j) :].T

    def arrays(self) -> dict[str, np.ndarray]:
        return {"second": self._second, "third": self._third, "fourth": self._fourth}


def _views(packed: np.ndarray, k: int, order: int) -> list[np.ndarray]:
    views, start = [], 0
    for rows, columns in block_shapes(k, order):
        views.append(packed[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return views


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
    fourth = unpack_fourth(arrays["fourth"] / rows, k) - gaussian_fourth(second)
    return WhitenedCumulants(whitening.T @ mean, unpack_third(arrays["third"] / rows, k), fourth)


def gaussian_fourth(second: np.ndarray) -> np.ndarray:
    """sym3(C ⊗ C) over index pairs: the fourth moment of a Gaussian with covariance C of shape (k, k)."""
    a, b = pairs(len(second))
    flat = second[a, b]
    crossed = second[np.ix_(a, a)] * second[np.ix_(b, b)] + second[np.ix_(a, b)] * second[np.ix_(b, a)]
    return np.outer(flat, flat) + crossed
