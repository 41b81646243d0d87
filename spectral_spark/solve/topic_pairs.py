"""Pairs up the topics of two models."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from spectral_spark.errors import InputError


def paired_topics(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pair topics one to one at the least total distance (the Hungarian algorithm).

    Parameters
    ----------
    rows, columns : arrays of shape (d, k), (d, k'), columns sum to one.

    Returns
    -------
    row_index, column_index : int arrays of shape (min(k, k'),), the pairs.
    distance : array of shape (k, k'), half the L1 distance of every two topics: 0 equal, 1 disjoint.
    """
    if len(rows) != len(columns):
        raise InputError(f"topics over {len(rows)} and over {len(columns)} words cannot be compared; "
                         "use models of one vocabulary")
    distance = 0.5 * cdist(rows.T, columns.T, "cityblock")
    row_index, column_index = linear_sum_assignment(distance)
    return row_index, column_index, distance
