"""Replay: refines an updated model over a sample of its old documents together with the new ones."""

import time
from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.documents import DocumentColumns, DocumentFrame, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.sample_corpus import open_sample
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.gibbs_step import sample_topics, start_state
from spectral_spark.fit.refine_step import settle_topics
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.tree.nodes import DocumentTree

REPLAY_SWEEPS = 20          # chosen by measurement: benchmarks/nights.py
SAME_TOPIC = 0.5            # a topic that keeps less of its probability mass is replaced instead of moved
SHRINK = 0.01               # a word keeps at least this share of its probability in the sample


def documents_to_replay(
    old: DataFrame, new: DataFrame | None, columns: DocumentColumns, settings: FitSettings, vocab_size: int
) -> DocumentFrame:
    """The old documents and the new ones, if any."""
    names = (columns.features, columns.terms, columns.counts, columns.path, columns.id)
    used = [name for name in names if name is not None]
    frame = old.select(*used)
    if new is not None:
        frame = frame.unionByName(new.select(*used))
    return inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=vocab_size)


def replayed_topics(
    topics: Topics, tree: DocumentTree, source: DocumentFrame, settings: FitSettings, run: FitRun
) -> Topics:
    """Sampling and refinement from the current topics, whose proportions belong to the nodes of ``tree``.

    With a group balance, a document counts by the size of its group among the replayed documents.
    """
    with open_documents(source, PackSettings(source.vocab_size, settings.cap), progress=run.progress) as corpus:
        seen = corpus.census.tree
        proportions = seen.inherit(tree.paths, topics.node_proportions, topics.weights)
        sampled = sample_topics(replace(topics, node_proportions=proportions), corpus, settings, run)
        refined = settle_topics(sampled, corpus, settings, run)
    return replace(refined, node_proportions=_put_back(topics, tree, refined, seen))


def _put_back(topics: Topics, tree: DocumentTree, refined: Topics, seen: DocumentTree) -> np.ndarray:
    """Refined proportions of the nodes that were seen, the old ones of the others; shape (nodes, k)."""
    died = set(refined.report.get("dropped_topics", []))
    alive = [topic for topic in range(topics.topics.shape[1]) if topic not in died]
    rows = topics.node_proportions[:, alive] + 1e-12 / len(alive)
    rows /= rows.sum(axis=1, keepdims=True)
    known = dict(zip(seen.paths, refined.node_proportions, strict=True))
    for node, path in enumerate(tree.paths):
        if path in known:
            rows[node] = known[path]
    return rows


def replayed_sample(
    topics: Topics, tree: DocumentTree, sample: KeptSample, settings: FitSettings, run: FitRun, spark: SparkSession
) -> Topics:
    """A short Gibbs warm-up and a pass of EM over the sample that was kept with the model.

    If the sample is a subset of the documents, the topics of all documents move as the topics of the sample moved.
    """
    started = time.perf_counter()
    corpus = open_sample(spark, sample.documents, sample.paths, settings.cap, run.progress)
    seen = corpus.census.tree
    proportions = seen.inherit(tree.paths, topics.node_proportions, topics.weights)
    start, quick = replace(topics, node_proportions=proportions), _quick(settings)
    sampled = sample_topics(start, corpus, quick, run)
    refined = settle_topics(sampled, corpus, quick, run)
    if sample.rate < 1.0 and refined.topics.shape == topics.topics.shape:
        before = settle_topics(start_state(start, corpus, quick), corpus, quick, FitRun(run.progress), passes=0)
        refined = _moved(topics, before, refined)
    report = {
        "documents": len(sample), "words": sample.words, "rate": round(sample.rate, 6),
        "sweeps": refined.report["sweeps"], "seconds": round(time.perf_counter() - started, 3),
    }
    result = replace(refined, node_proportions=_put_back(topics, tree, refined, seen))
    return replace(result, report={**result.report, "replay": report})


def _quick(settings: FitSettings) -> FitSettings:
    """Settings with fewer sweeps and one pass, since the topics are already good."""
    asked = settings.explore_sweeps
    sweeps = REPLAY_SWEEPS if asked == "auto" else min(int(asked), REPLAY_SWEEPS)
    return replace(settings, explore_sweeps=sweeps, refine_passes=1)


def _moved(topics: Topics, before: Topics, after: Topics) -> Topics:
    """The topics of all documents, moved from the sample's topics before to those after; changed ones are replaced."""
    old, sample_old, sample_new = (part.topics * part.weights for part in (topics, before, after))
    same = 1.0 - 0.5 * np.abs(before.topics - after.topics).sum(axis=0) >= SAME_TOPIC
    counts = np.where(same, np.maximum(old + sample_new - sample_old, SHRINK * sample_new), sample_new)
    weights = counts.sum(axis=0)
    return replace(after, topics=counts / weights, weights=weights / weights.sum())
