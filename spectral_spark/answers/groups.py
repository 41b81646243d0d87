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


def cluster_hashes(paths: Sequence[Path], level: int, head: int = 0) -> np.ndarray:
    """A hash for every path of what is drawn together in the bootstrap.

    Parameters
    ----------
    level : documents in the same group of this level of the tree are drawn together.
    head : names at the head of a path that are not of the tree.
    """
    return np.array([_hash(path[head : head + level]) for path in paths], np.int64)


def cluster_cells(groups: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts that clusters have in groups.

    Parameters
    ----------
    groups : array of shape (nodes, levels), −1 for none.
    clusters : array of shape (nodes,), hashes of what is drawn together.

    Returns
    -------
    cells : array of shape (nodes, levels), the part that a node's documents belong to, −1 for none.
    parts : array of shape (cells, 2), the group and the cluster of every part.
    """
    cells, place = np.full(groups.shape, -1, np.int64), dict[tuple[int, int], int]()
    for node, row in enumerate(groups.tolist()):
        for level, group in enumerate(row):
            if group >= 0:
                cells[node, level] = place.setdefault((group, int(clusters[node])), len(place))
    return cells, np.array(list(place), np.int64).reshape(-1, 2)


def _hash(path: Path) -> int:
    digest = hashlib.blake2b("\0".join(path).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1
