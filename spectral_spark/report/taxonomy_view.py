"""A taxonomy for people: the nodes above the topics with names, words and shares."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from spectral_spark.answers.taxonomy import Folding, fold_topics
from spectral_spark.files.labels_file import LONGEST_LABEL
from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.plain_text import printable
from spectral_spark.refine.topic_merging import merged
from spectral_spark.report.topic_names import measured_words, suggested_names, topic_names

WORDS = 10


@dataclass(frozen=True)
class TaxonomyNode:
    """A node above the topics: its level (0 is the coarsest), the position of the node above it, the numbers of its
    topics, its share of the words of the corpus, its name, and its most relevant words."""

    level: int
    parent: int | None
    topics: tuple[int, ...]
    share: float
    label: str
    words: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Taxonomy:
    """Topics folded into a tree.

    Attributes
    ----------
    levels : numbers of nodes, the coarsest level first.
    information : the share of what topics say about words that each level keeps.
    nodes : all nodes, level by level.
    """

    levels: tuple[int, ...]
    information: tuple[float, ...]
    nodes: tuple[TaxonomyNode, ...]

    def as_dict(self) -> dict[str, Any]:
        """As it is stored."""
        nodes = [asdict(node) | {"topics": list(node.topics), "words": list(node.words)} for node in self.nodes]
        return {"levels": list(self.levels), "information": list(self.information), "nodes": nodes}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Taxonomy":
        nodes = (TaxonomyNode(**{**node, "topics": tuple(node["topics"]), "words": tuple(node["words"])})
                 for node in stored["nodes"])
        return cls(tuple(stored["levels"]), tuple(stored["information"]), tuple(nodes))

    def children(self, node: int | None) -> list[int]:
        """Positions of the nodes below a node; of the coarsest level for None."""
        return [at for at, other in enumerate(self.nodes) if other.parent == node]

    def lines(self) -> list[str]:
        """The tree as text, nodes below their parents."""
        found: list[str] = []

        def walk(node: int) -> None:
            here = self.nodes[node]
            topics = ", ".join(map(str, here.topics))
            found.append(f"{'  ' * here.level}{here.share:6.1%}  {printable(here.label)}  (topics {topics})")
            for child in self.children(node):
                walk(child)

        for top in self.children(None):
            walk(top)
        return found

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def taxonomy_of(files: TopicModelFiles, levels: Sequence[int]) -> Taxonomy:
    """Fold the topics of a model; nodes of one topic have its name, others are named after distinctive words.

    If the model has a taxonomy already, nodes of the same topics keep the names that people gave them.
    """
    now = _folded(files, levels)
    if files.taxonomy is None:
        return now
    given = {frozenset(node["topics"]): node["label"] for node in files.taxonomy["nodes"]}
    suggested = _folded(replace(files, labels={}), levels)
    nodes = []
    for node, plain in zip(now.nodes, suggested.nodes, strict=True):
        name = given.get(frozenset(node.topics), plain.label)
        own = name != plain.label and (len(node.topics) > 1 or node.label == plain.label)
        nodes.append(replace(node, label=name) if own else node)
    return replace(now, nodes=tuple(nodes))


def _folded(files: TopicModelFiles, levels: Sequence[int]) -> Taxonomy:
    folding = fold_topics(files.topics, files.weights, levels, files.background)
    names = topic_names(files)
    nodes: list[TaxonomyNode] = []
    for depth in range(len(folding.levels)):
        nodes += _named_level(files, folding, depth, names)
    return Taxonomy(folding.levels, folding.information, tuple(nodes))


def _named_level(files: TopicModelFiles, folding: Folding, depth: int, names: list[str]) -> list[TaxonomyNode]:
    level = [node for node in folding.nodes if node.level == depth]
    label = np.empty(files.topics.shape[1], int)
    for number, node in enumerate(level):
        label[list(node.topics)] = number
    counts = merged(files.topics * files.weights, label)
    weights = counts.sum(axis=0)
    here = replace(
        files, topics=counts / np.maximum(weights, 1e-300), weights=weights, labels={}, summary={}, taxonomy=None,
        nodes=NodeTable((), np.zeros(0), np.zeros(0), np.zeros((0, len(level)))),
    )
    suggested = suggested_names(here)
    return [
        TaxonomyNode(
            depth, node.parent, node.topics, node.share,
            (names[node.topics[0]] if len(node.topics) == 1 else suggested[number])[:LONGEST_LABEL],
            tuple(measured_words(here, number, "relevance", WORDS)),
        )
        for number, node in enumerate(level)
    ]


def carried(taxonomy: Mapping[str, Any], files: TopicModelFiles, previous: Mapping[int, int | None]) -> Taxonomy | None:
    """The taxonomy of an updated model with levels of the same sizes; names that people gave stay with their topics.

    ``previous`` has the number that every topic had before. None if the model has too few topics now.
    """
    k = files.topics.shape[1]
    levels = [size for size in taxonomy["levels"] if size < k]
    if not levels:
        return None
    now = taxonomy_of(files, levels)
    known = {frozenset(node["topics"]): node["label"] for node in taxonomy["nodes"]}
    nodes = (
        replace(node, label=known.get(frozenset(previous.get(topic) for topic in node.topics), node.label))
        for node in now.nodes
    )
    return replace(now, nodes=tuple(nodes))
