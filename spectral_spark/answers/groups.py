"""Which groups a document belongs to: nodes of the tree, or values of a column that stand at the head of its path."""

import hashlib
from collections.abc import Sequence

import numpy as np

Path = tuple[str, ...]


def groups_below(paths: Sequence[Path], wanted: Sequence[Path]) -> np.ndarray:
    """For every path, the wanted groups that it is at or below, int array of shape (paths, wanted), −1 for none."""
    return np.array([
        [place if path[: len(head)] == head else -1 for place, head in enumerate(wanted)] for path in paths
    ], np.int64).reshape(len(paths), len(wanted))


def all_nodes(paths: Sequence[Path]) -> np.ndarray:
    """For every node itself and its ancestors, int array of shape (nodes, depth + 1), −1 for none."""
    index, depth = {path: node for node, path in enumerate(paths)}, max(map(len, paths))
    return np.array([
        [index[path[:level]] if level <= len(path) else -1 for level in range(depth + 1)] for path in paths
    ], np.int64)


def cluster_hashes(paths: Sequence[Path], level: int | None, head: int = 0) -> np.ndarray:
    """A hash for every path of what is drawn together in the bootstrap, 0 where documents are drawn one by one.

    Parameters
    ----------
    level : documents in the same group of this level of the tree are drawn together; None for single documents.
    head : names at the head of a path that are not of the tree.
    """
    if level is None:
        return np.zeros(len(paths), np.int64)
    return np.array([_hash(path[head : head + level]) for path in paths], np.int64)


def units_of(groups: np.ndarray, clusters: np.ndarray, documents: np.ndarray, count: int) -> np.ndarray:
    """How many units each group has to draw from: its clusters, or its documents where there are none.

    Parameters
    ----------
    groups : array of shape (nodes, levels).
    clusters, documents : arrays of shape (nodes,), of the documents that the nodes themselves hold.
    """
    units = np.zeros(count)
    for column in groups.T:
        for group in np.unique(column[column >= 0]):
            members = (column == group) & (documents > 0)
            alone = members & (clusters == 0)
            units[group] += documents[alone].sum() + len(np.unique(clusters[members & (clusters != 0)]))
    return units


def _hash(path: Path) -> int:
    digest = hashlib.blake2b("\0".join(path).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
