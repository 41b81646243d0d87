"""One fit, step by step: census, basis, moments, solve, refine."""

import platform
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow
import pyspark
import scipy
from pyspark.sql import DataFrame

from spectral_spark.data.hashing import is_fingerprint_of, vocabulary_fingerprint
from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.checkpoints import Checkpoints, DirectoryCheckpoints, run_key
from spectral_spark.engine.counted_corpus import CensusResult, take_census
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.memory import check_memory
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_summary import FitSummary
from spectral_spark.fit.moment_step import Run, check_groups, collect_moments, find_basis, warn_of_fixed_tree
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.fit.refine_step import Topics, refine_topics
from spectral_spark.fit.sample_check import sample_check
from spectral_spark.fit.solve_step import solve_moments
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.tree.bounds import moment_bound, tensor_bound
from spectral_spark.tree.weights import node_weights
from spectral_spark.version import __version__

DELTA = 0.05


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """What a fit found.

    Attributes
    ----------
    topics : array of shape (d, k), positive, columns sum to one, heaviest topic first.
    weights : array of shape (k,), sums to one; shares of the words, each as often as its document counted.
    vocabulary : the words, or None.
    nodes : the tree with its proportions.
    summary : the run report.
    moments : the additive summary of the corpus; None in a model that was saved without it.
    document_concentration : total Dirichlet weight of a document's prior.
    changes : how topics moved in an update, or None.
    """

    topics: np.ndarray
    weights: np.ndarray
    vocabulary: tuple[str, ...] | None
    nodes: NodeTable
    summary: FitSummary
    moments: MomentState | None
    document_concentration: float
    changes: dict[str, Any] | None = None

    @classmethod
    def from_files(cls, files: TopicModelFiles, moments: MomentState | None) -> "FittedTopics":
        summary = FitSummary.fromDict(files.summary)
        return cls(
            files.topics, files.weights, files.vocabulary, files.nodes, summary, moments,
            float(summary.document_concentration or 1.0), files.changes,
        )


@one_thread
def fit_topics(
    frame: DataFrame,
    columns: DocumentColumns,
    settings: FitSettings,
    *,
    vocabulary: tuple[str, ...] | None = None,
    vocab_size: int | None = None,
    basis: Basis | None = None,
    progress: Progress | None = None,
    checkpoint_dir: str | None = None,
) -> FittedTopics:
    """Fit topics to the documents of a DataFrame."""
    started = time.perf_counter()
    if vocabulary and vocab_size and len(vocabulary) != vocab_size:
        raise InputError(f"vocabSize is {vocab_size} but the vocabulary has {len(vocabulary)} words")
    size = len(vocabulary) if vocabulary else vocab_size
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=size)
    words = vocabulary_fingerprint(vocabulary)
    if basis is not None:
        _check_basis(basis, source.vocab_size, vocabulary, settings.k)
    check_memory(source.rows, source.vocab_size, settings.basis_columns(source.vocab_size), frame.sparkSession)
    key = run_key(source.fingerprint, source.vocab_size, settings.as_dict(), words, basis.fingerprint if basis else "",
                  __version__)
    checkpoints = DirectoryCheckpoints(checkpoint_dir, key) if checkpoint_dir else Checkpoints()
    run = Run(progress or Progress(), checkpoints)
    packed = pack_counts(source, PackSettings(source.vocab_size, settings.cap))
    try:
        planned = planned_passes(settings, source.vocab_size, basis is not None)
        run.progress.plan(sum(planned.values()), source.rows)
        with run.progress.watch(frame.sparkSession, "census"):
            corpus = take_census(packed)
        run.timed("census", started)
        run.log.timed("census", source.rows, started)
        fitted = fit_packed(corpus, settings, source.vocab_size, vocabulary, basis, run, source.fingerprint)
    finally:
        packed.release()
    checkpoints.clear()
    run.timed("total", started)
    return replace(fitted, summary=replace(fitted.summary, seconds=dict(run.seconds)))


def _check_basis(basis: Basis, vocab_size: int, words: tuple[str, ...] | None, k: int | str) -> None:
    if basis.vocab_size != vocab_size:
        raise InputError(f"the basis is over {basis.vocab_size} words and the documents over {vocab_size}; bring the "
                         "documents into the vocabulary of the basis, as fit --basis does")
    if words and basis.vocabulary_fingerprint and not is_fingerprint_of(basis.vocabulary_fingerprint, words):
        raise InputError("the basis was made for other words than the documents', or in another order; bring the "
                         "documents into the vocabulary of the basis, as fit --basis does")
    if k != "auto" and int(k) > basis.size:
        raise SettingsError(f"k is {k} but the basis has {basis.size} columns; make one for that many topics "
                            "(spectral-spark basis --k), or ask for fewer")


