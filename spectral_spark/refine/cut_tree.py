"""The part of a wide tree that sampling and EM learn priors for.

The proportions of a node with a handful of words are those of its parent but for noise. Where the nodes of a tree,
times the topics, outnumber the words to learn them from, documents of the smallest nodes therefore draw from the prior
of the nearest larger node above them. The proportions of all nodes are computed once, at the end.
"""

from dataclasses import dataclass

import numpy as np

WORDS_PER_CELL = 16          # words for each topic of each node that remains


@dataclass(frozen=True, eq=False)
class CutTree:
    """The nodes of a tree that remain, and where the others' documents go.

    Attributes
    ----------
    kept : int array of shape (m,), the nodes that remain, parents before their children.
    place : int array of shape (nodes,), for every node of the whole tree the row, in ``kept``, of the nearest node at
        or above it that remains.
    parent, level : int arrays of shape (m,), the tree of those that remain; -1 at the root.
    """

    kept: np.ndarray
    place: np.ndarray
    parent: np.ndarray
    level: np.ndarray

    @classmethod
    def of_kept(cls, kept: np.ndarray, parent: np.ndarray, level: np.ndarray) -> "CutTree":
        """The tree of the nodes ``kept``, which include the ancestors of each."""
        place = np.full(len(parent), -1, np.int64)
        place[kept] = np.arange(len(kept))
        for depth in range(1, int(level.max(initial=0)) + 1):
            moved = np.flatnonzero((level == depth) & (place < 0))
            place[moved] = place[parent[moved]]
        above = np.where(parent[kept] < 0, -1, place[parent[kept]])
        return cls(kept, place, above, level[kept])

    @classmethod
    def of_root(cls, parent: np.ndarray, level: np.ndarray) -> "CutTree":
        """The root alone."""
        return cls.of_kept(np.zeros(1, np.int64), parent, level)

    @property
    def whole(self) -> bool:
        """Whether all nodes remain."""
        return len(self.kept) == len(self.place)


def cut_tree(parent: np.ndarray, level: np.ndarray, words: np.ndarray, k: int) -> CutTree:
    """The tree cut to nodes with enough words at or below them; the whole tree if there are enough for all.

    Parameters
    ----------
    parent, level : int arrays of shape (nodes,); parents come before their children, -1 at the root.
    words : array of shape (nodes,), words of the documents directly at each node.
    k : number of topics.
    """
    below = np.array(words, dtype=float)
    for depth in range(int(level.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(level == depth)
        np.add.at(below, parent[nodes], below[nodes])
    most, fewest = float(below[0]) / (WORDS_PER_CELL * k), 0.0
    while int((below >= fewest).sum()) > max(most, 1.0):
        fewest = max(2.0 * fewest, 1.0)
    kept = below >= fewest
    kept[0] = True
    return CutTree.of_kept(np.flatnonzero(kept), parent, level)
