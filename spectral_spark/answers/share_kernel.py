"""Sums over documents from which the topic shares of groups and their variance follow, in one scoring pass.

A document's proportions θ lean towards those of its tree node, p: θ = (c + g p) / (N + g), where c are the expected
counts of its N words and g is the concentration of documents. θ is the posterior mean, by sampling: the quicker mode
leaves a little of every undecided word in every topic, which biases shares by tenths of a percent. An average of θ over
a group would still be too similar to the model's own proportions, and seem too certain. The sums undo this. To first
order, θ follows p with the slope a = g / (N + g − j). If θ changes by ε, and those of the other topics in proportion,
a word that is of the topic with probability r changes r by ε r (1 − r) / (θ (1 − θ)), and j is the sum of these slopes
over the undecided words. Then, with y = θ − a p and w = 1 − a,

    share of a topic in a group = Σ y / Σ w,

the proportions under which the documents would reproduce themselves. Without undecided words that is
Σ c / (N + g) / Σ N / (N + g), a mean over documents in which long documents count more, up to one.

The uncertainty is that of a Poisson bootstrap, in which a document counts as often as a Poisson variate with mean one
says. The variance of a share s over infinitely many replicates is Σ (y − s w)² / (Σ w)², so the sums of y², y w and w²
say it without drawing anything, for thousands of groups at once. Replicates are drawn only for selections of documents
that may have some in common. In replicate r, a document's variate is a hash of the seed, r and the document's key: it
belongs to the document alone, so all sums are additive and do not depend on the partitioning.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits, next_bits
from spectral_spark.refine.fold_in import possible
from spectral_spark.refine.posterior_means import sample_documents

SUMS = ("above", "below", "squares", "products", "weights")        # of y, w, y², y w and w²
_LARGEST_SLOPE = 0.95        # documents that say almost nothing are not scaled up by more than 20
_POISSON = np.cumsum(np.exp(-1.0) / np.concatenate(([1.0], np.cumprod(np.arange(1.0, 16.0)))))
_THRESHOLDS = (_POISSON * 2.0**32).astype(np.uint64)


@dataclass(frozen=True)
class ShareKernel:
    """Shares of topics in groups of documents.

    ``shared`` holds ``topics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` (1,), and ``groups``
    (nodes, levels), the groups that a document of each node belongs to, −1 for none.

    The arrays are ``documents`` (groups,), the sums ``above`` and ``below`` of shape (groups, k), and where documents
    are drawn one by one (``single``) also ``squares``, ``products`` and ``weights``. With replicates there are the two
    sums of each of them, ``drawn_above`` and ``drawn_below`` of shape (groups, replicates, k).
    """

    groups: int
    single: bool = True
    replicates: int = 0
    seed: int = 0

    def start(self, shared: Mapping[str, np.ndarray]) -> "ShareAccumulator":
        return ShareAccumulator(self, shared)

    @property
    def rows(self) -> int:
        """Numbers in the arrays for each group and topic."""
        return (5 if self.single else 2) + 2 * self.replicates


class ShareAccumulator:
    """The sums of one logical shard."""

    def __init__(self, kernel: ShareKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._kernel, self._shared = kernel, shared
        k = shared["topics"].shape[1]
        self._sums = {name: np.zeros((kernel.groups, k)) for name in (SUMS if kernel.single else SUMS[:2])}
        self._drawn = {f"drawn_{name}": np.zeros((kernel.groups, kernel.replicates, k))
                       for name in SUMS[:2] if kernel.replicates}
        self._documents = np.zeros(kernel.groups)

    def add(self, batch: CountBatch) -> None:
        shared, kernel = self._shared, self._kernel
        topics, prior, g = shared["topics"], shared["node_prior"], float(shared["concentration"][0])
        theta = sample_documents(batch, topics, prior, g, kernel.seed).theta
        slope = prior_slopes(batch, topics, theta, g)
        above, below = theta - slope * prior[batch.nodes], 1.0 - slope
        for level in shared["groups"].T:
            self._add_groups(level[batch.nodes], above, below)
            if kernel.replicates:
                self._add_replicates(level[batch.nodes], above, below, batch.keys)

    def _add_groups(self, member_of: np.ndarray, above: np.ndarray, below: np.ndarray) -> None:
        order = np.argsort(member_of, kind="stable")
        order = order[np.searchsorted(member_of[order], 0) :]
        if not len(order):
            return
        groups, starts, sizes = np.unique(member_of[order], return_index=True, return_counts=True)
        y, w = above[order], below[order]
        parts = {"above": y, "below": w}
        if self._kernel.single:
            parts |= {"squares": y * y, "products": y * w, "weights": w * w}
        for name, values in parts.items():
            self._sums[name][groups] += np.add.reduceat(values, starts, axis=0)
        self._documents[groups] += sizes

    def _add_replicates(self, member_of: np.ndarray, above: np.ndarray, below: np.ndarray, keys: np.ndarray) -> None:
        weights = poisson_weights(keys, self._kernel.seed, self._kernel.replicates)
        for group in np.unique(member_of[member_of >= 0]):
            members = member_of == group
            self._drawn["drawn_above"][group] += weights[:, members] @ above[members]
            self._drawn["drawn_below"][group] += weights[:, members] @ below[members]

    def arrays(self) -> dict[str, np.ndarray]:
        return {**self._sums, **self._drawn, "documents": self._documents}


def prior_slopes(batch: CountBatch, topics: np.ndarray, theta: np.ndarray, concentration: float) -> np.ndarray:
    """How much each document's share of a topic follows the prior share, array of shape (n, k)."""
    document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    chance = possible(topics[batch.terms]) * theta[document]
    chance /= chance.sum(axis=1, keepdims=True)
    chance *= 1.0 - chance
    chance *= batch.counts[:, None]
    undecided, starts = np.zeros_like(theta), np.asarray(batch.indptr[:-1])
    filled = np.diff(batch.indptr) > 0
    if filled.any():
        undecided[filled] = np.add.reduceat(chance, starts[filled], axis=0)
    total = batch.lengths[:, None] + concentration
    rest = np.maximum(total - undecided / np.maximum(theta * (1.0 - theta), 1e-12), concentration)
    return np.minimum(concentration / rest, _LARGEST_SLOPE)


def poisson_weights(keys: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    """Poisson variates with mean one, array of shape (replicates, n): a hash of (seed, replicate, key) and no more."""
    first = next_bits(np.array([seed], np.int64).view(np.uint64))
    states = next_bits(first ^ np.asarray(keys, np.int64).view(np.uint64))
    steps = np.arange(1, (replicates + 1) // 2 + 1, dtype=np.uint64) * GOLDEN_GAMMA
    bits = mixed_bits(states + steps[:, None])                     # 64 bits give two replicates
    halves = np.stack((bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)), axis=1).reshape(-1, len(keys))
    return np.searchsorted(_THRESHOLDS, halves[:replicates], side="right").astype(np.float64)
