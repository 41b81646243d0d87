"""All passes of one fit of latent features, in order; the runner knows where the rows are."""

from dataclasses import dataclass

from spectral_spark.data.dense_batch import Runner
from spectral_spark.data.settings import IBP
from spectral_spark.ibp.cumulant_decomposition import CumulantDecomposition, joint_decomposition
from spectral_spark.ibp.cumulants import CumulantKernel, WhitenedCumulants, whitened_cumulants
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.packed_cumulants import quadruple_count
from spectral_spark.ibp.paper_split import paper_decomposition
from spectral_spark.ibp.polish import polish_features
from spectral_spark.ibp.recover import RecoveredFeatures, recover_features
from spectral_spark.ibp.row_means import ColumnMeans, MeanKernel, column_means
from spectral_spark.ibp.row_whitening import whiten_rows
from spectral_spark.ibp.source_kinds import Kind, kind_named
from spectral_spark.ibp.spectrum import (
    EXACT_WIDTH,
    MAX_FEATURES,
    FeatureCount,
    Spectrum,
    check_request,
    choose_feature_count,
    collect_spectrum,
)

_OVERSAMPLING = 20
_ATTRIBUTES = {"probabilitiesFrom": "probabilities"}


@dataclass(frozen=True)
class IbpSettings:
    """Settings of a fit.

    Attributes
    ----------
    kind : "binary", "isfa" or "iica".
    k : number of features, or "auto" for the eigenvalues above the noise edge.
    missing : "refuse" or "mean" (a missing value stands for the mean of its column).
    solver : "joint" (W3 and W4 together) or "paper" (W3 where |λ| > 1, W4 for the rest).
    offset : "auto", "none" or "free", see :func:`recover.recover_features`.
    probabilities : "eigenvalues" or "mean", likewise.
    polish : rounds of least squares given the most likely codes; each is one more pass.
    power_passes : passes of subspace iteration if the covariance is sketched, at least 2, since the range is random
        during the first.
    noise_variance : σ² if it is known, or None to estimate it from the trailing spectrum.
    seed : random seed of the sketch and of the solvers' starts.
    """

    kind: str = IBP.default("kind")
    k: int | str = IBP.default("k")
    missing: str = IBP.default("missing")
    solver: str = IBP.default("solver")
    offset: str = IBP.default("offset")
    probabilities: str = IBP.default("probabilitiesFrom")
    polish: int = IBP.default("polish")
    power_passes: int = IBP.default("powerPasses")
    noise_variance: float | None = IBP.default("noiseVariance")
    seed: int = IBP.default("seed")

    def __post_init__(self) -> None:
        for setting in IBP:
            value = getattr(self, _ATTRIBUTES.get(setting.name, setting.attribute), None)
            if value is not None:
                setting.check(value)


@dataclass(frozen=True, eq=False)
class IbpFit:
    """A fitted model with the intermediate results behind it."""

    model: FeatureModel
    means: ColumnMeans
    spectrum: Spectrum
    rank: FeatureCount
    decomposition: CumulantDecomposition
    recovery: RecoveredFeatures


def fit_features(run: Runner, width: int, settings: IbpSettings) -> IbpFit:
    """Fit binary, isFA or iICA features.

    Parameters
    ----------
    run : runs a kernel over all rows; :func:`~spectral_spark.data.dense_batch.local_runner` for an array in memory.
    width : number of columns d.

    Examples
    --------
    >>> import numpy as np
    >>> from spectral_spark.ibp import IbpSettings, fit_features, local_runner
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.random((20000, 2)) < [.3, .6]
    >>> x = codes @ rng.standard_normal((2, 8)) + .1 * rng.standard_normal((20000, 8))
    >>> fit_features(local_runner(x), 8, IbpSettings()).model.k
    2
    """
    means = column_means(run(MeanKernel(width), {}, "mean"), settings.missing)
    if settings.k != "auto":
        check_request(int(settings.k), width, means.rows)
    wanted = (MAX_FEATURES if settings.k == "auto" else int(settings.k)) + _OVERSAMPLING
    spectrum = collect_spectrum(run, means, wanted, seed=settings.seed, power_passes=settings.power_passes)
    rank = choose_feature_count(spectrum, settings.k, settings.noise_variance)
    whitening = whiten_rows(spectrum, rank.k, settings.noise_variance)
    shared = {"mean": means.mean, "whitening": whitening.matrix}
    sums = run(CumulantKernel(), shared, "cumulants")
    cumulants = whitened_cumulants(sums, means.rows, means.mean, whitening.matrix)
    decomposition = decompose(cumulants, kind_named(settings.kind), settings.solver, settings.seed)
    recovery = recover_features(
        decomposition, whitening, means.mean, kind_named(settings.kind), means.rows, settings.offset,
        settings.probabilities,
    )
    model = polish_features(run, recovery.model, means, settings.polish, free_offset=recovery.offset == "free")
    return IbpFit(model, means, spectrum, rank, decomposition, recovery)


def planned_passes(width: int, settings: IbpSettings) -> int:
    """The number of passes over the rows."""
    return 2 + (1 if width <= EXACT_WIDTH else settings.power_passes) + settings.polish


def largest_state(width: int, settings: IbpSettings) -> int:
    """Bytes of the largest state that any pass sums."""
    k = MAX_FEATURES if settings.k == "auto" else int(settings.k)
    covariance = width * (width if width <= EXACT_WIDTH else k + _OVERSAMPLING)
    return 8 * max(covariance, quadruple_count(min(k, width)), width * k)


def decompose(cumulants: WhitenedCumulants, kind: Kind, solver: str, seed: int) -> CumulantDecomposition:
    """The decomposition by the solver of that name; W3 is not used if y is symmetric."""
    if solver == "paper":
        return paper_decomposition(cumulants, third=kind.is_binary, seed=seed)
    if kind.is_binary:
        return joint_decomposition(cumulants, seed=seed)
    return joint_decomposition(cumulants, third_weight=0.0, seed=seed)
