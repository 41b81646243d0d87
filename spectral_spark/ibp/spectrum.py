"""Leading eigenpairs of the covariance, the noise level below them, and the number of features above it."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.data.dense_batch import Runner
from spectral_spark.errors import InputError
from spectral_spark.ibp.covariance import CovarianceKernel, CovarianceRangeKernel
from spectral_spark.ibp.row_means import ColumnMeans, refuse_constant

EXACT_WIDTH = 1024
"""Up to this many columns the covariance is collected whole (8 MB); beyond, it is sketched."""
MAX_FEATURES = 40
"""The fourth moment of 40 features has 123,410 distinct entries; the work of a row grows with the fourth power."""
_EDGE_MARGIN = 1.05


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Leading eigenpairs of a covariance.

    Attributes
    ----------
    values : array of shape (q,), largest first.
    vectors : array of shape (d, q), orthonormal columns.
    trace : sum of all d eigenvalues.
    rows : number of rows the covariance comes from (``inf`` for exact moments).
    """

    values: np.ndarray
    vectors: np.ndarray
    trace: float
    rows: float

    @property
    def width(self) -> int:
        return self.vectors.shape[0]

    def noise_variance(self, k: int) -> float:
        """σ² as the mean of the d − k eigenvalues left out; 0 when none is left."""
        if k >= self.width:
            return 0.0
        return max(float(self.trace - self.values[:k].sum()) / (self.width - k), 0.0)


@dataclass(frozen=True)
class FeatureCount:
    """The number of features, the eigenvalue they had to exceed, and the rule in words."""

    k: int
    noise_edge: float
    rule: str


def collect_spectrum(
    run: Runner, means: ColumnMeans, q: int, *, seed: int, power_passes: int = 3, exact_width: int = EXACT_WIDTH
) -> Spectrum:
    """Passes over the rows: one when d ≤ ``exact_width``, otherwise ``power_passes`` of subspace iteration."""
    if means.width <= exact_width:
        upper = run(CovarianceKernel(), {"mean": means.mean}, "covariance")["product"] / means.rows
        covariance = np.triu(upper) + np.triu(upper, 1).T
        refuse_constant(np.diag(covariance), means.mean)
        return exact_spectrum(covariance, means.rows)
    probe = np.linalg.qr(np.random.default_rng(seed).standard_normal((means.width, min(q, means.width))))[0]
    for step in range(power_passes):
        sums = run(CovarianceRangeKernel(), {"mean": means.mean, "probe": probe}, f"covariance range {step + 1}")
        product = sums["product"] / means.rows
        if step == 0:
            refuse_constant(sums["squares"] / means.rows, means.mean)
        if step + 1 < power_passes:
            probe = np.linalg.qr(product)[0]
    return _ritz(probe, product, float(sums["squares"].sum()) / means.rows, means.rows)


def exact_spectrum(covariance: np.ndarray, rows: float) -> Spectrum:
    """All eigenpairs of a covariance of shape (d, d)."""
    values, vectors = np.linalg.eigh(covariance)
    return Spectrum(values[::-1], vectors[:, ::-1], float(np.trace(covariance)), rows)


def _ritz(probe: np.ndarray, product: np.ndarray, trace: float, rows: int) -> Spectrum:
    """Best eigenpairs within the range of ``probe`` given product = cov · probe."""
    small = probe.T @ product
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return Spectrum(values[::-1], probe @ rotation[:, ::-1], trace, rows)


def choose_feature_count(spectrum: Spectrum, k: int | str, noise_variance: float | None = None) -> FeatureCount:
    """The given k, or the number of eigenvalues above the edge of pure noise.

    The edge is that of Marchenko and Pastur for the remaining d − k directions, with a margin of 5%, for noise of
    the given variance or, when None, of the mean of those directions.
    """
    if k != "auto":
        _check_rank(spectrum, int(k))
        return FeatureCount(int(k), _edge(spectrum, int(k), noise_variance), "given")
    limit = min(most_features(spectrum.width, spectrum.rows), len(spectrum.values), spectrum.width - 1)
    found = 0
    while found < limit and spectrum.values[found] > _edge(spectrum, found, noise_variance):
        found += 1
    if found == 0:
        raise InputError(
            f"no direction stands out of the noise (largest eigenvalue {spectrum.values[0]:.3g}, noise edge "
            f"{_edge(spectrum, 0, noise_variance):.3g}); give k, more "
            "rows, or a smaller noise variance if you gave one"
        )
    edge = _edge(spectrum, found, noise_variance)
    reached = found == limit and found < len(spectrum.values) and spectrum.values[found] > edge
    rule = "noise edge" + (f", stopped at the most that {spectrum.rows:.0f} rows allow" if reached else "")
    return FeatureCount(found, edge, rule)


def most_features(width: int, rows: float) -> int:
    """The largest k that d columns and n rows can support: k ≤ d, k ≤ 40 and k(k+1)/2 ≤ n."""
    by_rows = MAX_FEATURES if rows >= MAX_FEATURES**2 else int((np.sqrt(8 * rows + 1) - 1) / 2)
    return min(width, MAX_FEATURES, by_rows)


def check_request(k: int, width: int, rows: float) -> None:
    """Raise if the columns, the rows or this package cannot support k features."""
    if k > width:
        raise InputError(f"k = {k} features in {width} columns: k must be at most the number of columns")
    if k > MAX_FEATURES:
        raise InputError(f"k = {k}: the fourth moment is kept for at most {MAX_FEATURES} features; give a smaller k")
    if k * (k + 1) / 2 > rows:
        raise InputError(
            f"{rows:.0f} rows cannot determine the fourth moment of k = {k} features, which needs at least "
            f"k(k+1)/2 = {k * (k + 1) // 2}; give a smaller k or more rows"
        )


def _check_rank(spectrum: Spectrum, k: int) -> None:
    check_request(k, spectrum.width, spectrum.rows)
    rank = int((spectrum.values > 1e-12 * max(spectrum.values[0], 0.0)).sum())
    if k > rank:
        raise InputError(f"k = {k} features, but the rows vary in {rank} directions only; give k ≤ {rank}")


def _edge(spectrum: Spectrum, k: int, noise_variance: float | None) -> float:
    noise = spectrum.noise_variance(k) if noise_variance is None else noise_variance
    rounding = 1e-13 * spectrum.width * float(spectrum.values[0])
    spread = (1 + np.sqrt((spectrum.width - k) / spectrum.rows)) ** 2
    return max(_EDGE_MARGIN * noise * float(spread), rounding)
