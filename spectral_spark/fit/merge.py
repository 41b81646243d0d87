"""Merges two models: the moments are added exactly, the topics are matched, and both samples are replayed."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from spectral_spark.data.one_thread import one_thread
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics
from spectral_spark.fit.replay import replayed_sample
from spectral_spark.fit.seed_step import seeds_first
from spectral_spark.fit.solve_step import Solved, solve_moments
from spectral_spark.fit.topic_matching import match_topics, ordered
from spectral_spark.fit.update import as_before, finished, growing
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.refine.topic_merging import merge_labels, merged


@one_thread
def merge_topics(
    fitted: FittedTopics, other: FittedTopics, *, spark: SparkSession | None = None, progress: Progress | None = None
) -> FittedTopics:
    """A model of the documents of both, made in the same basis.

    It has as many topics as were asked for in the first model; with k = "auto", as many as the moments of both show,
    and at least as many as the larger model has. The samples that both models kept are replayed; without them the
    topics are averages.
    """
    started = time.perf_counter()
    moments, settings = growing(fitted)
    theirs, _ = growing(other)
    if fitted.vocabulary and other.vocabulary and fitted.vocabulary != other.vocabulary:
        raise InputError("the models have different vocabularies; fit both with one basis (same words, same order)")
    known = _known_in_both(fitted, other)
    total = moments + theirs
    run = FitRun(progress or Progress())
    sample = fitted.sample + other.sample if fitted.sample is not None and other.sample is not None else None
    solved = solve_moments(total, as_before(settings, fitted, total), None, run, sample)
    topics = ordered(solved.topics, fitted)
    if settings.refines:
        topics = _merged(fitted, other, total)
    topics = seeds_first(topics, fitted, settings)
    if settings.refines:
        topics = _reduced(topics, _wanted(settings, fitted, other, solved))
    if spark is not None and sample is not None and settings.refines:
        topics = replayed_sample(topics, total.census.tree, sample, settings, run, spark)
    run.timed("total", started)
    dropped = {
        name: fitted.summary.dropped.get(name, 0) + other.summary.dropped.get(name, 0)
        for name in {**fitted.summary.dropped, **other.summary.dropped}
    }
    tokens = fitted.summary.tokens + other.summary.tokens
    result = finished(fitted, topics, solved, total, run, tokens, dropped, settings, None)
    summary = replace(result.summary, extra=_both_corpora(result.summary.extra, other))
    return replace(result, summary=summary, known=known, sample=sample)


def _known_in_both(fitted: FittedTopics, other: FittedTopics) -> KnownDocuments | None:
    """The documents of both models; refuses models that share documents, which would count twice."""
    if fitted.known is None or other.known is None:
        return None
    common = int((~fitted.known.arriving(other.known).new).sum())
    if common:
        raise InputError(f"{common:,} documents are in both models and would count twice; remove them from one first")
    return fitted.known + other.known


def _wanted(settings: FitSettings, fitted: FittedTopics, other: FittedTopics, solved: Solved) -> int:
    """How many topics the merged model is to have."""
    mine, theirs, both = (found.topics.shape[1] for found in (fitted, other, solved.topics))
    return max(mine, theirs, both) if settings.k == "auto" else mine


def _reduced(topics: Topics, k: int) -> Topics:
    """At most k topics: the most similar ones are merged."""
    if topics.topics.shape[1] <= k:
        return topics
    fixed = 0 if topics.seeds is None else topics.seeds.topics
    labels = merge_labels(topics.topics * topics.weights, k, fixed)
    counts = merged(topics.topics * topics.weights, labels)
    weights = counts.sum(axis=0)
    return replace(
        topics, topics=counts / weights, weights=weights / weights.sum(),
        node_proportions=merged(topics.node_proportions, labels),
        evidence=None if topics.evidence is None else merged(topics.evidence, labels),
    )


def _merged(fitted: FittedTopics, other: FittedTopics, total: MomentState) -> Topics:
    """Refined topics of two models: matched topics are averaged, weighted by their words; the others are kept."""
    match = match_topics(other.topics, fitted.topics)
    k, fresh = fitted.topics.shape[1], int((match.previous < 0).sum())
    mine = fitted.topics * (fitted.weights * fitted.summary.tokens)
    theirs = other.topics * (other.weights * other.summary.tokens)
    statistics = np.hstack([mine, np.zeros((len(mine), fresh))])
    place = np.where(match.previous >= 0, match.previous, k + np.cumsum(match.previous < 0) - 1)
    statistics[:, place] += theirs[:, match.order]
    tree = total.census.tree
    counts = np.zeros((len(tree), k + fresh))
    counts[tree.assign(fitted.nodes.paths), :k] += fitted.nodes.proportions * fitted.nodes.documents[:, None]
    rows = tree.assign(other.nodes.paths)
    counts[np.ix_(rows, place)] += (other.nodes.proportions * other.nodes.documents[:, None])[:, match.order]
    weights = statistics.sum(axis=0)
    proportions = (counts + weights / weights.sum()) / (counts.sum(axis=1, keepdims=True) + 1.0)
    return Topics(
        statistics / weights, weights / weights.sum(), proportions, tuple(fitted.summary.concentrations),
        fitted.document_concentration, {"merged": True},
    )


def _both_corpora(extra: dict[str, Any], other: FittedTopics) -> dict[str, Any]:
    """The report with what was dropped on reading the documents of both models, if both have recorded it."""
    mine, theirs = extra.get("corpus"), other.summary.extra.get("corpus")
    if not mine or not theirs:
        return extra
    one, two = mine.get("dropped", {}), theirs.get("dropped", {})
    dropped = {reason: one.get(reason, 0) + two.get(reason, 0) for reason in one | two}
    return {**extra, "corpus": {**mine, "dropped": dropped}}


