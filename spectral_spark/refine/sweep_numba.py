"""A sweep of Gibbs sampling compiled by numba."""

from typing import Any

import numpy as np
from numba import njit

from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits, unit_interval
from spectral_spark.refine.fixed_point import DOCUMENT_STEP, FIXED_POINT, PRIOR_BITS, PRIOR_STEPS

SHORT, PART = 8, 32          # a document of fewer than k / SHORT words is short; PART topics are summed at once
_bits: Any = njit(mixed_bits)
_unit: Any = njit(unit_interval)


def sweep(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, weights: np.ndarray,
    prior: np.ndarray, likelihood: np.ndarray, first: int, last: int, seed: np.uint64, cold: bool,
    counts: np.ndarray, tables: np.ndarray, streams: np.ndarray | None = None,
) -> None:
    """See ``backend.Backend.sweep``."""
    if streams is None:
        streams = np.arange(len(nodes), dtype=np.uint64)
    _sweep(
        indptr, words, topics, nodes, weights, prior, likelihood, first, last, seed, cold, counts, tables, streams
    )


@njit(nogil=True, error_model="numpy")
def _own_topics(
    topics: np.ndarray, start: int, stop: int, k: int, count: np.ndarray, inside: np.ndarray, many: np.ndarray,
    place: np.ndarray,
) -> int:
    """The topics of a document's words in ascending order, how many words each has, and its position in the list.

    A short document costs as much as it has words, not as there are topics; ``count`` is all zeros before and after.
    """
    size = 0
    if stop - start >= k // SHORT:
        for t in range(start, stop):
            count[topics[t]] += 1
        for j in range(k):
            inside[size], many[size], place[j] = j, count[j], size
            size += count[j] > 0
            count[j] = 0
        return size
    for t in range(start, stop):
        topic = topics[t]
        if count[topic] == 0:
            at = size
            while at > 0 and inside[at - 1] > topic:
                inside[at] = inside[at - 1]
                at -= 1
            inside[at] = topic
            size += 1
        count[topic] += 1
    for i in range(size):
        topic = inside[i]
        many[i], place[topic] = count[topic], i
        count[topic] = 0
    return size


@njit(nogil=True, error_model="numpy")
def _sweep(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, weights: np.ndarray,
    prior: np.ndarray, likelihood: np.ndarray, first: int, last: int, seed: np.uint64, cold: bool,
    counts: np.ndarray, tables: np.ndarray, streams: np.ndarray,
) -> None:
    """A document has few topics: only these are weighed one by one. The sum over
    the prior is computed once per word and node. The choice among topics has no branches that depend on the draw."""
    k = prior.shape[1]
    count = np.zeros(k, np.int64)                    # words of the document by topic, before its sweep
    inside = np.zeros(k + 1, np.uint32)              # its topics in ascending order,
    many = np.zeros(k + 1, np.int64)                 # how many words they have,
    place = np.zeros(k, np.uint32)                   # and the position of each in the list
    sums = np.zeros(k + 1, np.int64)
    around = np.zeros(len(likelihood), np.int64)     # the total weight of the prior for a word,
    known = np.full(len(likelihood), -1, np.int32)   # and the node for which it was computed
    row, now = np.zeros(k, np.uint32), -1            # the prior of that node
    for d in range(first, last):
        node, size = nodes[d], 0
        if node != now:
            now = node
            for j in range(k):
                row[j] = prior[node, j]
        if not cold:
            size = _own_topics(topics, indptr[d], indptr[d + 1], k, count, inside, many, place)
        x = seed + streams[d] * DOCUMENT_STEP
        for t in range(indptr[d], indptr[d + 1]):
            word, old = words[t], topics[t]
            if known[word] != node:
                some = np.uint64(0)
                for j in range(k):
                    some += np.uint64(row[j]) * np.uint64(likelihood[word, j])
                around[word], known[word] = some, node
            if not cold:
                many[place[old]] -= 1                # the word itself does not count
            total = np.int64(0)
            for i in range(size):
                total += many[i] * np.int64(likelihood[word, inside[i]])
                sums[i] = total
            x += GOLDEN_GAMMA
            left = np.int64(_unit(_bits(x)) * np.float64(total * PRIOR_STEPS + around[word]))
            drawn, i = left >> PRIOR_BITS, 0
            if drawn < total:
                for s in range(size):
                    i += sums[s] <= drawn
                new = np.int32(inside[i])
                many[i] += 1
            else:
                left -= total * PRIOR_STEPS
                start = 0
                while start + PART < k:              # many topics at once
                    some = np.uint64(0)
                    for j in range(start, start + PART):
                        some += np.uint64(row[j]) * np.uint64(likelihood[word, j])
                    if left < np.int64(some):
                        break
                    left -= np.int64(some)
                    start += PART
                new = np.int32(start)
                for j in range(start, min(start + PART, k) - 1):
                    left -= np.int64(row[j]) * np.int64(likelihood[word, j])
                    if left < 0:
                        break
                    new += 1
                for s in range(size):
                    i += inside[s] < new
                if i == size or inside[i] != new:
                    for s in range(size, i, -1):
                        inside[s], many[s] = inside[s - 1], many[s - 1]
                        place[inside[s]] = s
                    inside[i], many[i], place[new] = new, 0, i
                    size += 1
                many[i] += 1
            topics[t] = new
            counts[word, new] += weights[d]
            if not cold and many[place[old]] == 0:
                size -= 1
                for s in range(place[old], size):
                    inside[s], many[s] = inside[s + 1], many[s + 1]
                    place[inside[s]] = s
        for i in range(size):
            alpha, draws = np.float64(prior[node, inside[i]]) / PRIOR_STEPS, 0.0
            for n in range(many[i]):
                draws += alpha / (alpha + n)
            tables[node, inside[i]] += np.int64(draws * FIXED_POINT)
