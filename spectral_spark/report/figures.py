"""Pictures for notebooks: the spectrum, the topics, the document tree, as matplotlib figures.

matplotlib is an optional dependency (``pip install 'spectral-spark[plot]'``). No function here shows or saves anything:
a notebook displays the returned figure, a script calls ``figure.savefig``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.report.payload import node_parents, observed_shares, topic_labels, vocabulary_of
from spectral_spark.report.pyldavis import to_pyldavis
from spectral_spark.report.relevance import LABEL_LAMBDA, top_words, word_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_spectrum", "plot_topics", "plot_tree", "to_pyldavis"]

_BLUE, _ORANGE, _GREY = "#4353c9", "#c2570c", "#9aa0b5"
_TOPIC_COLOURS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C8", "C9")      # without C7, a grey


def plot_spectrum(summary: Mapping[str, Any]) -> "Figure":
    """The spectrum with the noise floor and the chosen number of topics.

    Parameters
    ----------
    summary : the run report (``summary.json``): ``spectrum``, ``k`` and, when known, ``noise_floor``.
    """
    values = np.asarray(summary.get("spectrum") or [], float)
    if not len(values):
        raise InputError("the summary has no spectrum; fit the model again to get one")
    k, floor = int(summary.get("k") or 0), summary.get("noise_floor")
    figure, axes = _figure(7.0, 3.6)
    number = np.arange(1, len(values) + 1)
    kept, positive = number <= k, values > 0
    axes.plot(number[kept], np.abs(values[kept]), "o", color=_BLUE, markersize=4, label=f"{k} topics")
    axes.plot(number[~kept & positive], values[~kept & positive], "o", color=_GREY, markersize=4, fillstyle="none")
    if not positive.all():
        negative = ~kept & (values < 0)
        axes.plot(number[negative], -values[negative], "x", color=_GREY, markersize=4, label="negative, by size")
    if k < len(values):
        axes.axvline(k + 0.5, color=_BLUE, linestyle="--", linewidth=1)
    if floor is not None:
        axes.axhline(float(floor), color=_ORANGE, linewidth=1.2, label="noise floor")
    if np.any(values != 0):
        axes.set_yscale("log")
    axes.set_xlabel("direction")
    axes.set_ylabel("strength")
    axes.legend(frameon=False)
    return figure


def plot_topics(
    files: TopicModelFiles, topics: int = 12, words: int = 10, relevance: float = LABEL_LAMBDA
) -> "Figure":
    """The largest topics, each with bars for its most relevant words, the heaviest first.

    Parameters
    ----------
    files : the model.
    topics, words : how many topics, and words of each.
    relevance : 1 ranks words by weight, 0 by distinctiveness (λ of LDAvis).
    """
    if topics < 1 or words < 1 or not 0.0 <= relevance <= 1.0:
        raise SettingsError("plotTopics: topics and words must be at least 1, relevance between 0 and 1")
    names, shares = vocabulary_of(files), word_shares(files.topics, files.weights)
    chosen = np.argsort(-files.weights, kind="stable")[:topics]
    columns = min(4, len(chosen))
    rows = -(-len(chosen) // columns)
    figure, grid = _figure(2.9 * columns, (0.55 + 0.2 * words) * rows, rows, columns)
    panels = np.atleast_1d(grid).ravel()
    for axes, topic in zip(panels, chosen, strict=False):
        best = top_words(files.topics[:, topic], shares, words, relevance)
        best = best[np.argsort(-files.topics[best, topic], kind="stable")]
        axes.barh(range(len(best)), files.topics[best, topic], color=_BLUE, height=0.65)
        axes.set_yticks(range(len(best)), [_plain(names[word]) for word in best], fontsize=8)
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.set_title(f"{topic} ({files.weights[topic]:.1%})", fontsize=9, loc="left")
    for axes in panels[len(chosen) :]:
        axes.set_visible(False)
    return figure


def plot_tree(files: TopicModelFiles, count: int = 40, topics: int = 8) -> "Figure":
    """The document tree, a line per node, coloured by the shares of the largest topics.

    Parameters
    ----------
    files : the model.
    count : how many nodes at most: the largest ones, shown under their parents.
    topics : how many topics get a colour; the others together are grey.
    """
    if count < 1 or topics < 1:
        raise SettingsError("plotTree: count and topics must be at least 1")
    nodes, labels, k = files.nodes, topic_labels(files), files.topics.shape[1]
    order, shares = _largest_in_tree_order(nodes, count), observed_shares(nodes)
    leading = np.argsort(-shares[0], kind="stable")[: min(topics, k)]
    figure, axes = _figure(9.0, max(0.9 + 0.26 * len(order), 2.4))
    left = np.zeros(len(order))
    for rank, topic in enumerate(leading):
        name = f"{topic} {', '.join(labels[topic])}"
        part, shade = shares[order, topic], _TOPIC_COLOURS[rank % len(_TOPIC_COLOURS)]
        axes.barh(range(len(order)), part, left=left, color=shade, height=0.75, label=_plain(name))
        left += part
    if k > len(leading):
        axes.barh(range(len(order)), 1.0 - left, left=left, color="#e3e5ee", height=0.75, label="other topics")
    axes.set_yticks(range(len(order)), [_node_text(nodes, node) for node in order], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.legend(frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    return figure


def _largest_in_tree_order(nodes: NodeTable, count: int) -> list[int]:
    """The ``count`` largest nodes (parents come with them), each directly above its children."""
    parents = node_parents(nodes.paths)
    kept = _grown(nodes, parents, count)
    children: dict[int, list[int]] = {}
    for node in sorted(kept, key=lambda node: (-nodes.documents[node], node)):
        children.setdefault(parents[node], []).append(node)
    order, waiting = [], list(reversed(children.get(-1, [])))
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(children.get(node, []))
    return order


def _grown(nodes: NodeTable, parents: list[int], count: int) -> set[int]:
    kept: set[int] = set()
    for node in sorted(range(len(nodes.paths)), key=lambda node: (-nodes.documents[node], nodes.levels[node], node)):
        if parents[node] < 0 or parents[node] in kept:
            kept.add(node)
        if len(kept) >= count:
            break
    return kept


def _node_text(nodes: NodeTable, node: int) -> str:
    path = nodes.paths[node]
    return f"{_plain(' › '.join(path) or 'whole corpus')} ({nodes.documents[node]:,})"


def _plain(text: str) -> str:
    """Text that matplotlib neither reads as mathematics nor chokes on."""
    shown = text if len(text) <= 40 else f"{text[:39]}…"
    return shown.replace("$", r"\$")


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> "tuple[Figure, Any]":
    try:
        from spectral_spark.report.notebook_figure import NotebookFigure
    except ImportError:
        raise SettingsError("plots need matplotlib: pip install 'spectral-spark[plot]'") from None
    figure = NotebookFigure(figsize=(width, height), layout="constrained")
    axes: Any = figure.subplots(rows, columns)
    for panel in np.atleast_1d(axes).ravel():
        _quiet(panel)
    return figure, axes


def _quiet(axes: "Axes") -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
