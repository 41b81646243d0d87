"""Fold in: the topics of a model move with the documents that are added to it or removed from it."""

import time

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics, Topics
from spectral_spark.fit.solve_step import Solved
from spectral_spark.fit.topic_matching import match_topics, ordered
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.refine.fold_in import FoldInKernel
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.tree.census import Census
from spectral_spark.tree.group_balance import group_weights
from spectral_spark.tree.nodes import DocumentTree

NODE_STRENGTH = 20.0        # weight of the parent's proportions in a node's, in documents


def fold_in_documents(
    fitted: FittedTopics, solved: Solved, total: MomentState, corpus: CountedCorpus, node_weight: np.ndarray,
    settings: FitSettings, run: FitRun, *, remove: bool,
) -> Topics:
    """The model's topics after the expected counts of these documents were added to theirs, or subtracted.

    The expected counts of the old documents are one sum for all groups and keep the weights they were counted with.
    Without refinement, the topics are the spectral ones in the model's order.
    """
    if not settings.refines:
        return ordered(solved.topics, fitted)
    start = _grown(fitted, solved, settings)
    tree = corpus.census.tree
    priors = tree.inherit(fitted.nodes.paths, _widened(fitted.nodes.proportions, start.weights), start.weights)
    shared = {
        "topics": start.topics, "node_prior": priors,
        "concentration": np.full(len(tree), fitted.document_concentration), "node_weight": node_weight,
    }

    def compute() -> dict[str, np.ndarray]:
        at = time.perf_counter()
        sums = corpus.packed.sum(FoldInKernel(), shared, name="fold in", state_bytes=start.topics.nbytes)
        run.finished_pass("fold in", corpus.documents, at)
        return sums

    sums = run.resumable("fold in", compute)
    sign = -1.0 if remove else 1.0
    old = start.topics * (start.weights * fitted.summary.tokens)
    smoothing = RefineSettings().final_smoothing
    statistics = np.maximum(old + sign * sums["statistics"], 0.0) + smoothing
    nodes = _node_proportions(fitted, start.weights, total, tree, sign * sums["node_counts"])
    weights = statistics.sum(axis=0)
    return Topics(
        statistics / weights, weights / weights.sum(), nodes, tuple(fitted.summary.concentrations),
        fitted.document_concentration, {"absorbed": int(sums["documents"][0])},
    )


def weights_in(census: Census, balance: float, tree: DocumentTree) -> np.ndarray:
    """The weights of documents at the nodes of ``tree``, by the sizes of the groups in ``census``; shape (nodes,)."""
    known = dict(zip(census.tree.paths, group_weights(census, balance), strict=True))
    return np.array([known[path] for path in tree.paths])


def _grown(fitted: FittedTopics, solved: Solved, settings: FitSettings) -> Topics:
    """The current topics and, if the number of topics is automatic and has grown, the new ones."""
    match = match_topics(solved.topics.topics, fitted.topics)
    extra = max(0, solved.topics.topics.shape[1] - fitted.topics.shape[1]) if settings.k == "auto" else 0
    fresh = [int(topic) for topic, old in zip(match.order, match.previous, strict=True) if old < 0][:extra]
    topics = np.hstack([fitted.topics, solved.topics.topics[:, fresh]])
    weights = np.concatenate([fitted.weights, solved.topics.weights[fresh]])
    return Topics(topics, weights / weights.sum(), fitted.nodes.proportions, (), fitted.document_concentration)


def _widened(proportions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Proportions with columns for new topics, which get their share of the whole corpus at every node."""
    fresh = weights[proportions.shape[1] :]
    return np.hstack([proportions * (1.0 - fresh.sum()), np.tile(fresh, (len(proportions), 1))])


def _node_proportions(
    fitted: FittedTopics, weights: np.ndarray, total: MomentState, tree: DocumentTree, arrived: np.ndarray
) -> np.ndarray:
    """Proportions of all nodes of the new tree, from old and new documents together, shrunk towards the parent."""
    whole = total.census.tree
    new = np.zeros((len(whole), len(weights)))
    there = set(whole.paths)                # a group whose last document was removed is gone
    kept = [node for node, path in enumerate(tree.paths) if path in there]
    new[whole.assign(tree.paths[node] for node in kept)] = arrived[kept]
    counts = whole.sum_below(new)
    documents = dict(zip(fitted.nodes.paths, fitted.nodes.documents, strict=True))
    known = dict(zip(fitted.nodes.paths, _widened(fitted.nodes.proportions, weights), strict=True))
    rows = np.empty((len(whole), len(weights)))
    for node, path in enumerate(whole.paths):
        parent = rows[whole.parent[node]] if node else weights
        mine = np.maximum(counts[node] + documents.get(path, 0) * known.get(path, parent), 0.0)
        rows[node] = (mine + NODE_STRENGTH * parent) / (mine.sum() + NODE_STRENGTH)
    return rows
