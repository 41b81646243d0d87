"""A taxonomy: topics folded into a tree with as many nodes on every level as one asks for (formulas §18).

Two topics are merged into their mean, weighted by their words. What that loses of the information that a word's topic
gives about the word is exactly the Jensen–Shannon divergence of the two, weighted by their words and times their share
of the corpus. The pair that loses least is merged, again and again; every level of the tree continues the one below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import SettingsError
from spectral_spark.refine.topic_merging import merge_labels, merged


@dataclass(frozen=True)
class Fold:
    """One node above the topics.

    Attributes
    ----------
    level : 0 for the coarsest.
    parent : position of the node above in the list of all nodes; None on the coarsest level.
    topics : the numbers of its topics.
    share : of the words of the corpus.
    """

    level: int
    parent: int | None
    topics: tuple[int, ...]
    share: float


@dataclass(frozen=True)
class Folding:
    """The tree: its level sizes from the coarsest on, its nodes, and the share of information each level keeps."""

    levels: tuple[int, ...]
    nodes: tuple[Fold, ...]
    information: tuple[float, ...]


def fold_topics(
    topics: np.ndarray, weights: np.ndarray, levels: Sequence[int], apart: int | None = None
) -> Folding:
    """Fold topics into levels.

    Parameters
    ----------
    topics : array of shape (d, k), columns sum to one; weights : array of shape (k,), sums to one.
    levels : how many nodes each level is to have, in any order; fewer than k each.
    apart : a topic that stays alone on every level, such as a background.
    """
    k = topics.shape[1]
    wanted = checked_levels(levels, k, apart is not None)
    counts = topics * weights
    others = np.array([topic for topic in range(k) if topic != apart])
    whole = _information(counts)
    groups: list[tuple[int, ...]] = [(topic,) for topic in others.tolist()]
    found: list[tuple[list[tuple[int, ...]], float]] = []
    for size in sorted(wanted, reverse=True):
        labels = merge_labels(_sums(counts, groups), size - (apart is not None))
        groups = _joined(groups, labels)
        level = groups if apart is None else [*groups, (apart,)]
        found.append((level, _information(_sums(counts, level)) / whole if whole > 0 else 1.0))
    found.reverse()
    return Folding(tuple(wanted), tuple(_nodes([level for level, _ in found], weights)),
                   tuple(float(kept) for _, kept in found))


def checked_levels(levels: Sequence[int], k: int, apart: bool = False) -> list[int]:
    """The level sizes, the coarsest first."""
    wanted = sorted(set(levels))
    least = 3 if apart else 2
    if k <= least:
        beside = f"{k - 1} topics beside the background" if apart else f"{k} topic{'s' if k > 1 else ''}"
        raise SettingsError(f"a model with {beside} cannot be folded; a level has at least 2 nodes, and fewer than "
                            "there are topics")
    if not wanted or wanted[0] < least or wanted[-1] >= k:
        raise SettingsError(f"the levels of a taxonomy are {', '.join(map(str, levels)) or 'missing'}; give numbers of "
                            f"nodes from {least} to {k - 1}, fewer than the {k} topics of the model")
    return wanted


def _sums(counts: np.ndarray, groups: Sequence[tuple[int, ...]]) -> np.ndarray:
    label = np.full(counts.shape[1], -1)
    for number, group in enumerate(groups):
        label[list(group)] = number
    there = label >= 0
    return merged(counts[:, there], label[there])


def _joined(groups: Sequence[tuple[int, ...]], labels: np.ndarray) -> list[tuple[int, ...]]:
    joined: list[tuple[int, ...]] = [() for _ in range(int(labels.max()) + 1)]
    for group, label in zip(groups, labels.tolist(), strict=True):
        joined[label] += group
    return [tuple(sorted(group)) for group in joined]


def _nodes(levels: list[list[tuple[int, ...]]], weights: np.ndarray) -> list[Fold]:
    """All nodes, level by level, the largest first below their parents."""
    nodes: list[Fold] = []
    above: dict[int, int] = {}
    for depth, groups in enumerate(levels):
        shares = [float(weights[list(group)].sum()) for group in groups]
        ranked = sorted(range(len(groups)), key=lambda at: (above.get(groups[at][0], -1), -shares[at], groups[at]))
        now: dict[int, int] = {}
        for at in ranked:
            now |= dict.fromkeys(groups[at], len(nodes))
            nodes.append(Fold(depth, above.get(groups[at][0]), groups[at], shares[at]))
        above = now
    return nodes


def _information(counts: np.ndarray) -> float:
    """Mutual information of topic and word, in nats, from their joint distribution (d, n)."""
    joint = counts / counts.sum()
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / expected[some])).sum())
