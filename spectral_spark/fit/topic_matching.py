"""Matches the topics of two models, so that topics keep their numbers in an update."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from spectral_spark.fit.fitted_topics import FittedTopics, Topics
from spectral_spark.solve.topic_pairs import paired_topics

SAME = 0.3                  # topics that share less of their probability mass are different topics


@dataclass(frozen=True, eq=False)
class TopicMatch:
    """Topics of a new model, in the order of an old one.

    Attributes
    ----------
    order : int array of the new model's topics. Matched topics keep the number of their partner, topics without a
        partner take the numbers of vanished topics, and the remaining ones come last. If more topics vanished than
        appeared, later topics move up.
    previous : the old topic of each number, or −1 if the topic is new.
    similarity : the probability mass shared with the partner, 1 − L1/2; 0 if the topic is new.
    vanished : old topics without a partner.
    """

    order: np.ndarray
    previous: np.ndarray
    similarity: np.ndarray
    vanished: tuple[int, ...]


def match_topics(
    new: np.ndarray, old: np.ndarray, same: float = SAME, pinned: Mapping[int, int] | None = None
) -> TopicMatch:
    """Match topics one to one at the largest total similarity.

    Parameters
    ----------
    new, old : arrays of shape (d, k), (d, k'), columns sum to one.
    pinned : old numbers with the new columns that continue them, however similar; they keep their numbers.
    """
    rows, columns, distance = paired_topics(old, new)
    shared = 1.0 - distance
    if pinned:
        return _match_around(pinned, shared, same)
    partner = {int(r): int(c) for r, c in zip(rows, columns, strict=True) if shared[r, c] >= same}
    gone = [topic for topic in range(old.shape[1]) if topic not in partner]
    fresh = sorted(set(range(new.shape[1])) - set(partner.values()))
    places = sorted([*partner, *gone[: len(fresh)]])
    arriving = iter(fresh)
    order = [partner[place] if place in partner else next(arriving) for place in places] + list(arriving)
    previous = [place if place in partner else -1 for place in places] + [-1] * (len(order) - len(places))
    similarity = [float(shared[r, c]) if r >= 0 else 0.0 for r, c in zip(previous, order, strict=True)]
    return TopicMatch(np.array(order, np.int64), np.array(previous, np.int64), np.array(similarity), tuple(gone))


def _match_around(pinned: Mapping[int, int], shared: np.ndarray, same: float) -> TopicMatch:
    """The match in which pinned topics keep their numbers; others keep theirs, or take those that are free."""
    before, after = shared.shape
    old = [topic for topic in range(before) if topic not in pinned]
    new = [topic for topic in range(after) if topic not in pinned.values()]
    rows, columns = linear_sum_assignment(-shared[np.ix_(old, new)])
    partner = dict(pinned) | {
        old[r]: new[c] for r, c in zip(rows, columns, strict=True) if shared[old[r], new[c]] >= same
    }
    previous_of = {column: number for number, column in partner.items()}
    at = {number: column for number, column in partner.items() if number < after}
    waiting = iter(column for column in range(after) if column not in at.values())
    order = [at[number] if number in at else next(waiting) for number in range(after)]
    previous = [previous_of.get(column, -1) for column in order]
    similarity = [float(shared[r, c]) if r >= 0 else 0.0 for r, c in zip(previous, order, strict=True)]
    gone = tuple(topic for topic in range(before) if topic not in partner)
    return TopicMatch(np.array(order, np.int64), np.array(previous, np.int64), np.array(similarity), gone)


def describe_match(match: TopicMatch, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """The match as JSON: how much every topic changed, which topics are new, and which vanished.

    Parameters
    ----------
    before, after : topic weights of shape (k',) and (k,).

    Returns
    -------
    dict; "renumbered" has the old and the new number of every topic whose number changed.
    """
    topics = [
        {
            "topic": place, "previous": int(match.previous[place]) if match.previous[place] >= 0 else None,
            "similarity": round(float(match.similarity[place]), 6),
            "weight_before": float(before[match.previous[place]]) if match.previous[place] >= 0 else 0.0,
            "weight_after": float(after[place]),
        }
        for place in range(len(match.order))
    ]
    return {
        "topics": topics,
        "renumbered": [[int(old), place] for place, old in enumerate(match.previous) if old not in (-1, place)],
        "new": [place for place in range(len(match.order)) if match.previous[place] < 0],
        "vanished": list(match.vanished),
    }


def ordered(topics: Topics, fitted: FittedTopics) -> Topics:
    """The topics in the order of the model before, with its document prior."""
    order = match_topics(topics.topics, fitted.topics).order
    return replace(
        topics, topics=topics.topics[:, order], weights=topics.weights[order],
        node_proportions=topics.node_proportions[:, order], document_concentration=fitted.document_concentration,
    )
