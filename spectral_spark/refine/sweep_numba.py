"""A sweep of Gibbs sampling compiled by numba."""

from typing import Any

import numpy as np
from numba import njit

from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits, unit_interval
from spectral_spark.refine.fixed_point import DOCUMENT_STEP, FIXED_POINT, PRIOR_BITS, PRIOR_STEPS
from spectral_spark.refine.prefetch import prefetch

SHORT, PART = 8, 32          # a document of fewer than k / SHORT words is short; PART topics are summed at once
AHEAD = 8                    # words: what the draw of a word reads is fetched so many words before
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
    sums = np.empty((len(likelihood), -(-prior.shape[1] // PART)), np.int64)
    _sweep(
        indptr, words, topics, nodes, weights, prior, likelihood, first, last, seed, cold, counts, tables, streams, sums
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
def _add_up_prior(row: np.ndarray, likelihood: np.ndarray, word: int, around: np.ndarray) -> None:
    """The total weight of a node's prior for a word up to the end of every part of the topics."""
    k, parts, so_far = len(row), len(row) // PART, np.uint64(0)
    for part in range(parts):
        some = np.uint64(0)
        for j in range(PART):                        # of fixed length, which is compiled to faster code
            some += np.uint64(row[part * PART + j]) * np.uint64(likelihood[word, part * PART + j])
        so_far += some
        around[word, part] = so_far
    if parts * PART < k:
        for j in range(parts * PART, k):
            so_far += np.uint64(row[j]) * np.uint64(likelihood[word, j])
        around[word, parts] = so_far


@njit(nogil=True, error_model="numpy")
def _drawn_from_prior(row: np.ndarray, likelihood: np.ndarray, word: int, around: np.ndarray, left: int) -> int:
    """The topic in which the weight of the prior passes ``left``: first its part, then its place there."""
    part, last = 0, around.shape[1] - 1
    for number in range(last):
        part += around[word, number] <= left
    if part > 0:
        left -= around[word, part - 1]
    topic, so_far = part * PART, np.int64(0)
    for j in range(part * PART, min(part * PART + PART, len(row)) - 1):
        so_far += np.int64(row[j]) * np.int64(likelihood[word, j])
        topic += so_far <= left
    return topic


@njit(nogil=True, error_model="numpy")
def _fetch(
    likelihood: np.ndarray, counts: np.ndarray, word: int, topic: int, inside: np.ndarray, size: int
) -> None:
    """Ask for what a draw will need: a word mostly keeps its topic, or gets another one of its document."""
    prefetch(counts, word, topic)
    for i in range(size):
        prefetch(likelihood, word, np.int64(inside[i]))


@njit(nogil=True, error_model="numpy")
def _sweep(
    indptr: np.ndarray, words: np.ndarray, topics: np.ndarray, nodes: np.ndarray, weights: np.ndarray,
    prior: np.ndarray, likelihood: np.ndarray, first: int, last: int, seed: np.uint64, cold: bool,
    counts: np.ndarray, tables: np.ndarray, streams: np.ndarray, around: np.ndarray,
) -> None:
    """A document has few topics: only these are weighed one by one. The sums over the prior are computed once per word
    and node, into ``around``. The choice among topics has no branches that depend on the draw."""
    k = prior.shape[1]
    count = np.zeros(k, np.int64)                    # words of the document by topic, before its sweep
    inside = np.zeros(k + 1, np.uint32)              # its topics in ascending order,
    many = np.zeros(k + 1, np.int64)                 # how many words they have,
    place = np.zeros(k, np.uint32)                   # and the position of each in the list
    sums = np.zeros(k + 1, np.int64)
    known = np.full(len(likelihood), -1, np.int32)   # the node whose prior was added up for a word
    row, now = np.zeros(k, np.uint32), -1            # the prior of that node
    for d in range(first, last):
        node, size = nodes[d], 0
        if node != now:
            now = node
            for j in range(k):
                row[j] = prior[node, j]
        if not cold:
            size = _own_topics(topics, indptr[d], indptr[d + 1], k, count, inside, many, place)
        for t in range(indptr[d], min(indptr[d] + AHEAD, indptr[d + 1])):
            _fetch(likelihood, counts, words[t], topics[t], inside, size)
        x = seed + streams[d] * DOCUMENT_STEP
        for t in range(indptr[d], indptr[d + 1]):
            if t + AHEAD < indptr[d + 1]:
                _fetch(likelihood, counts, words[t + AHEAD], topics[t + AHEAD], inside, size)
            word, old = words[t], topics[t]
            if known[word] != node:
                _add_up_prior(row, likelihood, word, around)
                known[word] = node
            if not cold:
                many[place[old]] -= 1                # the word itself does not count
            total = np.int64(0)
            for i in range(size):
                total += many[i] * np.int64(likelihood[word, inside[i]])
                sums[i] = total
            x += GOLDEN_GAMMA
            left = np.int64(_unit(_bits(x)) * np.float64(total * PRIOR_STEPS + around[word, around.shape[1] - 1]))
            drawn, i = left >> PRIOR_BITS, 0
            if drawn < total:
                for s in range(size):
                    i += sums[s] <= drawn
                new = np.int32(inside[i])
                many[i] += 1
            else:
                new = np.int32(_drawn_from_prior(row, likelihood, word, around, left - total * PRIOR_STEPS))
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
