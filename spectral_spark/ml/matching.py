"""Which topic of today is which of yesterday."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

SAME = 0.3                  # topics that share less than this much of their mass are different topics


@dataclass(frozen=True, eq=False)
class TopicMatch:
    """New topics in the order of the old ones; what has no partner is new or has vanished.

    Attributes
    ----------
    order : int array, the new topics: matched ones at the place of their partner, then new ones.
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
    shared = 1.0 - 0.5 * cdist(old.T, new.T, "cityblock")
    rows, columns = linear_sum_assignment(-shared)
    pairs = [(int(r), int(c)) for r, c in zip(rows, columns, strict=True) if shared[r, c] >= same]
    taken = {c for _, c in pairs}
    fresh = [c for c in range(new.shape[1]) if c not in taken]
    order = [c for _, c in pairs] + fresh
    previous = [r for r, _ in pairs] + [-1] * len(fresh)
    similarity = [float(shared[r, c]) for r, c in pairs] + [0.0] * len(fresh)
    gone = tuple(sorted(set(range(old.shape[1])) - {r for r, _ in pairs}))
    return TopicMatch(np.array(order, np.int64), np.array(previous, np.int64), np.array(similarity), gone)


def describe_match(match: TopicMatch, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """The match as JSON: how every topic moved, which are new, which vanished. Weights of shape (k',) and (k,)."""
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
        "new": [place for place in range(len(match.order)) if match.previous[place] < 0],
        "vanished": list(match.vanished),
    }
