"""Updates of a feature model: sums are added or subtracted exactly, and the features are solved again from them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.batch_size import small_batches
from spectral_spark.engine.checkpoints import Checkpoints, DirectoryCheckpoints, run_key
from spectral_spark.engine.choose_corpus import open_rows
from spectral_spark.engine.corpus import Corpus
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.rows import RowFrame, inspect_rows, refuse_other_width, without_rows
from spectral_spark.errors import InputError
from spectral_spark.fit.arrivals import DocumentTally, refusal, sorted_out
from spectral_spark.fit.feature_matching import match_features
from spectral_spark.fit.fit_features import FittedFeatures, corpus_runner, feature_summary
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.feature_state import FeatureState
from spectral_spark.ibp.solve_features import IbpFit, IbpSettings, collect_state, largest_state, solve_state
from spectral_spark.ibp.solve_state import captured_share
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.moments.sources import removal
from spectral_spark.version import __version__

LEAST_CAPTURED = 0.9


@dataclass(frozen=True, eq=False)
class RowArrivals:
    """The rows of an update that are to be added or removed: where they are, what the model will know of them, their
    fingerprint, and how many there were of each kind. ``corpus`` is None if none is left."""

    corpus: Corpus | None
    identities: KnownDocuments | None
    source: str
    tally: DocumentTally | None


@one_thread
def update_rows(
    fitted: FittedFeatures,
    frame: DataFrame,
    features: str,
    *,
    id_column: str | None = None,
    remove: bool = False,
    skip_known: bool = False,
    progress: Progress | None = None,
    checkpoint_dir: str | None = None,
) -> FittedFeatures:
    """A model of the rows of ``fitted`` and those in ``frame`` or, with ``remove``, without those in ``frame``."""
    started = time.perf_counter()
    state = growing_state(fitted)
    settings = settings_before(fitted)
    source = inspect_rows(frame, features, id_column, missing_allowed=settings.missing != "refuse")
    refuse_other_width(np.array([source.width]), state.basis.width)
    if fitted.known is None and _already(state, source.fingerprint, remove, skip_known):
        return _unchanged(fitted, None)
    run = FitRun(progress or Progress(), _checkpoints(checkpoint_dir, state, source, remove, settings))
    run.progress.plan(1, source.rows)
    with _open_arrivals(source, fitted.known, settings, run, remove=remove, skip_known=skip_known) as arrivals:
        if arrivals.corpus is None:
            return _unchanged(fitted, arrivals.tally)
        with small_batches(frame.sparkSession, source.width):
            name = _source_name(state, arrivals, remove)
            arriving = collect_state(corpus_runner(arrivals.corpus, run), state.basis, settings.missing, name)
    total = state - arriving if remove else state + arriving
    known = None
    if fitted.known is not None and arrivals.identities is not None:
        known = fitted.known - arrivals.identities if remove else fitted.known + arrivals.identities
    run.checkpoints.clear()
    return finished(fitted, total, known, settings, run, started, arrivals.tally)


@one_thread
def merge_rows(fitted: FittedFeatures, other: FittedFeatures) -> FittedFeatures:
    """A model of the rows of both. No rows are read."""
    started = time.perf_counter()
    state, theirs = growing_state(fitted), growing_state(other)
    known = None
    if fitted.known is not None and other.known is not None:
        common = int((~fitted.known.arriving(other.known).new).sum())
        if common:
            raise InputError(f"{common:,} rows are in both models and would count twice; remove them from one first")
        known = fitted.known + other.known
    return finished(fitted, state + theirs, known, settings_before(fitted), FitRun(), started, None)


@one_thread
def solve_rows_again(fitted: FittedFeatures, settings: IbpSettings) -> FittedFeatures:
    """Features with other settings from the stored sums alone."""
    started, run = time.perf_counter(), FitRun()
    fit = solve_state(growing_state(fitted), replace(settings, polish=0))
    run.timed("total", started)
    return replace(fitted, model=fit.model, summary=_summary(fitted, fit, settings, run), changes=None)


def growing_state(fitted: FittedFeatures) -> FeatureState:
    """The sums of a model that rows can be added to."""
    if fitted.state is None:
        raise InputError("this model was saved by a version that did not keep its moments, so nothing can be added, "
                         "removed, merged or solved again; fit it again")
    return fitted.state


def settings_before(fitted: FittedFeatures) -> IbpSettings:
    """The settings of a model, with what its fit has found: the kurtosis, and whether there is an offset."""
    settings, summary = IbpSettings.from_dict(fitted.summary.settings), fitted.summary
    kurtosis = summary.kurtosis if settings.kurtosis is not None else None
    offset = summary.offset if settings.offset == "auto" and summary.kind == "binary" else settings.offset
    return replace(settings, kurtosis=kurtosis, offset=offset)


def finished(
    fitted: FittedFeatures, total: FeatureState, known: KnownDocuments | None, settings: IbpSettings, run: FitRun,
    started: float, tally: DocumentTally | None,
) -> FittedFeatures:
    """The model of the new sums, with what has changed since the one before."""
    fit = solve_state(total, settings)
    if settings.polish:
        run.warn("the features were polished on rows that are gone; those of an update come from the moments alone. A "
                 "new fit polishes them again")
    captured = captured_share(total, fit.model.k)
    if captured < LEAST_CAPTURED:
        run.warn(f"the basis holds {captured:.0%} of the variance of the {fit.model.k} strongest directions of the "
                 "rows; consider a new fit")
    match = match_features(fit.model.dictionary, fitted.model.dictionary)
    model = _reordered(fit.model, match.order)
    run.timed("total", started)
    changes: dict[str, Any] = match.as_dict() | {
        "rows_before": fitted.summary.rows, "rows_after": fit.means.rows, "basis_share": captured,
        "documents": tally.as_dict() if tally else None, "warnings": list(run.warnings),
    }
    ordered = replace(fit, model=model, recovery=_recovery_in(fit, match.order))
    return FittedFeatures(model, _summary(fitted, ordered, settings, run), total, known, changes)


def _summary(fitted: FittedFeatures, fit: IbpFit, settings: IbpSettings, run: FitRun) -> Any:
    summary = feature_summary(fit, settings, run, fitted.summary.source)
    return replace(summary, input=fitted.summary.input)


def _reordered(model: FeatureModel, order: np.ndarray) -> FeatureModel:
    return replace(model, dictionary=model.dictionary[:, order], probabilities=model.probabilities[order])


def _recovery_in(fit: IbpFit, order: np.ndarray) -> Any:
    recovery = fit.recovery
    return replace(recovery, from_mean=recovery.from_mean[order], from_eigenvalues=recovery.from_eigenvalues[order])


@contextmanager
def _open_arrivals(
    source: RowFrame, known: KnownDocuments | None, settings: IbpSettings, run: FitRun, *, remove: bool,
    skip_known: bool,
) -> Iterator[RowArrivals]:
    """Open the rows that a model does not know, or, to remove them, those that it does; skip or refuse others."""
    size = largest_state(source.width, settings)
    with open_rows(source, state_bytes=size, progress=run.progress) as corpus:
        if known is None:
            yield RowArrivals(corpus, None, source.fingerprint, None)
            return
        batch = KnownDocuments(*corpus.identities())
        tally, fit = sorted_out(known, batch, remove=remove)
        if fit.all():
            yield RowArrivals(corpus, batch, source.fingerprint, tally)
            return
        if not skip_known:
            raise InputError(refusal(tally, remove=remove, what="rows", differently="other values"))
        unfit = batch.keys[~fit]
    rest = without_rows(source, unfit)
    if rest is None or not fit.any():
        yield RowArrivals(None, batch.selected(fit), source.fingerprint, tally)
        return
    with open_rows(rest, state_bytes=size, progress=run.progress) as corpus:
        yield RowArrivals(corpus, KnownDocuments(*corpus.identities()), rest.fingerprint, tally)


def _source_name(state: FeatureState, arrivals: RowArrivals, remove: bool) -> str:
    """The fingerprint of the rows, with a mark if the same set was added or removed before: rows are known one by one,
    so a set may come again after all of its rows were removed."""
    name = arrivals.source
    if arrivals.identities is not None:
        while (removal(name) if remove else name) in state.sources:
            name += "+"
    return name


def _already(state: FeatureState, source: str, remove: bool, skip_known: bool) -> bool:
    done = removal(source) in state.sources if remove else source in state.sources
    if done and not skip_known:
        what = "were removed from this model before" if remove else "are in this model already"
        raise InputError(f"these rows (fingerprint {source}) {what}; skip them with `skipKnown=True`")
    return done


def _unchanged(fitted: FittedFeatures, tally: DocumentTally | None) -> FittedFeatures:
    changes = match_features(fitted.model.dictionary, fitted.model.dictionary).as_dict()
    changes |= {"rows_before": fitted.summary.rows, "rows_after": fitted.summary.rows, "warnings": []}
    return replace(fitted, changes=changes | {"documents": tally.as_dict() if tally else None})


def _checkpoints(
    directory: str | None, state: FeatureState, source: RowFrame, remove: bool, settings: IbpSettings
) -> Checkpoints:
    if not directory:
        return Checkpoints()
    key = run_key(source.fingerprint, remove, state.basis.fingerprint, state.sources, settings.missing, __version__)
    return DirectoryCheckpoints(directory, key)
