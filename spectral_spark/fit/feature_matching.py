"""Features of an update keep the numbers of the features before it that they resemble."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

ALIKE = 0.5


@dataclass(frozen=True, eq=False)
class FeatureMatch:
    """Which features continue which.

    Attributes
    ----------
    order : int array of shape (k,), the new column that gets each number.
    previous : int array of shape (k,), the number that it had before, or -1 for a new feature.
    similarity : array of shape (k,), cosine between the columns; 0 for a new feature.
    vanished : numbers of features that are no longer there.
    """

    order: np.ndarray
    previous: np.ndarray
    similarity: np.ndarray
    vanished: list[int]

    def as_dict(self) -> dict[str, Any]:
        rows = zip(self.previous.tolist(), self.similarity.tolist(), strict=True)
        return {
            "features": [
                {"feature": number, "previous": before if before >= 0 else None, "similarity": alike}
                for number, (before, alike) in enumerate(rows)
            ],
            "new": np.flatnonzero(self.previous < 0).tolist(),
            "vanished": self.vanished,
        }


def match_features(columns: np.ndarray, before: np.ndarray) -> FeatureMatch:
    """Pair the columns of two dictionaries, (d, k) and (d, l), by the cosine between them, whatever their sign."""
    cosines = np.abs(_unit(columns).T @ _unit(before))
    mine, theirs = linear_sum_assignment(-cosines)
    pairs = {int(old): int(new) for new, old in zip(mine, theirs, strict=True) if cosines[new, old] >= ALIKE}
    k = columns.shape[1]
    place = {old: new for old, new in pairs.items() if old < k}          # numbers that can stay
    left = iter(new for new in range(k) if new not in place.values())
    order = np.array([place[number] if number in place else next(left) for number in range(k)])
    old_of = {new: old for old, new in pairs.items()}
    previous = np.array([old_of.get(int(new), -1) for new in order])
    similarity = np.array([cosines[new, old] if old >= 0 else 0.0 for new, old in zip(order, previous, strict=True)])
    return FeatureMatch(order, previous, similarity, [old for old in range(before.shape[1]) if old not in pairs])


def _unit(columns: np.ndarray) -> np.ndarray:
    return np.asarray(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))
