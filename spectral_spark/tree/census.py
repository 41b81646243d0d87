"""Documents and words of every node, counted after documents that are too short were dropped."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.tree.nodes import DocumentTree


@dataclass(frozen=True, eq=False)
class Census:
    """Counts of each node's own documents. Those of its descendants are counted at the descendants.

    Attributes
    ----------
    tree : the document tree.
    documents : int64 array of shape (nodes,).
    tokens : float64 array of shape (nodes,), Σ m over the node's own documents of m words.
    tokens_squared : float64 array of shape (nodes,), Σ m².
    tokens_cubed : float64 array of shape (nodes,), Σ m³, or None if it was not counted.
    """

    tree: DocumentTree
    documents: np.ndarray
    tokens: np.ndarray
    tokens_squared: np.ndarray
    tokens_cubed: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name, values in self._arrays().items():
            if values.shape != (len(self.tree),):
                raise InputError(f"census: {name} has shape {values.shape}, the document tree {len(self.tree)} nodes")
            wrong = ~(np.isfinite(values) & (values >= 0))
            if wrong.any():
                node = int(np.flatnonzero(wrong)[0])
                raise InputError(f"census: {values[node]} {name} at node '{'/'.join(self.tree.paths[node])}'")

    @classmethod
    def count(cls, tree: DocumentTree, nodes: np.ndarray, lengths: np.ndarray) -> "Census":
        """Count documents given the node, shape (n,), and the number of words, shape (n,), of each."""
        size, lengths = len(tree), np.asarray(lengths, dtype=float)
        if len(nodes) and not 0 <= nodes.min() <= nodes.max() < size:
            raise InputError(f"census: documents at nodes {nodes.min()} to {nodes.max()} of a tree of {size} nodes")
        return cls(
            tree,
            np.bincount(nodes, minlength=size).astype(np.int64),
            np.bincount(nodes, lengths, minlength=size),
            np.bincount(nodes, lengths**2, minlength=size),
            np.bincount(nodes, lengths**3, minlength=size),
        )

    @cached_property
    def documents_below(self) -> np.ndarray:
        """Documents at or below each node, int64 array of shape (nodes,)."""
        return self.tree.sum_below(self.documents)

    @cached_property
    def tokens_below(self) -> np.ndarray:
        """Words at or below each node, array of shape (nodes,)."""
        return self.tree.sum_below(self.tokens)

    @cached_property
    def tokens_squared_below(self) -> np.ndarray:
        """Σ m² over the documents at or below each node, array of shape (nodes,)."""
        return self.tree.sum_below(self.tokens_squared)

    @cached_property
    def children(self) -> np.ndarray:
        """Children of each node that have documents, its own documents included; int64 array of shape (nodes,)."""
        alive = self.documents_below[1:] > 0
        return self.documents + np.bincount(self.tree.parent[1:][alive], minlength=len(self.tree))

    def truncated(self, layers: int | str) -> tuple["Census", np.ndarray]:
        """The census of the tree with fewer layers (see ``DocumentTree.truncated``), and each node's new number."""
        tree, new_node = self.tree.truncated(layers)
        return self.moved(tree, new_node), new_node

    def moved(self, tree: DocumentTree, new_node: np.ndarray) -> "Census":
        """The same documents in another tree, where node i of this one is ``new_node[i]``."""
        moved = {}
        for name, values in self._arrays().items():
            moved[name] = np.zeros(len(tree), dtype=values.dtype)
            np.add.at(moved[name], new_node, values)
        return Census(tree, **moved)

    def __add__(self, other: "Census") -> "Census":
        return self._joined(other, lambda mine, theirs: mine + theirs)

    def __sub__(self, other: "Census") -> "Census":
        """The census without the documents of ``other``, all of which must be in it."""
        tree, mine, theirs = self.tree.union(other.tree)
        here, gone = self.moved(tree, mine).documents, other.moved(tree, theirs).documents
        short = np.flatnonzero(gone > here)
        if len(short):
            node = int(short[0])
            raise InputError(
                f"census: {gone[node]} documents to remove from '{'/'.join(tree.paths[node])}', "
                f"which has {here[node]}; only documents that were counted can be removed"
            )
        return self._joined(other, lambda mine, theirs: np.maximum(mine - theirs, 0))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Census) or self.tree != other.tree:
            return False
        mine, theirs = self._arrays(), other._arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> dict[str, np.ndarray]:
        values = {name: getattr(self, name) for name in ("documents", "tokens", "tokens_squared", "tokens_cubed")}
        return {name: np.asarray(array) for name, array in values.items() if array is not None}

    def _joined(self, other: "Census", operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> "Census":
        tree, mine, theirs = self.tree.union(other.tree)
        a, b = self.moved(tree, mine)._arrays(), other.moved(tree, theirs)._arrays()
        return Census(tree, **{name: operation(a[name], b[name]) for name in a if name in b})
