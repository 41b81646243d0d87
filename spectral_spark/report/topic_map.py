"""Distances between topics, and a flat map of them."""

import numpy as np
from scipy.special import xlogy

_WORK = 2_000_000_000        # pairs × words that are affordable (a few seconds)


def topic_distances(topics: np.ndarray) -> np.ndarray:
    """Jensen–Shannon distances between topics: 0 for the same words, 1 for no word in common.

    Parameters
    ----------
    topics : array of shape (d, k), columns sum to one.

    Returns
    -------
    array of shape (k, k), symmetric, zero diagonal: √ of the Jensen–Shannon divergence in bits.
    """
    rows = _thinned(np.clip(topics, 0.0, None).T)
    k = len(rows)
    entropy = -xlogy(rows, rows).sum(axis=1)
    divergence = np.zeros((k, k))
    for i in range(k - 1):
        middle = (rows[i] + rows[i + 1 :]) / 2
        mixed = -xlogy(middle, middle).sum(axis=1)
        divergence[i, i + 1 :] = mixed - (entropy[i] + entropy[i + 1 :]) / 2
    bits = np.clip(divergence / np.log(2.0), 0.0, 1.0)
    return np.sqrt(bits + bits.T)


def classical_mds(distances: np.ndarray) -> np.ndarray:
    """Points in the plane whose distances are as near as linear algebra gets to the given ones (Torgerson).

    Returns
    -------
    array of shape (k, 2), centred, with the sign of each axis fixed so that the same model gives the same map.
    """
    k = len(distances)
    points = np.zeros((k, 2))
    if k < 2:
        return points
    centre = np.eye(k) - 1.0 / k
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    for axis in range(min(2, k - 1)):
        vector = vectors[:, -1 - axis]
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
        points[:, axis] = vector * np.sqrt(max(values[-1 - axis], 0.0))
    return points


def _thinned(rows: np.ndarray) -> np.ndarray:
    """Large models: the most used words one by one, all others as a single word."""
    k, d = rows.shape
    keep = max(_WORK // max(k * k, 1), 500)
    if d <= keep:
        return rows
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    return np.hstack([rows[:, order[: keep - 1]], rows[:, order[keep - 1 :]].sum(axis=1, keepdims=True)])
