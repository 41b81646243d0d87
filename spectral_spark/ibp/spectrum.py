"""Leading eigenpairs of the covariance, the noise level below them, and the number of features above it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spectral_spark.data.dense_batch import Runner
from spectral_spark.data.kernel import Kernel
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ibp.covariance import CovarianceKernel, CovarianceRangeKernel, SquaresKernel
from spectral_spark.ibp.pairwise_kernels import PairwiseCovarianceKernel, WeightedRangeKernel
from spectral_spark.ibp.row_means import ColumnMeans, refuse_constant

EXACT_WIDTH = 1024
"""Up to this many columns the covariance is collected whole (8 MB); beyond, it is sketched."""
MAX_FEATURES = 40
"""The fourth moment of 40 features has 123,410 distinct entries; the work of a row grows with the fourth power."""
MEAN, SMALLEST = "trailing-mean", "smallest-eigenvalue"
"""Noise rules: the mean of the eigenvalues left out, or the paper's, the smallest of all."""
EDGE, SLOPE = "noise-edge", "largest-slope"
"""Rank rules: eigenvalues above the noise edge, or the paper's, up to the largest drop between neighbours."""
_LARGEST_MARGIN, _DEVIATIONS = 0.05, 3.0


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Leading eigenpairs of a covariance.

    Attributes
    ----------
    values : array of shape (q,), largest first.
    vectors : array of shape (d, q), orthonormal columns.
    trace : sum of all d eigenvalues.
    rows : number of rows the covariance comes from (``inf`` for exact moments).
    slack : how far eigenvalues may be off because covariances come from different rows, where values are missing.
    """

    values: np.ndarray
    vectors: np.ndarray
    trace: float
    rows: float
    slack: float = 0.0

    @property
    def width(self) -> int:
        return self.vectors.shape[0]

    def noise_variance(self, k: int, rule: str = MEAN) -> float:
        """σ² as the mean of the d − k eigenvalues left out, 0 when none is left; or as the smallest of all d."""
        if rule == SMALLEST:
            if len(self.values) < self.width:
                raise SettingsError(
                    f"`noiseRule={SMALLEST}` needs all {self.width:,} eigenvalues; beyond {EXACT_WIDTH:,} columns only "
                    f"{len(self.values)} are computed: use `noiseRule={MEAN}`"
                )
            return max(float(self.values[-1]), 0.0)
        if k >= self.width:
            return 0.0
        return max(float(self.trace - self.values[:k].sum()) / (self.width - k), 0.0)


@dataclass(frozen=True)
class FeatureCount:
    """The number of features, the eigenvalue they had to exceed, and the rule in words."""

    k: int
    noise_edge: float
    rule: str


def covariance_kernel(width: int, *, pairwise: bool) -> Kernel:
    """What sums the covariance up to 1,024 columns, and only its diagonal beyond."""
    if width > EXACT_WIDTH:
        return SquaresKernel()
    return PairwiseCovarianceKernel() if pairwise else CovarianceKernel()


def collect_spectrum(
    run: Runner, means: ColumnMeans, q: int, *, seed: int, power_passes: int = 3, exact_width: int = EXACT_WIDTH,
    pairwise: bool = False,
) -> tuple[Spectrum, dict[str, np.ndarray]]:
    """Passes over the rows: one when d ≤ ``exact_width``, otherwise ``power_passes`` of subspace iteration.

    Returns the spectrum and the sums of the last pass. ``pairwise`` takes covariances over the values that are there.
    """
    if means.width <= exact_width:
        kernel: Kernel = PairwiseCovarianceKernel() if pairwise else CovarianceKernel()
        sums = run(kernel, {"mean": means.mean}, "covariance")
        counts: Any = means.rows
        if pairwise:
            counts = sums["pair_counts"]
            _refuse_unmet(counts)
            counts = np.maximum(counts, 1.0)                 # only the upper triangle is filled
        upper = sums["product"] / counts
        covariance = np.triu(upper) + np.triu(upper, 1).T
        refuse_constant(np.diag(covariance), means.mean)
        if pairwise:
            counts = np.triu(counts) + np.triu(counts, 1).T
            return pairwise_spectrum(covariance, counts, means.rows), sums
        return exact_spectrum(covariance, means.rows), sums
    rates = 1 - means.missing / means.rows
    probe = np.linalg.qr(np.random.default_rng(seed).standard_normal((means.width, min(q, means.width))))[0]
    for step in range(power_passes):
        shared = {"mean": means.mean, "probe": probe} | ({"rates": rates} if pairwise else {})
        kernel = WeightedRangeKernel() if pairwise else CovarianceRangeKernel()
        sums = run(kernel, shared, f"covariance range {step + 1}")
        product = sums["product"] / means.rows
        if step == 0:
            refuse_constant(sums["squares"] / means.rows, means.mean)
        if step + 1 < power_passes:
            probe = np.linalg.qr(product)[0]
    squares = sums["squares"] / rates if pairwise else sums["squares"]
    return _ritz(probe, product, float(squares.sum()) / means.rows, means.rows), sums


def _refuse_unmet(upper: np.ndarray) -> None:
    """Raise if two columns never have a value in the same row; ``upper`` counts such rows in its upper triangle."""
    never = np.argwhere(np.triu(upper < 1))
    if len(never):
        i, j = never[0]
        raise InputError(
            f"no row has a value in both column {i} and column {j}, so their covariance is unknown; drop one of them"
        )


def exact_spectrum(covariance: np.ndarray, rows: float) -> Spectrum:
    """All eigenpairs of a covariance of shape (d, d)."""
    values, vectors = np.linalg.eigh(covariance)
    return Spectrum(values[::-1], vectors[:, ::-1], float(np.trace(covariance)), rows)


def pairwise_spectrum(covariance: np.ndarray, counts: np.ndarray, rows: int) -> Spectrum:
    """All eigenpairs of a covariance whose entries come from the rows that have both values.

    Beyond the sampling error that all entries share, an entry from n_ij of n rows has an error of variance
    (C_ii C_jj + C_ij²)(1/n_ij − 1/n). A random symmetric matrix with such entries has a norm of about twice the root of
    its largest row sum of variances; the noise edge is raised by so much.
    """
    variances = np.diag(covariance)
    errors = (np.outer(variances, variances) + covariance**2) * np.maximum(1 / counts - 1 / rows, 0.0)
    slack = 2 * float(np.sqrt(errors.sum(axis=1).max()))
    return replace(exact_spectrum(covariance, float(counts.mean())), slack=slack)


def _ritz(probe: np.ndarray, product: np.ndarray, trace: float, rows: int) -> Spectrum:
    """Best eigenpairs within the range of ``probe`` given product = cov · probe."""
    small = probe.T @ product
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return Spectrum(values[::-1], probe @ rotation[:, ::-1], trace, rows)


def choose_feature_count(
    spectrum: Spectrum, k: int | str, noise_variance: float | None = None, *, rank_rule: str = EDGE,
    noise_rule: str = MEAN, most: int = MAX_FEATURES,
) -> FeatureCount:
    """The given k, or the number of features that a rule finds in the spectrum, at most ``most``.

    ``noise-edge`` counts eigenvalues above the edge of Marchenko and Pastur for the remaining d − k directions, with
    noise of the given variance or that of ``noise_rule``. The margin above the edge is three times the spread of the
    largest eigenvalue of pure noise (Johnstone's scale), at most 5%: it shrinks with the rows and is none for exact
    moments. ``largest-slope``, the rule of the paper, cuts where neighbouring eigenvalues differ most.
    """
    def edge(found: int) -> float:
        return _edge(spectrum, found, noise_variance, noise_rule)

    if k != "auto":
        _check_rank(spectrum, int(k))
        return FeatureCount(int(k), edge(int(k)), "given")
    limit = min(most_features(spectrum.width, spectrum.rows), len(spectrum.values), spectrum.width - 1, most)
    if rank_rule == SLOPE:
        found = _largest_slope(spectrum, limit)
        return FeatureCount(found, edge(found), "largest slope")
    found = 0
    while found < limit and spectrum.values[found] > edge(found):
        found += 1
    if found == 0:
        raise InputError(
            f"no direction stands out of the noise (largest eigenvalue {spectrum.values[0]:.3g}, noise edge "
            f"{edge(0):.3g}); give k, more "
            "rows, or a smaller noise variance if you gave one"
        )
    reached = found == limit and found < len(spectrum.values) and spectrum.values[found] > edge(found)
    rule = "noise edge" + (f", stopped at the most that {spectrum.rows:.0f} rows allow" if reached else "")
    return FeatureCount(found, edge(found), rule)


def _largest_slope(spectrum: Spectrum, limit: int) -> int:
    drops = -np.diff(spectrum.values[: limit + 1])
    if len(drops) == 0 or drops.max() <= 0:
        raise InputError(f"the spectrum of {spectrum.width} columns has no drop to cut at; give k")
    return int(np.argmax(drops)) + 1


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


def _edge(spectrum: Spectrum, k: int, noise_variance: float | None, noise_rule: str) -> float:
    noise = spectrum.noise_variance(k, noise_rule) if noise_variance is None else noise_variance
    rounding = 1e-13 * spectrum.width * float(spectrum.values[0])
    left, rows = np.sqrt(spectrum.width - k), np.sqrt(spectrum.rows)
    spread = (1 + left / rows) ** 2
    return (1 + _margin(left, rows)) * noise * float(spread) + spectrum.slack + rounding


def _margin(left: float, rows: float) -> float:
    """Relative to the edge, from the square roots of the remaining directions and of the rows; none for exact moments.

    The largest eigenvalue of pure noise spreads by about (√n + √m)(1/√n + 1/√m)^⅓ / n around (√n + √m)² / n.
    """
    if left <= 0 or not np.isfinite(rows):
        return 0.0
    return min(_LARGEST_MARGIN, _DEVIATIONS * float((1 / rows + 1 / left) ** (1 / 3) / (rows + left)))
