"""Second pass: the covariance, complete if d is small, otherwise its product with a few directions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from spectral_spark.data.dense_batch import DenseBatch


@dataclass(frozen=True)
class CovarianceKernel:
    """Σ (x−μ)(x−μ)ᵀ. Shared: ``mean`` (d,). State: ``product`` (d, d), upper triangle only."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "_CovarianceAccumulator":
        return _CovarianceAccumulator(shared["mean"])


class _CovarianceAccumulator:
    def __init__(self, mean: np.ndarray) -> None:
        self._mean = mean
        self._product = np.zeros((len(mean), len(mean)), order="F")

    def add(self, batch: DenseBatch) -> None:
        self._product = dsyrk(1.0, batch.centred(self._mean).T, beta=1.0, c=self._product, overwrite_c=True)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"product": np.ascontiguousarray(self._product)}


@dataclass(frozen=True)
class CovarianceRangeKernel:
    """Σ (x−μ)((x−μ)ᵀX), the covariance applied to the columns of X without ever being formed.

    Shared: ``mean`` (d,), ``probe`` X (d, q). State: ``product`` (d, q), ``squares`` (d,) = Σ (x−μ)².
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "_RangeAccumulator":
        return _RangeAccumulator(shared["mean"], shared["probe"])


class _RangeAccumulator:
    def __init__(self, mean: np.ndarray, probe: np.ndarray) -> None:
        self._mean, self._probe = mean, probe
        self._product = np.zeros(probe.shape)
        self._squares = np.zeros(len(mean))

    def add(self, batch: DenseBatch) -> None:
        values = batch.centred(self._mean)
        self._product += values.T @ (values @ self._probe)
        self._squares += np.einsum("nd,nd->d", values, values)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"product": self._product, "squares": self._squares}


@dataclass(frozen=True)
class SquaresKernel:
    """Σ (x−μ)² of every column. Shared: ``mean`` (d,). State: ``squares`` (d,)."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "_SquaresAccumulator":
        return _SquaresAccumulator(shared["mean"])


class _SquaresAccumulator:
    def __init__(self, mean: np.ndarray) -> None:
        self._mean, self._squares = mean, np.zeros(len(mean))

    def add(self, batch: DenseBatch) -> None:
        values = batch.centred(self._mean)
        self._squares += np.einsum("nd,nd->d", values, values)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"squares": self._squares}
