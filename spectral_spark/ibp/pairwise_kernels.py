"""Moments of rows with missing values that are not biased by them, whatever the pattern, if it does not depend on x.

Filling in the mean shrinks every covariance by the share of rows that have both values. Here a covariance is taken over
those rows (pairwise complete). For third and fourth moments, the coordinates of a row in the basis are estimated by
least squares from the values that are there: x − c = E a + ε gives â = a + G⁻¹E_oᵀε_o with G = E_oᵀE_o over the present
entries, so â has the right mean and Gaussian noise of covariance σ² G⁻¹, whose part in the fourth cumulant is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dgemm, dsyrk

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.ibp.cumulants import CumulantKernel
from spectral_spark.ibp.packed_cumulants import quadruple_indices
from spectral_spark.moments.symmetric_packing import pair_indices, unpack2

WORST = 0.1
"""A row counts in third and fourth moments if the smallest eigenvalue of its G is at least this: its noise is then at
most ten times that of a complete row. Others would add little but noise; their covariances still count."""
_CHUNK_VALUES = 1_000_000


@dataclass(frozen=True)
class PairwiseCovarianceKernel:
    """Sums over the rows that have both values. Shared: ``mean`` (d,).

    State: ``product`` Σ (x−μ)_i (x−μ)_j and ``pair_counts`` (d, d), upper triangles; ``pair_sums`` Σ (x−μ)_i where j is
    present, of shape (d, d).
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "_PairwiseAccumulator":
        return _PairwiseAccumulator(shared["mean"])


class _PairwiseAccumulator:
    def __init__(self, mean: np.ndarray) -> None:
        self._mean = mean
        self._product, self._counts, self._sums = (np.zeros((len(mean), len(mean)), order="F") for _ in range(3))

    def add(self, batch: DenseBatch) -> None:
        values, there = batch.centred(self._mean), (~np.isnan(batch.values)).astype(np.float64)
        self._product = dsyrk(1.0, values.T, beta=1.0, c=self._product, overwrite_c=True)
        self._counts = dsyrk(1.0, there.T, beta=1.0, c=self._counts, overwrite_c=True)
        self._sums = dgemm(1.0, values.T, there, beta=1.0, c=self._sums, overwrite_c=True)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"product": self._product, "pair_counts": self._counts, "pair_sums": self._sums}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


@dataclass(frozen=True)
class WeightedRangeKernel:
    """As :class:`~spectral_spark.ibp.covariance.CovarianceRangeKernel`, with every value divided by the share of rows
    that have it; the diagonal, which would be divided twice, is put right. Unbiased if columns are missing
    independently of one another. Shared: ``mean``, ``rates`` (d,), ``probe`` (d, q)."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "_WeightedRangeAccumulator":
        return _WeightedRangeAccumulator(shared["mean"], shared["rates"], shared["probe"])


class _WeightedRangeAccumulator:
    def __init__(self, mean: np.ndarray, rates: np.ndarray, probe: np.ndarray) -> None:
        self._mean, self._rates, self._probe = mean, rates, probe
        self._product, self._squares = np.zeros(probe.shape), np.zeros(len(mean))

    def add(self, batch: DenseBatch) -> None:
        values = batch.centred(self._mean)
        weighted = values / self._rates
        self._product += weighted.T @ (weighted @ self._probe)
        self._squares += np.einsum("nd,nd->d", values, values)

    def arrays(self) -> dict[str, np.ndarray]:
        twice = self._squares * (1 / self._rates**2 - 1 / self._rates)
        return {"product": self._product - twice[:, None] * self._probe, "squares": self._squares}


@dataclass(frozen=True)
class PairwiseCumulantKernel:
    """As :class:`~spectral_spark.ibp.cumulants.CumulantKernel`, from least-squares coordinates of every row.

    Shared: ``mean`` (d,), ``whitening`` (d, p) with orthogonal columns. State: ``second``, ``third`` and ``fourth`` as
    there; ``first`` (p,); ``projected`` (1,), rows that count; ``noise_second`` Σ N (p, p) and ``noise_fourth``
    Σ sym3(N⊗N), packed, for noise of covariance σ² N in the coordinates of a row.
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "_PairwiseCumulantAccumulator":
        return _PairwiseCumulantAccumulator(shared["mean"], shared["whitening"])


class _PairwiseCumulantAccumulator:
    def __init__(self, mean: np.ndarray, directions: np.ndarray) -> None:
        self._mean, self._scale = mean, np.linalg.norm(directions, axis=0)
        self._unit = directions / self._scale
        p = directions.shape[1]
        self._identity = {"mean": np.zeros(p), "whitening": np.eye(p)}
        self._sums = CumulantKernel().start(self._identity)
        self._first, self._projected = np.zeros(p), 0
        first, second = pair_indices(p)
        self._pairs = self._unit[:, first] * self._unit[:, second]
        self._noise_second = np.zeros((p, p))
        self._noise_fourth = np.zeros(quadruple_indices(p).shape[1])

    def add(self, batch: DenseBatch) -> None:
        size = max(1, _CHUNK_VALUES // (len(self._mean) + 4 * self._pairs.shape[1]))
        for start in range(0, batch.n_rows, size):
            self._add(DenseBatch(batch.values[start : start + size], batch.keys[start : start + size]))

    def _add(self, batch: DenseBatch) -> None:
        p = len(self._first)
        there = ~np.isnan(batch.values)
        gram = unpack2(there.astype(np.float64) @ self._pairs, p)
        good = np.linalg.eigvalsh(gram)[:, 0] >= WORST
        inverse = np.linalg.inv(gram[good])
        target = batch.centred(self._mean)[good] @ self._unit
        coordinates = np.einsum("nij,nj->ni", inverse, target) * self._scale
        noise = inverse * np.outer(self._scale, self._scale)
        self._projected += len(coordinates)
        self._first += coordinates.sum(axis=0)
        self._sums.add(DenseBatch(coordinates, batch.keys[good]))
        self._noise_second += noise.sum(axis=0)
        i, j, l, m = quadruple_indices(p)
        flat = noise.reshape(len(noise), -1)
        products = flat.T @ flat                                 # Σ N_ij N_lm over the rows
        self._noise_fourth += (
            products[i * p + j, l * p + m] + products[i * p + l, j * p + m] + products[i * p + m, j * p + l]
        )

    def arrays(self) -> dict[str, np.ndarray]:
        return self._sums.arrays() | {
            "first": self._first, "projected": np.array([float(self._projected)]),
            "noise_second": self._noise_second, "noise_fourth": self._noise_fourth,
        }
