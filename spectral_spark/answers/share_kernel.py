"""Sums over documents from which the topic shares of groups follow, with bootstrap replicates, in one scoring pass.

A document's proportions θ lean towards those of its tree node, p: θ = (c + g p) / (N + g), where c are the expected
counts of its N words and g is the concentration of documents. θ is the posterior mean, by sampling: the quicker mode
leaves a little of every undecided word in every topic, which biases shares by tenths of a percent. An average of θ over
a group would still be too similar to the model's own proportions, and seem too certain. The sums undo this. To first
order, θ follows p with the slope a = g / (N + g − j), where j says how many words are undecided between the topic and
others; then

    share of a topic in a group = Σ (θ − a p) / Σ (1 − a),

the proportions under which the documents would reproduce themselves. Without undecided words that is
Σ c / (N + g) / Σ N / (N + g), a mean over documents in which long documents count more, up to one.

The replicates are a Poisson bootstrap: in replicate r, a document counts as often as a Poisson variate with mean one
says that is a hash of the seed, r and the document's key. It belongs to the document alone, so all sums are additive
and do not depend on the partitioning.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits, next_bits
from spectral_spark.refine.fold_in import possible
from spectral_spark.refine.posterior_means import sample_documents

_LARGEST_SLOPE = 0.95        # documents that say almost nothing are not scaled up by more than 20
_POISSON = np.cumsum(np.exp(-1.0) / np.concatenate(([1.0], np.cumprod(np.arange(1.0, 16.0)))))
_THRESHOLDS = (_POISSON * 2.0**32).astype(np.uint64)


@dataclass(frozen=True)
class ShareKernel:
    """Shares of topics in groups of documents.

    ``shared`` holds ``topics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` (1,), ``groups`` (nodes, levels),
    the groups that a document of each node belongs to, −1 for none, and ``clusters`` (nodes,), hashes of what is drawn
    together in the bootstrap: documents one by one where the hash is 0.

    The arrays are ``above`` and ``below`` of shape (groups, replicates + 1, k), the two sums of the quotient, with the
    documents themselves in place 0, and ``documents`` (groups,).
    """

    groups: int
    replicates: int = 200
    seed: int = 0

    def start(self, shared: Mapping[str, np.ndarray]) -> "ShareAccumulator":
        return ShareAccumulator(self, shared)


class ShareAccumulator:
    """The sums of one logical shard."""

    def __init__(self, kernel: ShareKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._kernel, self._shared = kernel, shared
        k = shared["topics"].shape[1]
        self._sums = np.zeros((2, kernel.groups, kernel.replicates + 1, k))
        self._documents = np.zeros(kernel.groups)

    def add(self, batch: CountBatch) -> None:
        shared, kernel = self._shared, self._kernel
        topics, prior, g = shared["topics"], shared["node_prior"], float(shared["concentration"][0])
        theta = sample_documents(batch, topics, prior, g, kernel.seed).theta
        slope = prior_slopes(batch, topics, theta, g)
        values = np.concatenate((theta - slope * prior[batch.nodes], 1.0 - slope), axis=1)
        clusters = shared["clusters"][batch.nodes]
        keys = np.where(clusters != 0, clusters, batch.keys)
        drawn = poisson_weights(keys, kernel.seed, kernel.replicates)
        weights = np.concatenate((np.ones((1, batch.n_documents)), drawn))
        k = topics.shape[1]
        for level in shared["groups"].T:
            member_of = level[batch.nodes]
            for group in np.unique(member_of[member_of >= 0]):
                members = member_of == group
                sums = weights[:, members] @ values[members]
                self._sums[0, group] += sums[:, :k]
                self._sums[1, group] += sums[:, k:]
                self._documents[group] += members.sum()

    def arrays(self) -> dict[str, np.ndarray]:
        return {"above": self._sums[0], "below": self._sums[1], "documents": self._documents}


def prior_slopes(batch: CountBatch, topics: np.ndarray, theta: np.ndarray, concentration: float) -> np.ndarray:
    """How much each document's share of a topic follows the prior share, array of shape (n, k)."""
    document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    chance = possible(topics[batch.terms]) * theta[document]
    chance /= chance.sum(axis=1, keepdims=True)
    chance *= 1.0 - chance
    chance *= batch.counts[:, None]
    ends = np.concatenate((np.zeros((1, topics.shape[1])), np.cumsum(chance, axis=0)))
    undecided = ends[batch.indptr[1:]] - ends[batch.indptr[:-1]]
    total = batch.lengths[:, None] + concentration
    rest = np.maximum(total - undecided / np.maximum(theta, 1e-12), concentration)
    return np.minimum(concentration / rest, _LARGEST_SLOPE)


def poisson_weights(keys: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    """Poisson variates with mean one, array of shape (replicates, n): a hash of (seed, replicate, key) and no more."""
    first = next_bits(np.array([seed], np.int64).view(np.uint64))
    states = next_bits(first ^ np.asarray(keys, np.int64).view(np.uint64))
    steps = np.arange(1, (replicates + 1) // 2 + 1, dtype=np.uint64) * GOLDEN_GAMMA
    bits = mixed_bits(states + steps[:, None])                     # 64 bits give two replicates
    halves = np.stack((bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)), axis=1).reshape(-1, len(keys))
    return np.searchsorted(_THRESHOLDS, halves[:replicates], side="right").astype(np.float64)
