"""The document tree: its nodes, their parents and their levels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_spark.data.row_sums import add_to_rows
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.tree.path_order import Path, ordered_nodes

__all__ = ["DocumentTree", "Path"]


@dataclass(frozen=True, eq=False)
class DocumentTree:
    """Groups of documents, of any and of unequal depth. Documents can belong to any node, the root included.

    Nodes are in the order of their paths, so a parent comes before its children and a subtree is one contiguous run.

    Attributes
    ----------
    paths : one tuple of names per node; node 0 is the root, ().
    parent : int32 array of shape (nodes,), -1 at the root.
    level : int32 array of shape (nodes,), 0 at the root.

    Examples
    --------
    >>> tree = DocumentTree.from_paths([("internal", "ann"), ("external",)])
    >>> tree.paths
    ((), ('external',), ('internal',), ('internal', 'ann'))
    >>> tree.parent.tolist()
    [-1, 0, 0, 2]
    """

    paths: tuple[Path, ...]
    parent: np.ndarray
    level: np.ndarray

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> "DocumentTree":
        """The tree of these paths and all their ancestors; neither repetitions nor their order matter."""
        return cls.with_nodes(list(paths))[0]

    @classmethod
    def with_nodes(cls, paths: Sequence[Sequence[str]]) -> tuple["DocumentTree", np.ndarray]:
        """The same tree, and the node of each path, int32 array of shape (paths,)."""
        found = ordered_nodes(paths)
        return cls(found.paths, found.parent, found.level), found.node_of

    def __len__(self) -> int:
        return len(self.paths)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DocumentTree) and self.paths == other.paths

    def __hash__(self) -> int:
        return hash(self.paths)

    @property
    def depth(self) -> int:
        """Level of the deepest node; 0 for a corpus without groups."""
        return int(self.level.max())

    @cached_property
    def _index(self) -> dict[Path, int]:
        return {path: node for node, path in enumerate(self.paths)}

    def index(self, path: Sequence[str]) -> int:
        """The node of a path."""
        try:
            return self._index[tuple(path)]
        except KeyError:
            raise InputError(
                f"document tree: there is no node '{'/'.join(map(str, path))}' among its {len(self)} nodes"
            ) from None

    def assign(self, paths: Iterable[Sequence[str]]) -> np.ndarray:
        """The node of each document's path, int32 array of shape (documents,)."""
        return np.fromiter((self.index(path) for path in paths), dtype=np.int32)

    def truncated(self, layers: int | str) -> tuple["DocumentTree", np.ndarray]:
        """The tree with fewer layers; documents move up to the deepest remaining node on their path.

        Parameters
        ----------
        layers : 2 keeps root and documents, 3 one level of groups between them, …; "all" keeps everything.

        Returns
        -------
        tree : the smaller tree.
        new_node : int32 array of shape (nodes,), the node in the smaller tree that each node of this one became.
        """
        if layers == "all":
            return self, np.arange(len(self), dtype=np.int32)
        if not isinstance(layers, int) or layers < 2:
            raise SettingsError(f"layers = {layers!r}: give 2 (no groups), 3 (one level of groups), … or 'all'")
        keep = layers - 2
        return DocumentTree.with_nodes([path[:keep] for path in self.paths])

    def inherit(self, paths: Iterable[Sequence[str]], rows: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Rows of values per node, carried over to this tree from another one.

        Parameters
        ----------
        paths : the nodes of the other tree.
        rows : array of shape (their number, n).
        root : array of shape (n,), for a root that is not among them.

        Returns
        -------
        array of shape (nodes, n): a node that the other tree lacks gets the row of its parent.
        """
        known = {tuple(path): row for path, row in zip(paths, rows, strict=True)}
        carried = np.empty((len(self), len(root)))
        for node, path in enumerate(self.paths):
            carried[node] = known.get(path, carried[self.parent[node]] if node else root)
        return carried

    def union(self, other: "DocumentTree") -> tuple["DocumentTree", np.ndarray, np.ndarray]:
        """The tree with the nodes of both, and the new numbers of the nodes of each, int32 arrays of shape (nodes,)."""
        if self.paths == other.paths:
            same = np.arange(len(self), dtype=np.int32)
            return self, same, same
        tree, nodes = DocumentTree.with_nodes(self.paths + other.paths)
        return tree, nodes[: len(self)], nodes[len(self) :]

    @cached_property
    def levels_upwards(self) -> list[np.ndarray]:
        """Nodes by level, deepest first, without the root: the order of recursions towards the root."""
        order = np.argsort(self.level, kind="stable")
        cuts = np.searchsorted(self.level[order], np.arange(1, self.depth + 1))
        return np.split(order, cuts)[:0:-1]

    @cached_property
    def top_level(self) -> np.ndarray:
        """The node of level 1 on the path of each node, the root for itself; int array of shape (nodes,)."""
        group = np.arange(len(self))
        for nodes in self.levels_upwards[::-1][1:]:
            group[nodes] = group[self.parent[nodes]]
        return group

    def sum_below(self, own: np.ndarray) -> np.ndarray:
        """Sums of a value per node over each node's whole subtree, itself included; array of shape (nodes, ...)."""
        total = np.array(own, copy=True)
        for nodes in self.levels_upwards:
            add_to_rows(total, self.parent[nodes], total[nodes])
        return total
