"""Refinement of an updated model over a sample of its old documents and the new ones."""

from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.engine.counted_corpus import take_census
from spectral_spark.engine.documents import DocumentColumns, DocumentFrame, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.moment_step import Run
from spectral_spark.fit.refine_step import Topics, refine_topics
from spectral_spark.tree.nodes import DocumentTree


def documents_to_replay(
    old: DataFrame, new: DataFrame | None, columns: DocumentColumns, settings: FitSettings, vocab_size: int
) -> DocumentFrame:
    """Old documents and the new ones, where there are any."""
    names = (columns.features, columns.terms, columns.counts, columns.path, columns.id)
    used = [name for name in names if name is not None]
    frame = old.select(*used)
    if new is not None:
        frame = frame.unionByName(new.select(*used))
    return inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=vocab_size)


def replayed_topics(
    topics: Topics, tree: DocumentTree, source: DocumentFrame, settings: FitSettings, run: Run
) -> Topics:
    """Passes of refinement from the current topics, whose proportions are those of the nodes of ``tree``.

    With a group balance, documents count by the sizes of the groups among those that are replayed.
    """
    packed = pack_counts(source, PackSettings(source.vocab_size, settings.cap))
    try:
        corpus = take_census(packed)
        seen = corpus.census.tree
        start = replace(topics, node_proportions=_carried(topics.node_proportions, tree, seen))
        refined = refine_topics(start, corpus, settings, run)
    finally:
        packed.release()
    return replace(refined, node_proportions=_put_back(topics, tree, refined, seen))


def _carried(proportions: np.ndarray, tree: DocumentTree, seen: DocumentTree) -> np.ndarray:
    """Proportions for the nodes of another tree; a node that is not in the first has its parent's, shape (nodes, k)."""
    known = dict(zip(tree.paths, proportions, strict=True))
    rows = np.empty((len(seen), proportions.shape[1]))
    for node, path in enumerate(seen.paths):
        rows[node] = known[path] if path in known else rows[seen.parent[node]]
    return rows


def _put_back(topics: Topics, tree: DocumentTree, refined: Topics, seen: DocumentTree) -> np.ndarray:
    """Refined proportions of the nodes that were seen, what they had of the others; shape (nodes, k)."""
    died = set(refined.report.get("dropped_topics", []))
    alive = [topic for topic in range(topics.topics.shape[1]) if topic not in died]
    rows = topics.node_proportions[:, alive] + 1e-12 / len(alive)
    rows /= rows.sum(axis=1, keepdims=True)
    known = dict(zip(seen.paths, refined.node_proportions, strict=True))
    for node, path in enumerate(tree.paths):
        if path in known:
            rows[node] = known[path]
    return rows
