"""All passes of one fit of latent features, in order; the runner knows where the rows are."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from spectral_spark.data.dense_batch import Runner
from spectral_spark.data.kernel import CompositeKernel, Kernel, joined, part
from spectral_spark.data.settings import IBP
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ibp.cumulant_decomposition import CumulantDecomposition
from spectral_spark.ibp.cumulants import CumulantKernel, WhitenedCumulants, whitened_cumulants
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.feature_state import PAIRWISE, FeatureBasis, FeatureState, state_from_passes
from spectral_spark.ibp.kurtosis import ESTIMATE, PowerKernel, estimate_kurtosis
from spectral_spark.ibp.packed_cumulants import quadruple_count
from spectral_spark.ibp.pairwise_kernels import PairwiseCumulantKernel
from spectral_spark.ibp.polish import polish_features
from spectral_spark.ibp.recover import RecoveredFeatures, recover_features
from spectral_spark.ibp.row_means import ColumnMeans, MeanKernel, column_means
from spectral_spark.ibp.row_whitening import RowWhitening, whiten_rows
from spectral_spark.ibp.solve_state import (
    check_size,
    decompose,
    make_basis,
    state_cumulants,
    state_spectrum,
    whiten_state,
)
from spectral_spark.ibp.source_kinds import Kind, kind_named
from spectral_spark.ibp.spectrum import (
    EXACT_WIDTH,
    MAX_FEATURES,
    FeatureCount,
    Spectrum,
    check_request,
    choose_feature_count,
    collect_spectrum,
    covariance_kernel,
)

__all__ = ["IbpFit", "IbpSettings", "collect_state", "decompose", "fit_features", "largest_state", "planned_passes",
           "solve_state"]

_OVERSAMPLING = 20
_FEWEST = 12                  # directions that are kept at least: 1,365 numbers of the fourth moment
# Settings whose name in IbpSettings is not that of the table in snake case.
ATTRIBUTES = {"probabilitiesFrom": "probabilities"}


@dataclass(frozen=True)
class IbpSettings:
    """Settings of a fit.

    Attributes
    ----------
    kind : "binary", "isfa" or "iica".
    k : number of features, or "auto" for the eigenvalues above the noise edge.
    missing : "refuse", "mean" (a missing value stands for the mean of its column) or "pairwise" (moments of the values
        that are there).
    solver : "joint" (W3 and W4 together) or "paper" (W3 where |λ| > 1, W4 for the rest).
    offset : "auto", "none" or "free", see :func:`recover.recover_features`.
    probabilities : "eigenvalues" or "mean", likewise.
    polish : rounds of least squares given the most likely codes; each is one more pass.
    power_passes : passes of subspace iteration if the covariance is sketched, at least 2, since the range is random
        during the first.
    noise_variance : σ² if it is known, or None to estimate it by the noise rule.
    seed : random seed of the sketch and of the solvers' starts.
    kurtosis : of the sources of isFA and iICA; None for that of the kind, "estimate" to measure it.
    rank_rule, noise_rule : see :func:`spectrum.choose_feature_count`.
    basis_size : directions in which third and fourth moments are kept, or "auto".
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
    kurtosis: float | str | None = IBP.default("kurtosis")
    rank_rule: str = IBP.default("rankRule")
    noise_rule: str = IBP.default("noiseRule")
    basis_size: int | str = IBP.default("basisSize")

    def __post_init__(self) -> None:
        for setting in IBP:
            value = getattr(self, ATTRIBUTES.get(setting.name, setting.attribute), None)
            if value is not None:
                setting.check(value)
        if self.kurtosis is not None:
            kind_named(self.kind, 3.0)
        if self.missing == PAIRWISE and self.polish:
            raise SettingsError('`polish` needs complete rows; leave it out with `missing="pairwise"`')

    @property
    def law(self) -> Kind:
        """The kind, with the kurtosis that was given."""
        return kind_named(self.kind, None if self.kurtosis == ESTIMATE else self.kurtosis)     # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "IbpSettings":
        """From the run report; keys that this version does not know are left out."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def kept_directions(self, k: int, width: int) -> int:
        """How many directions the basis has. Rows with missing values need as many present ones, so auto takes no more
        than k there."""
        if self.basis_size != "auto":
            return max(k, min(int(self.basis_size), width))
        return k if self.missing == PAIRWISE else min(width, MAX_FEATURES, max(k + max(4, -(-k // 4)), _FEWEST))


@dataclass(frozen=True, eq=False)
class IbpFit:
    """A fitted model with the intermediate results behind it, the additive state, and the kurtosis that was used."""

    model: FeatureModel
    means: ColumnMeans
    spectrum: Spectrum
    rank: FeatureCount
    decomposition: CumulantDecomposition
    recovery: RecoveredFeatures
    state: FeatureState
    kurtosis: float | None


def fit_features(
    run: Runner, width: int, settings: IbpSettings, *, basis: FeatureBasis | None = None, source: str = "rows"
) -> IbpFit:
    """Fit binary, isFA or iICA features.

    Parameters
    ----------
    run : runs a kernel over all rows; :func:`~spectral_spark.data.dense_batch.local_runner` for an array in memory.
    width : number of columns d.
    basis : collect the state in this basis, so that it adds up with others, instead of finding one.
    source : the name of the rows in the state.

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
    if basis is not None:
        return _polished(run, solve_state(collect_state(run, basis, settings.missing, source), settings, run), settings)
    sums = run(MeanKernel(width), {}, "mean")
    means = column_means(sums, settings.missing)
    if settings.k != "auto":
        check_request(int(settings.k), width, means.rows)
    wanted = (MAX_FEATURES if settings.k == "auto" else int(settings.k)) + _OVERSAMPLING
    spectrum, covariance = collect_spectrum(
        run, means, wanted, seed=settings.seed, power_passes=settings.power_passes,
        pairwise=settings.missing == PAIRWISE,
    )
    rank = choose_feature_count(
        spectrum, settings.k, settings.noise_variance, rank_rule=settings.rank_rule, noise_rule=settings.noise_rule
    )
    whitening = whiten_rows(spectrum, rank.k, settings.noise_variance, settings.noise_rule)
    basis = make_basis(means.mean, spectrum, whitening, settings.kept_directions(rank.k, width))
    centred = {**sums, "sum": sums["sum"] - sums["present"] * means.mean}
    if settings.missing == PAIRWISE:
        kept = run(PairwiseCumulantKernel(), {"mean": means.mean, "whitening": basis.directions}, "cumulants")
        state = state_from_passes(basis, settings.missing, centred, covariance, kept, (source,))
        return solve_state(state, settings, run, rank)
    own, kept = _collect_cumulants(run, means.mean, whitening.matrix, basis)
    state = state_from_passes(basis, settings.missing, centred, covariance, kept, (source,))
    cumulants = whitened_cumulants(own, means.rows, means.mean, whitening.matrix)
    return _polished(run, _finish(cumulants, whitening, means, spectrum, rank, state, settings, run), settings)


