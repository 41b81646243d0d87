"""What the page's scripts get to know: words, counts and shares, never a document.

The layout is read by ``scripts/model.js``; arrays are base64 of little-endian numbers (see ``encoding``).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.report.encoding import packed, quantised
from spectral_spark.report.relevance import candidates, label_words, topics_of_words, word_shares
from spectral_spark.report.topic_map import classical_mds, topic_distances, topic_groups

WORDS_PER_TOPIC = 60
WORDS_IN_LABEL = 4
BACKGROUND_NAME = "background"
_SIMILAR = 5
_TOPICS_PER_WORD = 8


def page_payload(
    files: TopicModelFiles, evaluation: Mapping[str, Any] | None, asked: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything the scripts of the page draw from, as JSON-ready values."""
    words = vocabulary_of(files)
    shares = word_shares(files.topics, files.weights)
    numbers, parts = topics_of_words(files.topics, files.weights, _TOPICS_PER_WORD)
    return {
        "words": words,
        "wordShares": packed(shares, "f4"),
        "topics": _topics(files, shares, evaluation),
        "wordTopics": {
            "width": numbers.shape[1],
            "topics": packed(numbers, "u2"),
            "shares": quantised(parts, "u1"),
        },
        "nodes": _nodes(files.nodes, evaluation, asked),
        "answers": _answers(files.nodes, asked),
        "spectrum": _spectrum(files.summary, files.topics.shape[1]),
        "passes": [item for item in files.summary.get("passes") or [] if isinstance(item, Mapping)],
        "changes": files.changes,
        "taxonomy": files.taxonomy,
        "background": files.background,
    }


def vocabulary_of(files: TopicModelFiles) -> list[str]:
    """The words, or stand-ins with their numbers when the model was fitted on bare vectors."""
    if files.vocabulary is not None:
        return list(files.vocabulary)
    return [f"word {number}" for number in range(files.topics.shape[0])]


def topic_labels(files: TopicModelFiles, count: int = WORDS_IN_LABEL) -> list[list[str]]:
    """The few words that name every topic: frequent in it and exclusive to it."""
    words = vocabulary_of(files)
    weights = np.clip(files.weights, 0.0, None)
    found = [[words[w] for w in label_words(column, files.topics, weights, count)] for column in files.topics.T]
    if files.background is not None:
        found[files.background] = [BACKGROUND_NAME]
    return found


def topic_coherence(files: TopicModelFiles, evaluation: Mapping[str, Any] | None) -> list[float | None]:
    """NPMI of every topic, where the evaluation has it for this model's number of topics."""
    values, k = (evaluation or {}).get("npmi_by_topic"), files.topics.shape[1]
    if not isinstance(values, list) or len(values) != k:
        return [None] * k
    return [float(value) if isinstance(value, int | float) else None for value in values]


def shared_top_words(topics: np.ndarray, count: int = 10) -> list[int]:
    """How many of each topic's ``count`` most frequent words are among those of another topic, too."""
    top = np.argsort(-topics, axis=0, kind="stable")[:count]
    owners = np.bincount(top.ravel(), minlength=topics.shape[0])
    return [int((owners[column] > 1).sum()) for column in top.T]


def _topics(files: TopicModelFiles, shares: np.ndarray, evaluation: Mapping[str, Any] | None) -> dict[str, Any]:
    chosen = [candidates(column, shares, WORDS_PER_TOPIC) for column in files.topics.T]
    distances = topic_distances(files.topics)
    nearest = np.argsort(distances + np.diag(np.full(len(distances), np.inf)), axis=1, kind="stable")[:, :_SIMILAR]
    return {
        "weights": [float(f"{weight:.6g}") for weight in files.weights],
        "labels": [[files.labels[t]] if t in files.labels else words for t, words in enumerate(topic_labels(files))],
        "groups": topic_groups(distances).tolist(),
        "coherence": topic_coherence(files, evaluation),
        "stability": None if files.stability is None else [round(float(value), 3) for value in files.stability],
        "sharedWords": shared_top_words(files.topics),
        "offsets": np.concatenate([[0], np.cumsum([len(ids) for ids in chosen])]).tolist(),
        "words": packed(np.concatenate(chosen), "u4"),
        "shares": packed(np.concatenate([files.topics[ids, t] for t, ids in enumerate(chosen)]), "f4"),
        "map": [[float(f"{x:.5f}") for x in point] for point in classical_mds(distances)],
        "similar": [
            [[int(j), round(float(distances[i, j]), 4)] for j in row if j != i] for i, row in enumerate(nearest)
        ],
    }


