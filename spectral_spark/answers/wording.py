"""How a group words a topic: expected topic-word counts inside and outside it, and log-odds with z-scores.

The words of a topic within a group are shrunk towards the topic's own: with expected counts c and a topic φ, the share
of a word is (c + a φ) / (Σ c + a). The strength a is learnt from the counts, the maximum of their Dirichlet-multinomial
likelihood, so that a group that words the topic as everybody does is drawn close to it. Differences are log-odds with
this prior (Monroe, Colaresi and Quinn 2008). A word that a few documents repeat many times counts for less: its
variance is the sum over documents of squared counts, not the sum of counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.posterior_means import sample_documents

_LEAST_STRENGTH, _LARGEST_STRENGTH = 1.0, 1e7
_ROUNDS = 200


@dataclass(frozen=True)
class WordingKernel:
    """Expected counts of the words of some topics in two groups of documents.

    ``shared`` holds ``topics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` (1,), ``groups`` (nodes,), 0 or 1
    for the group of each node's documents and −1 for neither, and ``watched`` (topics,). The arrays are ``counts`` and
    ``squares`` of shape (2, topics, d), sums over documents of expected counts and of their squares, and ``documents``
    (2,).
    """

    seed: int = 0

    def start(self, shared: Mapping[str, np.ndarray]) -> "WordingAccumulator":
        return WordingAccumulator(self.seed, shared)


class WordingAccumulator:
    """The sums of one logical shard."""

    def __init__(self, seed: int, shared: Mapping[str, np.ndarray]) -> None:
        self._seed, self._shared = seed, shared
        self._watched = [int(topic) for topic in shared["watched"]]
        self._sums = np.zeros((2, 2, len(self._watched), len(shared["topics"])))
        self._documents = np.zeros(2)

    def add(self, batch: CountBatch) -> None:
        shared, d = self._shared, len(self._shared["topics"])
        group = shared["groups"][batch.nodes]
        found = sample_documents(
            batch, shared["topics"], shared["node_prior"], float(shared["concentration"][0]), self._seed, self._watched
        ).entry_counts
        of_entry = np.repeat(group, np.diff(batch.indptr))
        for side in (0, 1):
            mine = of_entry == side
            for place, counts in enumerate(found[:, mine]):
                self._sums[0, side, place] += np.bincount(batch.terms[mine], counts, d)
                self._sums[1, side, place] += np.bincount(batch.terms[mine], counts**2, d)
            self._documents[side] += (group == side).sum()

    def arrays(self) -> dict[str, np.ndarray]:
        return {"counts": self._sums[0], "squares": self._sums[1], "documents": self._documents}


@dataclass(frozen=True, eq=False)
class Wording:
    """The words of one topic in two groups; all arrays have the shape (d,).

    Attributes
    ----------
    shares, other_shares : of each word in the topic, as the first and the second group word it, shrunk towards it.
    log_odds : of the first group against the second; z : the same in standard errors.
    counts : expected counts in the first group.
    strengths : of the shrinkage in the two groups, in words.
    """

    shares: np.ndarray
    other_shares: np.ndarray
    log_odds: np.ndarray
    z: np.ndarray
    counts: np.ndarray
    strengths: tuple[float, float]


def compare_wording(counts: np.ndarray, squares: np.ndarray, topic: np.ndarray) -> Wording:
    """The wording of a topic in two groups from their sums, arrays of shape (2, d), and the topic's words (d,)."""
    prior = np.maximum(topic, 1e-12) / np.maximum(topic, 1e-12).sum()
    strengths = [shrinkage(row, prior) for row in counts]
    odds, variance, shares = [], np.zeros(len(prior)), []
    for row, square, strength in zip(counts, squares, strengths, strict=True):
        smooth = row + strength * prior
        total = smooth.sum()
        repeated = np.maximum(np.divide(square, row, out=np.ones_like(row), where=row > 0), 1.0)
        odds.append(np.log(smooth) - np.log(np.maximum(total - smooth, 1e-12)))
        variance += (row * repeated + strength * prior) / smooth**2
        shares.append(smooth / total)
    gap = odds[0] - odds[1]
    return Wording(shares[0], shares[1], gap, gap / np.sqrt(variance), counts[0], (strengths[0], strengths[1]))


def shrinkage(counts: np.ndarray, prior: np.ndarray) -> float:
    """The strength a at which counts are most likely under Dirichlet(a · prior), by Minka's fixed point."""
    total, strength = float(counts.sum()), 100.0
    if total <= 1.0:
        return _LARGEST_STRENGTH
    used = counts > 0
    for _ in range(_ROUNDS):
        own = strength * prior[used]
        above = float((prior[used] * (digamma(counts[used] + own) - digamma(own))).sum())
        below = float(digamma(total + strength) - digamma(strength))
        following = float(np.clip(strength * above / max(below, 1e-300), _LEAST_STRENGTH, _LARGEST_STRENGTH))
        if abs(following - strength) < 1e-4 * strength:
            return following
        strength = following
    return strength
