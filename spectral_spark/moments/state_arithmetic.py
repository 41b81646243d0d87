"""Moment states added, subtracted and compared."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.leaf_moments import LeafMoments, node_state_bytes
from spectral_spark.moments.pair_moments import joined_squares
from spectral_spark.moments.sources import added, subtracted
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

if TYPE_CHECKING:
    from spectral_spark.moments.moment_state import MomentState, Slot


def joined(a: "MomentState", b: "MomentState", *, subtract: bool) -> "MomentState":
    """The state of both corpora or, with ``subtract``, of the first without the second."""
    _check_compatible(a, b)
    sources = subtracted(a.sources, b.sources) if subtract else added(a.sources, b.sources)
    slots = tuple(sorted(set(a.slots) | set(b.slots), key=lambda slot: (isinstance(slot, tuple), slot)))
    tree, mine, theirs = a.census.tree.union(b.census.tree)
    first = np.zeros((len(tree), a.basis.size))
    first[mine] += a.node_first
    first[theirs] += -b.node_first if subtract else b.node_first
    one, other = (
        _join_slots(x, a.slots, y, b.slots, slots, subtract)
        for x, y in zip(a.half_samples, b.half_samples, strict=True)
    )
    groups = None
    if a.groups is not None and b.groups is not None:
        groups = a.groups - b.groups if subtract else a.groups + b.groups
    total = replace(
        a,
        slots=slots,
        half_samples=(one, other),
        census=a.census - b.census if subtract else a.census + b.census,
        node_first=first,
        noise=a.noise - b.noise if subtract else a.noise + b.noise,
        groups=groups,
        sources=sources,
        dropped=a.dropped - b.dropped if subtract else a.dropped + b.dropped,
        level_squares=joined_squares(a.level_squares, b.level_squares, subtract=subtract),
    )
    return _pruned(total) if subtract else total


def _pruned(state: "MomentState") -> "MomentState":
    """The state without the nodes that have no documents left, so that not even the name of a removed group stays."""
    tree, census = state.census.tree, state.census
    kept = np.flatnonzero((census.documents_below > 0) | (np.arange(len(tree)) == 0))
    if len(kept) == len(tree):
        return state
    smaller = DocumentTree.from_paths(tree.paths[node] for node in kept)
    cubed = None if census.tokens_cubed is None else census.tokens_cubed[kept]
    own = Census(smaller, census.documents[kept], census.tokens[kept], census.tokens_squared[kept], cubed)
    empty = {tree.paths[node] for node in np.flatnonzero(census.documents == 0)}
    slots = [number for number, slot in enumerate(state.slots) if isinstance(slot, str) or slot not in empty]
    halves = tuple(
        LeafMoments(**{name: array[slots] for name, array in half.arrays().items()}) for half in state.half_samples
    )
    return replace(
        state, census=own, node_first=state.node_first[kept], slots=tuple(state.slots[number] for number in slots),
        half_samples=(halves[0], halves[1]),
        level_squares=None if state.level_squares is None else state.level_squares[: smaller.depth + 1],
    )


def _check_compatible(a: "MomentState", b: "MomentState") -> None:
    if a.basis.vocabulary_fingerprint != b.basis.vocabulary_fingerprint:
        raise InputError("moments: the states have different vocabularies; fit both with one basis (same words, order)")
    if a.basis != b.basis:
        raise InputError(
            f"moments: the states are in different bases ({a.basis.size} columns, {a.basis.fingerprint[:12]}…, and "
            f"{b.basis.size} columns, {b.basis.fingerprint[:12]}…); make one basis and fit both with it"
        )
    for name in ("weighting", "cap"):
        mine, theirs = getattr(a, name), getattr(b, name)
        if mine != theirs:
            raise InputError(f"moments: {name} is {mine!r} in one state and {theirs!r} in the other")
    if a.has_third != b.has_third:
        raise InputError("moments: one state has third moments and the other was collected without them; fit both with "
                         "`solver=implicit`, or both with another solver")
    if a.follows_tree != b.follows_tree:
        raise InputError("moments: weighting 'ess' counts all documents equally in one state, which version 0.1.0 has "
                         "collected, and follows the tree in the other; fit the older one again")
    if a.follows_tree and not (a.kept_by_node and b.kept_by_node):
        size = node_state_bytes(a.basis.vocab_size, a.basis.size, len(a.census.tree))
        raise InputError(
            f"moments: with weighting {a.weighting!r} every document's weight changes when the tree grows; collect the "
            f"states per node (about {size / 2**20:.0f} MiB for this tree) or use weighting 'tokens'"
        )


def _join_slots(
    x: LeafMoments, x_slots: tuple["Slot", ...], y: LeafMoments, y_slots: tuple["Slot", ...], slots: tuple["Slot", ...],
    subtract: bool,
) -> LeafMoments:
    x = x.moved(len(slots), np.array([slots.index(slot) for slot in x_slots]))
    y = y.moved(len(slots), np.array([slots.index(slot) for slot in y_slots]))
    return x - y if subtract else x + y


def _contents(state: "MomentState") -> dict[str, Any]:
    contents: dict[str, Any] = {
        name: getattr(state, name) for name in ("weighting", "cap", "slots", "sources", "dropped", "census", "noise")
    }
    contents |= {"basis": state.basis.fingerprint, "node_first": state.node_first}
    if state.level_squares is not None:
        contents["level_squares"] = state.level_squares
    for number, half in enumerate(state.half_samples):
        contents |= {f"{name} of half {number}": array for name, array in half.arrays().items()}
    if state.groups is not None:
        contents |= {f"group {name}": value for name, value in vars(state.groups).items() if name != "distinct"}
        distinct = vars(state.groups.distinct) if state.groups.distinct is not None else {}
        contents |= {f"distinct {name}": value for name, value in distinct.items()}
    return contents


def identical(a: "MomentState", b: "MomentState") -> bool:
    """Whether two states have the same contents, bit for bit."""
    mine, theirs = _contents(a), _contents(b)
    return mine.keys() == theirs.keys() and all(
        np.array_equal(value, theirs[key]) if isinstance(value, np.ndarray) else bool(value == theirs[key])
        for key, value in mine.items()
    )


def relative_difference(a: "MomentState", b: "MomentState") -> float:
    """The largest difference of any sum, relative to the largest of its kind; infinite if shapes differ."""
    mine, theirs = _contents(a), _contents(b)
    return max(_relative(value, theirs.get(key)) for key, value in mine.items() if isinstance(value, np.ndarray))


def _relative(a: np.ndarray, b: np.ndarray | None) -> float:
    if b is None or a.shape != b.shape:
        return float("inf")
    size = float(np.abs(a).max(initial=0.0))
    apart = float(np.abs(a - b).max(initial=0.0))
    return apart / size if size > 0 else apart