@one_thread
def basis_of(
    frame: DataFrame, columns: DocumentColumns, settings: FitSettings, vocabulary: tuple[str, ...] | None,
    vocab_size: int | None, progress: Progress | None = None,
) -> Basis:
    """Only the basis that a fit would find."""
    size = len(vocabulary) if vocabulary else vocab_size
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=size)
    packed = pack_counts(source, PackSettings(source.vocab_size, settings.cap))
    try:
        run = Run(progress or Progress())
        run.progress.plan(1 + settings.range_passes, source.rows)
        with run.progress.watch(frame.sparkSession, "census"):
            corpus = take_census(packed)
        weights = node_weights(corpus.census, settings.weighting)
        return find_basis(corpus, weights, settings, vocabulary_fingerprint(vocabulary), run)
    finally:
        packed.release()


def fit_packed(
    corpus: CensusResult, settings: FitSettings, d: int, vocabulary: tuple[str, ...] | None, basis: Basis | None,
    run: Run, source: str,
) -> FittedTopics:
    """The same from a corpus that is packed and counted."""
    check_groups(corpus, settings)
    weights = node_weights(corpus.census, settings.weighting)
    at = time.perf_counter()
    if basis is None:
        basis = find_basis(corpus, weights, settings, vocabulary_fingerprint(vocabulary), run)
    run.timed("range", at)
    at = time.perf_counter()
    moments = collect_moments(corpus, basis, settings, run, source)
    warn_of_fixed_tree(moments, run)
    run.timed("moments", at)
    at = time.perf_counter()
    solved = solve_moments(moments, settings, corpus, run)
    run.timed("solve", at)
    at = time.perf_counter()
    topics = refine_topics(solved.topics, corpus, settings, run)
    run.timed("refine", at)
    at = time.perf_counter()
    sample = sample_check(
        corpus, basis, topics, run, cap=settings.cap, by_length=weights.by_length, seed=settings.seed
    )
    run.timed("check", at)
    summary = make_summary(settings, moments, solved.solution, topics, run, corpus.dropped, corpus.tokens)
    summary = replace(summary, sample=sample)
    return fitted_topics(topics, moments, summary, vocabulary)


@one_thread
def solve_again(fitted: FittedTopics, settings: FitSettings) -> FittedTopics:
    """Other topics from the moments of a fit, without its documents."""
    if fitted.moments is None:
        raise InputError("this model was saved without its moments; fit again to solve with other settings")
    started = time.perf_counter()
    run = Run()
    solved = solve_moments(fitted.moments, settings, None, run)
    run.timed("solve", started)
    old = fitted.summary
    summary = make_summary(settings, fitted.moments, solved.solution, solved.topics, run, old.dropped, old.tokens)
    return fitted_topics(solved.topics, fitted.moments, summary, fitted.vocabulary)


def fitted_topics(
    topics: Topics, moments: MomentState, summary: FitSummary, vocabulary: tuple[str, ...] | None, *,
    order: np.ndarray | None = None,
) -> FittedTopics:
    """Put together what a fit returns; topics in the given order, or the heaviest first."""
    order = np.argsort(-topics.weights, kind="stable") if order is None else order
    census = moments.census
    nodes = NodeTable(
        census.tree.paths, census.documents_below,
        node_weights(census, moments.weighting).effective_sample_size,
        np.ascontiguousarray(topics.node_proportions[:, order]),
    )
    return FittedTopics(
        np.ascontiguousarray(topics.topics[:, order]), topics.weights[order], vocabulary, nodes, summary, moments,
        topics.document_concentration,
    )


def make_summary(
    settings: FitSettings, moments: MomentState, solution: TopicSolution, topics: Topics, run: Run,
    dropped: dict[str, int], tokens: int,
) -> FitSummary:
    """The run report."""
    n_eff = float(node_weights(moments.census, moments.weighting).effective_sample_size[0])
    rank = solution.rank
    return FitSummary(
        k=int(topics.topics.shape[1]), documents=int(moments.census.documents.sum()), terms=len(topics.topics),
        tokens=int(tokens), dropped=dict(dropped), effective_sample_size=n_eff,
        concentrations=[float(g) for g in topics.concentrations], weighting=settings.weighting, solver=settings.solver,
        spectrum=[float(value) for value in rank.spectrum], residual=float(solution.decomposition.residual),
        passes=[{"name": r.name, "seconds": r.seconds, "documents": r.documents} for r in run.log.records],
        seconds=dict(run.seconds), seed=settings.seed, versions=versions(),
        noise_floor=None if rank.noise_floor is None else float(rank.noise_floor), rank_rule=rank.rule,
        rank_reason=rank.reason, iterations=int(solution.decomposition.iterations),
        converged=bool(solution.decomposition.converged), document_concentration=topics.document_concentration,
        bounds={"delta": DELTA, "moments": moment_bound(n_eff, DELTA), "tensor": tensor_bound(n_eff, DELTA)},
        settings=settings.as_dict(), refinement=topics.report, sources=list(moments.sources),
        basis=moments.basis.fingerprint, spectral_concentrations=[float(g) for g in solution.concentrations or ()],
        extra={"warnings": list(run.warnings)} if run.warnings else {},
    )


def versions() -> dict[str, str]:
    """Of what the result may depend on."""
    return {
        "spectral_spark": __version__, "python": platform.python_version(), "spark": pyspark.__version__,
        "numpy": np.__version__, "scipy": scipy.__version__, "pyarrow": pyarrow.__version__,
    }
