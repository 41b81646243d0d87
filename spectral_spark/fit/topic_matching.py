"""Which topic of today is which of yesterday."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectral_spark.solve.topic_pairs import paired_topics

SAME = 0.3                  # topics that share less than this much of their mass are different topics


@dataclass(frozen=True, eq=False)
class TopicMatch:
    """New topics in the order of the old ones; what has no partner is new or has vanished.

    Attributes
    ----------
    order : int array, the new topics: matched ones at the place of their partner, new ones where an old one vanished,
        then the other new ones. Where more vanished than are new, the topics behind an empty place move up.
    previous : for each place, the old topic, or −1 for a new one.
    similarity : for each place, the mass shared with the partner, 1 − L1/2; 0 for a new one.
    vanished : old topics without a partner.
    """

    order: np.ndarray
    previous: np.ndarray
    similarity: np.ndarray
    vanished: tuple[int, ...]


def match_topics(new: np.ndarray, old: np.ndarray, same: float = SAME) -> TopicMatch:
    """Match topics one to one at the largest total similarity.

    Parameters
    ----------
    new, old : arrays of shape (d, k), (d, k'), columns sum to one.
    """
    rows, columns, distance = paired_topics(old, new)
    shared = 1.0 - distance
    partner = {int(r): int(c) for r, c in zip(rows, columns, strict=True) if shared[r, c] >= same}
    gone = [topic for topic in range(old.shape[1]) if topic not in partner]
    fresh = sorted(set(range(new.shape[1])) - set(partner.values()))
    places = sorted([*partner, *gone[: len(fresh)]])
    arriving = iter(fresh)
    order = [partner[place] if place in partner else next(arriving) for place in places] + list(arriving)
    previous = [place if place in partner else -1 for place in places] + [-1] * (len(order) - len(places))
    similarity = [float(shared[r, c]) if r >= 0 else 0.0 for r, c in zip(previous, order, strict=True)]
    return TopicMatch(np.array(order, np.int64), np.array(previous, np.int64), np.array(similarity), tuple(gone))


def describe_match(match: TopicMatch, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """The match as JSON: how every topic moved, which are new, which vanished. Weights of shape (k',) and (k,).

    "renumbered" has the old and the new number of every topic that is not where it was.
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
