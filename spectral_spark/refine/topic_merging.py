"""Merging of surplus topics, the most similar first (formulas §11).

A sampler with exactly k topics has none to spare for a theme that it missed, and a topic that holds two themes rarely
splits. With surplus topics every theme can get its own, and merging two similar topics costs almost no likelihood.
"""

import numpy as np

from spectral_spark.refine.topic_counts import in_threads

_BLOCK_CELLS = 1 << 15          # of a block and of its logarithms together


def split_heaviest(statistics: np.ndarray, columns: int, seed: int, fixed: int = 0) -> np.ndarray:
    """Topic-word counts (d, k) → (d, columns): the heaviest topics give a random part of their words to new ones.

    The first ``fixed`` topics give none, unless there are too few others.
    """
    k = statistics.shape[1]
    heaviest = np.lexsort((-statistics.sum(axis=0), np.arange(k) < fixed))[: columns - k]
    given = statistics[:, heaviest] * np.random.default_rng([seed, columns]).random((len(statistics), len(heaviest)))
    wide = np.hstack([statistics, given])
    wide[:, heaviest] -= given
    return wide


def merge_labels(counts: np.ndarray, k: int, fixed: int = 0, *, threads: int = 1) -> np.ndarray:
    """Merge topics until k are left, always the two that lose the least likelihood.

    Parameters
    ----------
    counts : array of shape (words, columns), how often each topic has each word; columns ≥ k.
    fixed : the first so many topics keep their numbers; nothing is merged with them.
    threads : each compares some of the pairs.

    Returns
    -------
    int32 array of shape (columns,), the new number of each topic, from 0 to k − 1.
    """
    counts, columns = counts.copy(), counts.shape[1]
    owner, alive = np.arange(columns), np.ones(columns, bool)
    own = _likelihood(counts)
    cost = np.full((columns, columns), np.inf)

    def pairs(number: int) -> None:
        for i in range(fixed + number, columns - 1, threads):
            cost[i, i + 1 :] = own[i] + own[i + 1 :] - _likelihood(counts[:, i + 1 :], counts[:, i])

    in_threads(threads, pairs)
    for _ in range(columns - k):
        i, j = divmod(int(cost.argmin()), columns)
        counts[:, i] += counts[:, j]
        owner[owner == j], alive[j] = i, False
        cost[j, :] = cost[:, j] = cost[i, :] = cost[:, i] = np.inf
        own[i] = _likelihood(counts[:, i : i + 1])[0]
        others = np.flatnonzero(alive & (np.arange(columns) != i))
        others = others[others >= fixed]

        def again(number: int, i: int = i, others: np.ndarray = others) -> None:
            mine = others[number::threads]
            new = own[i] + own[mine] - _likelihood(counts[:, mine], counts[:, i])
            cost[np.minimum(mine, i), np.maximum(mine, i)] = new

        in_threads(threads, again)
    return np.searchsorted(np.flatnonzero(alive), owner).astype(np.int32)


def merged(columns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Columns (rows, n) summed by label: (rows, largest label + 1)."""
    sums = np.zeros((len(columns), int(labels.max()) + 1))
    for column, label in enumerate(labels):
        sums[:, label] += columns[:, column]
    return sums


def _likelihood(counts: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
    """Σ c log(c / Σ c) of every column, to which another one may be added first.

    Where rows lie together in memory, they are added up one after the other, in blocks that fit into a cache.
    """
    columns = counts.shape[1]
    together = columns > 1 and counts.strides[1] == counts.itemsize
    rows = max(1, _BLOCK_CELLS // columns) if together else max(1, len(counts))
    sums, total = np.zeros(columns), np.zeros(columns)
    for start in range(0, len(counts), rows):
        block = counts[start : start + rows]
        if other is not None:
            block = block + other[start : start + rows, None]
        logarithms = _c_log_c(block)
        if start:
            logarithms[0] += sums
            block = np.concatenate([total[None], block])
        sums, total = logarithms.sum(axis=0), block.sum(axis=0)
    result: np.ndarray = sums - _c_log_c(total)
    return result


def _c_log_c(counts: np.ndarray) -> np.ndarray:
    """c log c, 0 for c = 0; several times faster than ``xlogy``."""
    logarithms = np.log(np.maximum(counts, 1e-300))
    logarithms *= counts
    return logarithms