def solve_state(
    state: FeatureState, settings: IbpSettings, run: Runner | None = None, rank: FeatureCount | None = None
) -> IbpFit:
    """Features from the sums alone; ``run`` is needed only to estimate the kurtosis."""
    means, spectrum = state.means(), state_spectrum(state)
    if settings.k != "auto":
        check_request(int(settings.k), state.basis.width, means.rows)
    rank = rank or choose_feature_count(
        spectrum, settings.k, settings.noise_variance, rank_rule=settings.rank_rule, noise_rule=settings.noise_rule,
        most=state.basis.size,
    )
    check_size(rank.k, state)
    given = settings.noise_variance
    whitening = whiten_state(
        state, rank.k, spectrum.noise_variance(rank.k, settings.noise_rule) if given is None else given
    )
    cumulants = state_cumulants(state, whitening, means.mean)
    return _finish(cumulants, whitening, means, spectrum, rank, state, settings, run)


def collect_state(run: Runner, basis: FeatureBasis, missing: str, source: str) -> FeatureState:
    """One pass: the sums of rows in a given basis."""
    kernels: dict[str, Kernel] = {"mean": MeanKernel(basis.width)}
    kernels["covariance"] = covariance_kernel(basis.width, pairwise=missing == PAIRWISE)
    kernels["cumulants"] = PairwiseCumulantKernel() if missing == PAIRWISE else CumulantKernel()
    shared = joined({
        "mean": {"centre": basis.centre}, "covariance": {"mean": basis.centre},
        "cumulants": {"mean": basis.centre, "whitening": basis.directions},
    })
    sums = run(CompositeKernel(kernels), shared, "moments")
    column_means(part(sums, "mean"), missing)                     # refuses what a fit would refuse
    return state_from_passes(
        basis, missing, part(sums, "mean"), part(sums, "covariance"), part(sums, "cumulants"), (source,)
    )


def planned_passes(width: int, settings: IbpSettings) -> int:
    """The number of passes over the rows."""
    covariance = 1 if width <= EXACT_WIDTH else settings.power_passes
    return 2 + covariance + settings.polish + (settings.kurtosis == ESTIMATE)


def largest_state(width: int, settings: IbpSettings) -> int:
    """Bytes of the largest state that any pass sums."""
    k = MAX_FEATURES if settings.k == "auto" else int(settings.k)
    covariance = width * (width if width <= EXACT_WIDTH else k + _OVERSAMPLING)
    kept = settings.kept_directions(min(k, width), width)
    return 8 * max(covariance, quadruple_count(min(k, width)) + quadruple_count(kept), width * k)


def _collect_cumulants(
    run: Runner, mean: np.ndarray, whitening: np.ndarray, basis: FeatureBasis
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Sums in the whitened directions of the features, and in all those of the basis, in one pass."""
    own, kept = {"mean": mean, "whitening": whitening}, {"mean": mean, "whitening": basis.directions}
    if basis.size == whitening.shape[1]:
        sums = run(CumulantKernel(), own, "cumulants")
        return sums, sums
    both = CompositeKernel({"own": CumulantKernel(), "kept": CumulantKernel()})
    sums = run(both, joined({"own": own, "kept": kept}), "cumulants")
    return part(sums, "own"), part(sums, "kept")


def _finish(
    cumulants: WhitenedCumulants, whitening: RowWhitening, means: ColumnMeans, spectrum: Spectrum, rank: FeatureCount,
    state: FeatureState, settings: IbpSettings, run: Runner | None,
) -> IbpFit:
    kind = settings.law
    decomposition = decompose(cumulants, kind, settings.solver, settings.seed)
    if settings.kurtosis == ESTIMATE:
        if run is None:
            raise InputError("`kurtosis=estimate` needs the rows; give the number that the fit has found")
        shared = {"mean": means.mean, "directions": whitening.matrix @ decomposition.vectors}
        kind = kind_named(settings.kind, estimate_kurtosis(run(PowerKernel(), shared, "kurtosis")))
    recovery = recover_features(
        decomposition, whitening, means.mean, kind, means.rows, settings.offset, settings.probabilities
    )
    return IbpFit(recovery.model, means, spectrum, rank, decomposition, recovery, state, kind.kurtosis)


def _polished(run: Runner, fit: IbpFit, settings: IbpSettings) -> IbpFit:
    free = fit.recovery.offset == "free"
    return replace(fit, model=polish_features(run, fit.model, fit.means, settings.polish, free_offset=free))
