"""One fit of topics, step by step: census → weights → range → moments → solve → sample → settle → check."""

import time
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.checkpoints import Checkpoints, DirectoryCheckpoints, run_key
from spectral_spark.engine.choose_corpus import open_documents, sweeps_here
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.memory import check_memory, held_bytes
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.fit.advice import warn_of_balance, warn_of_containers, warn_of_layers, warn_of_noise
from spectral_spark.fit.basis_step import basis_weights, check_basis, find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics, fitted_topics, make_summary
from spectral_spark.fit.gibbs_step import sample_topics
from spectral_spark.fit.moment_step import check_groups, collect_moments, warn_of_fixed_tree
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.fit.rank_step import basis_for_rank
from spectral_spark.fit.refine_step import settle_topics
from spectral_spark.fit.remember import kept_sample, known_documents
from spectral_spark.fit.sample_check import sample_check
from spectral_spark.fit.seed_step import (
    check_seeds,
    numbered,
    reported_seeds,
    seed_prior,
    seeded_labels,
    seeded_start,
    with_room,
)
from spectral_spark.fit.settings_check import check_tree
from spectral_spark.fit.solve_step import Solved, solve_moments, with_chosen_tensors
from spectral_spark.fit.stability import with_stability
from spectral_spark.fit.third_step import basis_from_sample, sample_for_solving
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.subtree import subtree
from spectral_spark.version import __version__


@one_thread
def fit_topics(
    frame: DataFrame,
    columns: DocumentColumns,
    settings: FitSettings,
    *,
    vocabulary: tuple[str, ...] | None = None,
    vocab_size: int | None = None,
    basis: Basis | None = None,
    moments: MomentState | None = None,
    progress: Progress | None = None,
    checkpoint_dir: str | None = None,
) -> FittedTopics:
    """Fit topics to the documents of a DataFrame; ``moments`` of the same documents in ``basis`` save their pass."""
    started = time.perf_counter()
    if vocabulary and vocab_size and len(vocabulary) != vocab_size:
        raise InputError(f"`vocabSize` is {vocab_size} but the vocabulary has {len(vocabulary)} words")
    size = len(vocabulary) if vocabulary else vocab_size
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=size)
    words = vocabulary_fingerprint(vocabulary)
    if basis is not None:
        check_basis(basis, source.vocab_size, vocabulary, settings.k)
    width = basis.size if basis is not None else settings.basis_columns(source.vocab_size)
    k = None if settings.k == "auto" else int(settings.k)
    check_seeds(settings, vocabulary)
    third = settings.collects_third(width, source.words) if basis is None else settings.collects_third(width - 1)
    here = settings.samples_all(source.words) and sweeps_here(frame.sparkSession, source.entries)
    sampled = source.words if here else settings.search_words(k or width // 2, source.words)
    held = held_bytes(source.rows, sampled)
    need = check_memory(source.rows, source.vocab_size, width, frame.sparkSession, k=k, third=third, held=held)
    key = run_key(source.fingerprint, source.vocab_size, settings.as_dict(), words, basis.fingerprint if basis else "",
                  __version__)
    checkpoints = DirectoryCheckpoints(checkpoint_dir, key) if checkpoint_dir else Checkpoints()
    run = FitRun(progress or Progress(), checkpoints)
    warn_of_containers(need, frame.sparkSession, run)
    known = moments if moments is not None and list(moments.sources) == [source.fingerprint] else None
    planned = planned_passes(settings, source.vocab_size, source.words, basis is not None)
    run.progress.plan(sum(planned.values()) - (0 if known is None else planned["moments"]), source.rows)
    with open_documents(source, PackSettings(source.vocab_size, settings.cap), progress=run.progress) as corpus:
        run.timed("census", started)
        run.finished_pass("census", source.rows, started)
        fitted = _fit_counted(corpus, settings, vocabulary, basis, run, source.fingerprint, known)
    checkpoints.clear()
    run.timed("total", started)
    return replace(fitted, summary=replace(fitted.summary, seconds=dict(run.seconds)))


def _fit_counted(
    corpus: CountedCorpus, settings: FitSettings, vocabulary: tuple[str, ...] | None, basis: Basis | None, run: FitRun,
    source: str, known: MomentState | None = None,
) -> FittedTopics:
    """The steps that follow the census; ``known`` are the moments of these documents, where a model has them."""
    check_tree(settings, corpus.census.tree)
    check_groups(corpus, settings)
    warn_of_layers(corpus.census, settings, run)
    warn_of_balance(corpus.census, settings, run)
    weights = basis_weights(corpus, settings)
    words = vocabulary_fingerprint(vocabulary)
    mergeable = basis is not None                   # a basis that was given is one that others share
    with run.timing("range"):
        if basis is None and settings.grows_basis:
            basis = basis_for_rank(corpus, weights, settings, words, run, source)
        columns = basis.size - 1 if basis else settings.basis_columns(corpus.vocab_size)
        third = settings.collects_third(columns, 0 if mergeable else corpus.tokens)
        documents = None if third else sample_for_solving(corpus, settings)
        if basis is None:
            basis = find_basis(corpus, weights, settings, words, run) if documents is None else (
                basis_from_sample(documents, corpus, settings, words, run)
            )
    with run.timing("moments"):
        moments = collect_moments(corpus, basis, settings, run, source, third=third) if known is None else known
        warn_of_fixed_tree(moments, run)
    solved, topics = refined_topics(moments, corpus, settings, run, documents, vocabulary)
    with run.timing("check"):
        sample = sample_check(
            corpus, basis, topics, run, cap=settings.cap, by_length=weights.by_length, seed=settings.seed
        )
    order = numbered(topics, settings.seeds)
    seeds = reported_seeds(topics, order, settings.seeds, vocabulary, run)
    summary = make_summary(settings, moments, solved.solution, topics, run, corpus.dropped, corpus.tokens)
    fitted = fitted_topics(topics, moments, replace(summary, sample=sample, seeds=seeds), vocabulary, order=order)
    kept = documents if settings.replay_words else None
    kept = kept if kept is not None else kept_sample(corpus, settings, third=moments.has_third)
    return replace(fitted, known=known_documents(corpus, run), sample=kept, labels=seeded_labels(seeds))


def refined_topics(
    moments: MomentState, corpus: CountedCorpus, settings: FitSettings, run: FitRun,
    documents: KeptSample | None = None, vocabulary: tuple[str, ...] | None = None,
) -> tuple[Solved, Topics]:
    """What the moments say alone, and after sampling and refinement where these are asked for.

    ``documents`` stand for third moments that were not collected; seeds name words of the ``vocabulary``.
    """
    with run.timing("solve"):
        solved = solve_moments(moments, settings, corpus, run, documents)
        warn_of_noise(solved.solution.rank, run)
    k = solved.topics.topics.shape[1]
    topics = seeded_start(solved.topics, seed_prior(settings.seeds, vocabulary, k, run))
    if settings.refines:
        with run.timing("refine"):
            sampled = sample_topics(topics, corpus, settings, run)
            topics = with_stability(settle_topics(sampled, corpus, settings, run), run)
            chosen = {name: value for name, value in solved.topics.report.items() if name == "concentrations_chosen"}
            topics = replace(topics, report={**chosen, **topics.report})
    return solved, topics


@one_thread
def basis_of(
    frame: DataFrame, columns: DocumentColumns, settings: FitSettings, vocabulary: tuple[str, ...] | None,
    vocab_size: int | None, progress: Progress | None = None,
) -> Basis:
    """Only the basis that a fit would find."""
    size = len(vocabulary) if vocabulary else vocab_size
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=size)
    run = FitRun(progress or Progress())
    passes = settings.range_passes_at_most(settings.basis_columns(source.vocab_size), source.words)
    run.progress.plan(1 + passes, source.rows)
    with open_documents(source, PackSettings(source.vocab_size, settings.cap), progress=run.progress) as corpus:
        return find_basis(corpus, basis_weights(corpus, settings), settings, vocabulary_fingerprint(vocabulary), run)


