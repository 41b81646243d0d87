"""Distances between topics, and a flat map of them."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

_WORK = 1_000_000_000        # k² × words that are affordable (a few seconds)
_BLOCK = 512                 # words at a time, so that the pairs stay in the processor's cache


def topic_distances(topics: np.ndarray) -> np.ndarray:
    """Jensen–Shannon distances between topics: 0 for the same words, 1 for no word in common.

    SciPy's ``pdist`` gives the same numbers; going through blocks of words takes about a third of its time.

    Parameters
    ----------
    topics : array of shape (d, k), columns sum to one.

    Returns
    -------
    array of shape (k, k), symmetric, zero diagonal: √ of the Jensen–Shannon divergence in bits.
    """
    rows = np.maximum(_thinned(np.clip(topics, 0.0, None).T), np.finfo(float).tiny)
    k, d = rows.shape
    mixed = np.zeros((k, k))
    for start in range(0, d, _BLOCK):
        _add_mixed_entropies(np.ascontiguousarray(rows[:, start : start + _BLOCK]), mixed)
    entropy = -(rows * np.log(rows)).sum(axis=1)
    divergence = np.triu(mixed - (entropy[:, None] + entropy) / 2, 1)
    bits = np.clip(divergence / np.log(2.0), 0.0, 1.0)
    distances: np.ndarray = np.sqrt(bits + bits.T)
    return distances


def _add_mixed_entropies(rows: np.ndarray, total: np.ndarray) -> None:
    """Add the entropy of the mean of every pair of rows (above the diagonal), for one block of words."""
    means, logs = np.empty_like(rows), np.empty_like(rows)
    for i in range(len(rows) - 1):
        mean = np.add(rows[i], rows[i + 1 :], out=means[i + 1 :])
        mean *= 0.5
        np.log(mean, out=logs[i + 1 :])
        total[i, i + 1 :] -= np.einsum("ij,ij->i", mean, logs[i + 1 :])


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


def topic_groups(distances: np.ndarray, most: int = 8) -> np.ndarray:
    """A group for every topic, so that similar topics share a colour: average linkage, at most ``most`` groups.

    Returns
    -------
    int array of shape (k,), groups numbered from 0 in the order of their first topic.
    """
    k = len(distances)
    count = min(most, max(1, round(np.sqrt(k))))
    if k < 3 or count < 2:
        return np.zeros(k, int)
    tree = linkage(squareform(distances, checks=False), method="average")
    found = fcluster(tree, count, criterion="maxclust")
    first = {group: number for number, group in enumerate(dict.fromkeys(found.tolist()))}
    return np.array([first[group] for group in found.tolist()])


def _thinned(rows: np.ndarray) -> np.ndarray:
    """Large models: the most used words one by one, all others as a single word."""
    k, d = rows.shape
    keep = max(_WORK // max(k * k, 1), 500)
    if d <= keep:
        return rows
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    return np.hstack([rows[:, order[: keep - 1]], rows[:, order[keep - 1 :]].sum(axis=1, keepdims=True)])
