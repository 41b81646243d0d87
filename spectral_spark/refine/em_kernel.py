"""One round of incremental EM inside one logical shard (formulas §11)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.touched_rows import RowIndex, Rows, grown
from spectral_spark.refine.backend import load_backend

_RESCALE_BELOW = 1e-60


@dataclass(frozen=True)
class RefineKernel:
    """Mini-batches of E-steps, each followed by a step of the topic-word statistics (stepwise EM).

    ``shared`` holds ``statistics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` (nodes,) of the documents at
    each node, ``node_weight`` (nodes,), the weight of such a document in the statistics, ``rate`` (1,), the step size
    of a mini-batch, and ``documents`` (1,) of the corpus, to whose size a mini-batch is scaled: by documents and not by
    words, because documents in a batch with a long one would otherwise count for less. Where the tree is cut
    (``cut_tree``), ``place`` of shape (nodes of the whole tree,) is the row of ``node_prior`` and ``concentration`` for
    each node, and ``node_weight`` is that of the whole tree.

    Where words were given to topics, ``seed_counts`` and ``seed_allowed`` (d, seeded) are the prior of the first topics
    (see ``seed_prior``); it is no part of the statistics.

    The resulting arrays add up over shards: ``statistics`` (d, k) is to be divided by ``shards``; ``node_tables``
    (nodes, k) and ``node_spread`` (nodes,) are plain sums over documents, without weights.

    With ``frozen`` topics no step is taken, ``statistics`` is a plain sum over documents as well, and the sums of nodes
    are those of the whole tree.
    """

    batch_size: int = 64
    inner_iterations: int = 20
    smoothing: float = 0.3
    backend: str = "auto"
    frozen: bool = False

    def start(self, shared: Mapping[str, np.ndarray]) -> "RefineAccumulator":
        return RefineAccumulator(self, shared)


class RefineAccumulator:
    """The local state of one shard. ``local = scale · _raw`` so that a step changes only the rows of its words."""

    def __init__(self, kernel: RefineKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._kernel = kernel
        self._backend = load_backend(kernel.backend)
        self._raw = np.array(shared["statistics"], dtype=np.float64, order="C")
        self._scale = 1.0
        self._totals = self._raw.sum(axis=0)
        self._prior = shared["node_prior"]
        self._concentration, self._weight = shared["concentration"], shared["node_weight"]
        self._rate = float(shared["rate"][0])
        self._corpus_documents = float(shared["documents"][0])
        self._place = shared.get("place")
        self._index = RowIndex(len(self._weight if kernel.frozen else self._prior))
        self._node_counts = np.zeros((self._index.used, self._prior.shape[1]))
        self._node_tables = np.zeros(self._node_counts.shape)
        self._node_spread = np.zeros(self._index.used)
        self._gained = np.zeros_like(self._raw) if kernel.frozen else None
        self._tokens = self._documents = 0.0
        self._seed_counts, self._seed_allowed = shared.get("seed_counts"), shared.get("seed_allowed")
        self._seed_totals = 0.0 if self._seed_counts is None else _widened(self._seed_counts.sum(axis=0), self._raw)
        self._pending: CountBatch | None = None

    def add(self, batch: CountBatch) -> None:
        """Process mini-batches of equal size; left-over documents wait for the next batch."""
        if self._pending is not None:
            batch = _joined(self._pending, batch)
        size, n = self._kernel.batch_size, batch.n_documents
        whole = n - n % size
        for first in range(0, whole, size):
            self._update(batch, first, first + size)
        self._pending = _part(batch, whole, n) if whole < n else None

    def arrays(self) -> dict[str, Rows]:
        if self._pending is not None:
            self._update(self._pending, 0, self._pending.n_documents)
            self._pending = None
        seen = 1.0 if self._documents else 0.0
        return {
            "statistics": self._raw * (self._scale * seen) if self._gained is None else self._gained,
            "shards": np.array([seen]),
            "node_tables": self._index.spread(self._node_tables),
            "node_spread": self._index.spread(self._node_spread),
            "tokens": np.array([self._tokens]),
            "documents": np.array([self._documents]),
        }

    def _update(self, batch: CountBatch, first: int, last: int) -> None:
        begin, end = batch.indptr[first], batch.indptr[last]
        tokens = float(batch.counts[begin:end].sum())
        self._documents += last - first
        if tokens == 0:
            return
        self._tokens += tokens
        nodes = batch.nodes[first:last].astype(np.int64)
        priors = nodes if self._place is None else self._place[nodes]
        kernel, sums = self._kernel, self._node_rows(nodes if self._kernel.frozen else priors)
        self._add_spread(sums, self._concentration[priors], batch.lengths[first:last])
        terms, slots = np.unique(batch.terms[begin:end], return_inverse=True)
        before = self._raw[terms]
        rows = self._topics_of(terms, before * self._scale)
        gained = np.zeros(rows.shape)
        self._backend.e_step(
            (batch.indptr[first : last + 1] - begin).astype(np.int64), slots, np.array(batch.counts[begin:end], float),
            sums, rows, self._prior[priors], self._concentration[priors], self._weight[nodes],
            kernel.inner_iterations, gained, self._node_counts, self._node_tables,
        )
        if self._gained is not None:
            self._gained[terms] += gained
            return
        rate = self._rate * (last - first) / kernel.batch_size      # a smaller last batch takes a smaller step
        self._move(terms, before, gained, rate, self._corpus_documents / (last - first))

    def _topics_of(self, terms: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The probabilities of these terms in all topics, from their counts."""
        smoothing = self._kernel.smoothing
        if self._seed_counts is None or self._seed_allowed is None:
            counts += smoothing
            counts *= 1.0 / (self._totals + smoothing * len(self._raw))
            return counts
        own = counts[:, : self._seed_counts.shape[1]]
        own += self._seed_counts[terms]
        own *= self._seed_allowed[terms]
        counts += smoothing
        counts *= 1.0 / (self._totals + self._seed_totals + smoothing * len(self._raw))
        return counts

    def _move(self, terms: np.ndarray, before: np.ndarray, gained: np.ndarray, rate: float, to_corpus: float) -> None:
        """local ← (1 − rate) · local + rate · gained scaled to the corpus; ``before`` are the raw rows of the terms."""
        self._scale *= 1.0 - rate
        self._totals = (1.0 - rate) * self._totals + gained.sum(axis=0) * (rate * to_corpus)
        gained *= rate * to_corpus / self._scale
        gained += before
        self._raw[terms] = gained
        if self._scale < _RESCALE_BELOW:
            self._raw *= self._scale
            self._scale = 1.0

    def _node_rows(self, nodes: np.ndarray) -> np.ndarray:
        """Where the sums of these nodes are."""
        places = self._index.places(nodes)
        self._node_counts, self._node_tables, self._node_spread = (
            grown(sums, self._index.used) for sums in (self._node_counts, self._node_tables, self._node_spread)
        )
        return places

    def _add_spread(self, places: np.ndarray, own: np.ndarray, lengths: np.ndarray) -> None:
        """ψ(m + g) − ψ(g) of every document, from which the documents' concentration is learnt."""
        np.add.at(self._node_spread, places, digamma(lengths + own) - digamma(own))


def _widened(totals: np.ndarray, statistics: np.ndarray) -> np.ndarray:
    """Totals of the first topics, with zeros for the others."""
    return np.append(totals, np.zeros(statistics.shape[1] - len(totals)))


def _part(batch: CountBatch, first: int, last: int) -> CountBatch:
    begin, end = batch.indptr[first], batch.indptr[last]
    return CountBatch(
        batch.indptr[first : last + 1] - begin, batch.terms[begin:end], batch.counts[begin:end],
        batch.nodes[first:last], batch.keys[first:last], batch.vocab_size,
    )


def _joined(one: CountBatch, two: CountBatch) -> CountBatch:
    return CountBatch(
        np.concatenate([one.indptr, two.indptr[1:] + one.indptr[-1]]), np.concatenate([one.terms, two.terms]),
        np.concatenate([one.counts, two.counts]), np.concatenate([one.nodes, two.nodes]),
        np.concatenate([one.keys, two.keys]), one.vocab_size,
    )