def topics_below(fitted: FittedTopics, path: Sequence[str], settings: FitSettings) -> FittedTopics:
    """Topics of the documents at or below a node, without its documents."""
    if fitted.moments is None:
        raise InputError("this model was saved without its moments; fit again to solve those of a subtree")
    moments = subtree(fitted.moments, path)
    summary = replace(fitted.summary, tokens=moments.tokens, dropped={}, refinement={})
    return solve_again(replace(fitted, moments=moments, summary=summary, known=None, sample=None), settings)


@one_thread
def solve_again(fitted: FittedTopics, settings: FitSettings) -> FittedTopics:
    """Other topics from the moments of a fit, without its documents."""
    if fitted.moments is None:
        raise InputError("this model was saved without its moments; fit again to solve with other settings")
    started = time.perf_counter()
    run = FitRun()
    settings = with_chosen_tensors(settings, fitted.summary.refinement, fitted.moments)
    solved = solve_moments(fitted.moments, settings, None, run, fitted.sample)
    warn_of_noise(solved.solution.rank, run)
    settings = with_room(settings, solved.topics.topics.shape[1], run)
    topics = seeded_start(solved.topics, seed_prior(settings.seeds, fitted.vocabulary, solved.topics.topics.shape[1]))
    run.timed("solve", started)
    order, old = numbered(topics, settings.seeds), fitted.summary
    seeds = reported_seeds(topics, order, settings.seeds, fitted.vocabulary, run)
    summary = make_summary(settings, fitted.moments, solved.solution, topics, run, old.dropped, old.tokens)
    again = fitted_topics(topics, fitted.moments, replace(summary, seeds=seeds), fitted.vocabulary, order=order)
    return replace(again, known=fitted.known, sample=fitted.sample, labels=seeded_labels(seeds))
