"""Replay: refines an updated model over a sample of its old documents together with the new ones."""

from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.documents import DocumentColumns, DocumentFrame, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.fit.fit_run import Run
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.gibbs_step import sample_topics
from spectral_spark.fit.refine_step import settle_topics
from spectral_spark.tree.nodes import DocumentTree


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
    topics: Topics, tree: DocumentTree, source: DocumentFrame, settings: FitSettings, run: Run
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
