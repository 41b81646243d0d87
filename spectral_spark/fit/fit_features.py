"""One fit of features: the passes of :func:`spectral_spark.ibp.fit_features`, run by the engine."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.data.dense_batch import Runner
from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.batch_size import small_batches
from spectral_spark.engine.checkpoints import Checkpoints, DirectoryCheckpoints, run_key
from spectral_spark.engine.choose_corpus import open_rows
from spectral_spark.engine.corpus import Corpus
from spectral_spark.engine.memory import GIB, available_memory
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.rows import inspect_rows, refuse_other_width
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import CapacityError
from spectral_spark.fit.feature_summary import IbpSummary
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fitted_topics import versions
from spectral_spark.fit.remember import known_rows
from spectral_spark.ibp.buffet_prior import buffet_concentration, log_prior_of_codes
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.feature_state import FeatureBasis, FeatureState
from spectral_spark.ibp.likelihood import LikelihoodKernel
from spectral_spark.ibp.polish import shared_of
from spectral_spark.ibp.solve_features import IbpFit, IbpSettings, fit_features, largest_state, planned_passes
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.version import __version__


@dataclass(frozen=True, eq=False)
class FittedFeatures:
    """What a fit found.

    Attributes
    ----------
    model, summary : the features and the run report.
    state : the additive sums behind them; None for models of version 0.1.0, which did not keep them.
    known : which rows are in the sums; None if there are too many to keep apart.
    changes : how features moved in the update that made this model; None for a fit.
    """

    model: FeatureModel
    summary: IbpSummary
    state: FeatureState | None = None
    known: KnownDocuments | None = None
    changes: dict[str, Any] | None = None


def fit_rows(
    frame: DataFrame,
    features: str,
    settings: IbpSettings,
    *,
    id_column: str | None = None,
    basis: FeatureBasis | None = None,
    progress: Progress | None = None,
    checkpoint_dir: str | None = None,
) -> FittedFeatures:
    """Fit features to the vectors of a DataFrame; ``basis`` is that of another model, to be merged with it later."""
    started = time.perf_counter()
    source = inspect_rows(frame, features, id_column, missing_allowed=settings.missing != "refuse")
    if basis is not None:
        refuse_other_width(np.array([source.width]), basis.width)
    check_memory(source.width, settings)
    key = run_key(source.fingerprint, asdict(settings), basis.fingerprint if basis else "", __version__)
    checkpoints = DirectoryCheckpoints(checkpoint_dir, key) if checkpoint_dir else Checkpoints()
    run = FitRun(progress or Progress(), checkpoints)
    run.progress.plan(planned_passes(source.width, settings), source.rows)
    corpus = open_rows(source, state_bytes=largest_state(source.width, settings), progress=run.progress)
    run.timed("inspect", started)
    with corpus, small_batches(frame.sparkSession, source.width):
        fit = fit_features(
            corpus_runner(corpus, run), source.width, settings, basis=basis, source=source.fingerprint
        )
        known = known_rows(corpus, run)
    checkpoints.clear()
    run.timed("total", started)
    return FittedFeatures(fit.model, feature_summary(fit, settings, run, source.fingerprint), fit.state, known)


def corpus_runner(corpus: Corpus, run: FitRun) -> Runner:
    """Runs kernels over the corpus; a pass that an earlier, interrupted run has finished is read back."""

    def take(kernel: Kernel, shared: Mapping[str, np.ndarray], name: str) -> State:
        def compute() -> State:
            started = time.perf_counter()
            state_bytes = sum(array.nbytes for array in kernel.start(shared).arrays().values())
            sums = corpus.sum(kernel, shared, name=name, state_bytes=state_bytes)
            run.finished_pass(name, corpus.rows, started)
            run.timed(name.rstrip(" 0123456789"), started)
            return sums

        return run.resumable(name, compute)

    return take


def log_likelihood(frame: DataFrame, features: str, model: FeatureModel, missing: str, id_column: str | None) -> float:
    """Σ log p(x) over the rows of a DataFrame, summed in the engine's fixed order."""
    source = inspect_rows(frame, features, id_column, missing_allowed=missing != "refuse")
    refuse_other_width(np.array([source.width]), model.width)
    kernel = LikelihoodKernel(model.kind, missing)
    with open_rows(source) as corpus, small_batches(frame.sparkSession, source.width):
        return float(corpus.sum(kernel, shared_of(model), name="log-likelihood")["log_likelihood"][0])


def check_memory(width: int, settings: IbpSettings) -> int:
    """Bytes that the driver needs; raises if it does not have them."""
    need, free = 6 * largest_state(width, settings) + (300 << 20), available_memory()
    if need > free:
        raise CapacityError(
            f"{width:,} columns need about {need / GIB:.1f} GiB on the driver, {free / GIB:.1f} GiB are free; use a "
            "smaller k, fewer columns or a larger driver"
        )
    return need


def feature_summary(fit: IbpFit, settings: IbpSettings, run: FitRun, source: str) -> IbpSummary:
    """The run report of a fit or an update."""
    recovery, decomposition = fit.recovery, fit.decomposition
    concentration = buffet_concentration(fit.means.rows, fit.model.k)
    from_mean = None if np.isnan(recovery.from_mean).any() else recovery.from_mean.tolist()
    return IbpSummary(
        kind=fit.model.kind, k=fit.model.k, rows=fit.means.rows, columns=fit.model.width,
        missing_values=int(fit.means.missing.sum()), columns_with_missing=int((fit.means.missing > 0).sum()),
        noise_variance=fit.model.noise_variance, spectrum=fit.spectrum.values.tolist(), trace=fit.spectrum.trace,
        noise_edge=fit.rank.noise_edge, rank_rule=fit.rank.rule, solver=decomposition.solver,
        third_eigenvalues=decomposition.third_eigenvalues.tolist(),
        fourth_eigenvalues=decomposition.fourth_eigenvalues.tolist(), residual=decomposition.residual,
        probabilities=fit.model.probabilities.tolist(), probabilities_from_mean=from_mean,
        probabilities_from_eigenvalues=recovery.from_eigenvalues.tolist(), offset=recovery.offset,
        offset_misfit=recovery.offset_misfit, unidentified=recovery.unidentified,
        passes=[{"name": p["name"], "seconds": p["seconds"], "rows": p["documents"]} for p in run.passes],
        seconds=dict(run.seconds), seed=settings.seed, versions=versions(), settings=asdict(settings), source=source,
        concentration=concentration,
        log_prior=log_prior_of_codes(fit.means.rows, fit.model.probabilities, concentration),
        kurtosis=fit.kurtosis, basis_size=fit.state.basis.size, sources=list(fit.state.sources), warnings=run.warnings,
    )
