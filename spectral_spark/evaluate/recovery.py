"""How far found topics are from the true ones, when the truth is known."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.solve.topic_pairs import paired_topics


@dataclass(frozen=True, eq=False)
class TopicRecovery:
    """Found topics matched to true ones, one to one, at the least total error.

    Attributes
    ----------
    match : int array of shape (true k,), the found topic for each true one, −1 where there were too few.
    errors : array of shape (true k,), half the L1 distance of each pair (0 equal, 1 disjoint); 1 for a topic not found.
    """

    match: np.ndarray
    errors: np.ndarray

    @property
    def error(self) -> float:
        """Mean over the true topics."""
        return float(self.errors.mean())


def recovery(found: np.ndarray, truth: np.ndarray) -> TopicRecovery:
    """Match topics to the truth (Hungarian algorithm on half L1 distances).

    Parameters
    ----------
    found : array of shape (d, k').
    truth : array of shape (d, k).
    """
    rows, columns, distance = paired_topics(truth, found)
    match, errors = np.full(truth.shape[1], -1), np.ones(truth.shape[1])
    match[rows], errors[rows] = columns, distance[rows, columns]
    return TopicRecovery(match, errors)
