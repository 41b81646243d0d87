"""All nodes of a tree from the paths of its documents, without a step of Python per node but the one that names it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from spectral_spark.errors import InputError

Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class OrderedNodes:
    """The nodes of some paths and all their ancestors, in the order of their paths.

    Attributes
    ----------
    paths : one tuple of names per node; node 0 is the root, ().
    parent, level : int32 arrays of shape (nodes,); the root has the parent -1 and the level 0.
    node_of : int32 array of shape (paths,), the node of each path that was given.
    """

    paths: tuple[Path, ...]
    parent: np.ndarray
    level: np.ndarray
    node_of: np.ndarray


def ordered_nodes(given: Sequence[Sequence[str]]) -> OrderedNodes:
    """Sort the paths as rows of numbers; each one adds the nodes that it does not share with the path before it."""
    paths = checked_paths(given)
    names, lengths = _name_numbers(paths)
    order = np.lexsort(names[::-1]) if len(names) else np.arange(len(paths))
    shared = _shared_with_previous(names[:, order])
    new = lengths[order] - shared
    last = np.cumsum(new)                                   # the root is node 0, so this is the node of each path
    row = np.repeat(np.arange(len(paths)), new)
    level = np.arange(1, len(row) + 1) - np.repeat(last - new, new) + shared[row]
    level = np.concatenate([[0], level]).astype(np.int32)
    rows = order[row].tolist()
    ordered = ((), *(paths[i][:depth] for i, depth in zip(rows, level[1:].tolist(), strict=True)))
    node_of = np.empty(len(paths), np.int32)
    node_of[order] = last
    return OrderedNodes(ordered, _parents(level), level, node_of)


def checked_paths(given: Sequence[Sequence[str]]) -> list[Path]:
    """The paths as tuples. Names repeat, so only distinct ones are looked at."""
    try:
        paths = list(map(tuple, given))
        right = all(isinstance(name, str) for name in set(chain.from_iterable(paths)))
    except TypeError:                                       # a path that is None, or a name that is a list
        right = False
    if not right or any(isinstance(path, str) for path in given):
        for path in given:
            _check(path)
    return paths


def _name_numbers(paths: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """The place of every name among all names in their order, shape (depth, paths), -1 below a path; and lengths."""
    lengths = np.fromiter(map(len, paths), np.int64, len(paths))
    places = {name: place for place, name in enumerate(sorted(set(chain.from_iterable(paths))))}
    numbers = np.full((len(paths), int(lengths.max(initial=0))), -1, np.int32)
    flat = np.fromiter(map(places.__getitem__, chain.from_iterable(paths)), np.int32, int(lengths.sum()))
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = flat
    return np.ascontiguousarray(numbers.T), lengths


def _shared_with_previous(names: np.ndarray) -> np.ndarray:
    """How many names each path shares with the path before it, from the top; int array of shape (paths,)."""
    shared = np.zeros(names.shape[1], np.int64)
    same = np.ones(max(names.shape[1] - 1, 0), bool)
    for level in names:
        same &= (level[1:] == level[:-1]) & (level[1:] >= 0)
        shared[1:] += same
    return shared


def _parents(level: np.ndarray) -> np.ndarray:
    """The nearest node before each one that is a level above it."""
    parent, places = np.full(len(level), -1, np.int32), np.arange(len(level))
    for depth in range(1, int(level.max(initial=0)) + 1):
        here = np.flatnonzero(level == depth)
        above = places[level == depth - 1]
        parent[here] = above[np.searchsorted(above, here) - 1]
    return parent


def _check(path: Sequence[str]) -> None:
    if isinstance(path, str):
        raise InputError(f"document tree: the path '{path}' is a string; give the names from the root down as a list")
    if path is None or any(name is None for name in path):
        raise InputError(f"document tree: the path {path!r} has a null; drop such documents or name the missing group")
    wrong = next((name for name in path if not isinstance(name, str)), None)
    if wrong is not None:
        raise InputError(f"document tree: {wrong!r} in the path {path!r} is not a string; convert names to strings")