def node_parents(paths: tuple[tuple[str, ...], ...]) -> list[int]:
    """The number of each node's parent: the nearest ancestor that is there, −1 for the root."""
    index = {path: number for number, path in enumerate(paths)}
    parents = []
    for path in paths:
        above = (path[:cut] for cut in range(len(path) - 1, -1, -1))
        parents.append(next((index[prefix] for prefix in above if prefix in index), -1))
    return parents


def observed_shares(nodes: NodeTable) -> np.ndarray:
    """What the documents at or below each node talk about, on average over documents, shape (nodes, k).

    A model's inner nodes hold what their children are drawn around, which is not what their documents contain: there
    every group weighs alike, however few its documents. Readers expect the latter, so a node's shares are those of its
    children weighted by documents. Documents that hang directly on an inner node count with its own proportions.
    """
    parents = node_parents(nodes.paths)
    direct = np.asarray(nodes.documents, float).copy()
    for node, parent in enumerate(parents):
        if parent >= 0:
            direct[parent] -= nodes.documents[node]
    direct = np.maximum(direct, 0.0)
    mass = direct[:, None] * nodes.proportions
    for node in sorted(range(len(parents)), key=lambda node: -len(nodes.paths[node])):
        if parents[node] >= 0:
            mass[parents[node]] += mass[node]
    total = mass.sum(axis=1, keepdims=True)
    shares: np.ndarray = np.divide(mass, total, out=nodes.proportions.astype(float), where=total > 0)
    return shares


def _nodes(
    nodes: NodeTable, evaluation: Mapping[str, Any] | None, asked: Mapping[str, Any] | None
) -> dict[str, Any]:
    shares = observed_shares(nodes)
    for number, answer in _answered_nodes(nodes, asked):         # shares that belong to the intervals shown with them
        shares[number] = answer["shares"]
    return {
        "names": [path[-1] if path else "" for path in nodes.paths],
        "parents": node_parents(nodes.paths),
        "documents": np.asarray(nodes.documents).tolist(),
        "samples": [float(f"{size:.5g}") for size in nodes.effective_sample_size],
        "proportions": quantised(shares, "u2"),
        "evaluation": _node_evaluation(nodes, evaluation),
    }


def _answered_nodes(nodes: NodeTable, asked: Mapping[str, Any] | None) -> list[tuple[int, Mapping[str, Any]]]:
    """The nodes of the model that the answers speak of, with what they say."""
    index = {path: number for number, path in enumerate(nodes.paths)}
    found = ((index.get(tuple(answer["path"])), answer) for answer in (asked or {}).get("nodes", []))
    return [(number, answer) for number, answer in found if number is not None]


def _answers(nodes: NodeTable, asked: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Intervals by node, exemplars by node and topic, and the columns; None if nobody asked."""
    if asked is None:
        return None
    answered = _answered_nodes(nodes, asked)
    ends = [np.array([answer[end] for _, answer in answered]) for end in ("lower", "upper")]
    index = {path: number for number, path in enumerate(nodes.paths)}
    exemplars: dict[str, list[Any]] = {}
    for row in asked["exemplars"]:
        node = index.get(tuple(row["path"]))
        if node is not None:
            exemplars.setdefault(f"{node}:{row['topic']}", []).append([row["id"], round(row["share"], 4)])
    return {
        "interval": asked["interval"], "nodes": [number for number, _ in answered],
        "lower": quantised(ends[0], "u2"), "upper": quantised(ends[1], "u2"), "exemplars": exemplars,
        "columns": asked["columns"],
    }


def _node_evaluation(nodes: NodeTable, evaluation: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """Node number → [loss, unigram loss, tokens] for the nodes the evaluation speaks of."""
    index = {path: number for number, path in enumerate(nodes.paths)}
    found: dict[str, list[Any]] = {}
    for item in (evaluation or {}).get("nodes") or []:
        number = index.get(tuple(item.get("path") or ()))
        if number is not None:
            found[str(number)] = [item.get("loss"), item.get("unigram_loss"), item.get("tokens")]
    return found


def _spectrum(summary: Mapping[str, Any], k: int) -> dict[str, Any] | None:
    values = summary.get("spectrum") or []
    if not values:
        return None
    return {"values": values, "floor": summary.get("noise_floor"), "k": k}
