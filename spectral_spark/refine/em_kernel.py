"""One round of incremental EM inside one logical shard (formulas §11)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.backend import load_backend

_RESCALE_BELOW = 1e-60


@dataclass(frozen=True)
class RefineKernel:
    """Mini-batches of E-steps, each followed by a step of the topic-word statistics (stepwise EM).

    ``shared`` holds ``statistics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` (nodes,) of the documents at
    each node, ``node_weight`` (nodes,), the weight of such a document in the statistics, ``rate`` (1,), the step size
    of a mini-batch, and ``documents`` (1,) of the corpus, to whose size a mini-batch is scaled: by documents and not by
    words, because documents in a batch with a long one would otherwise count for less. The resulting arrays add up over
    shards: ``statistics`` (d, k) is to be divided by ``shards``; ``node_counts`` and ``node_tables`` (nodes, k)
    and ``node_spread`` (nodes,) are plain sums over documents, without weights.

    With ``frozen`` topics no step is taken, and ``statistics`` is a plain sum over documents as well.
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
        self._node_counts = np.zeros(self._prior.shape)
        self._node_tables = np.zeros(self._prior.shape)
        self._node_spread = np.zeros(len(self._prior))
        self._gained = np.zeros_like(self._raw) if kernel.frozen else None
        self._tokens = self._documents = 0.0
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

    def arrays(self) -> dict[str, np.ndarray]:
        if self._pending is not None:
            self._update(self._pending, 0, self._pending.n_documents)
            self._pending = None
        seen = 1.0 if self._documents else 0.0
        return {
            "statistics": self._raw * (self._scale * seen) if self._gained is None else self._gained,
            "shards": np.array([seen]),
            "node_counts": self._node_counts,
            "node_tables": self._node_tables,
            "node_spread": self._node_spread,
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
        self._add_spread(nodes, batch.lengths[first:last])
        kernel = self._kernel
        terms, slots = np.unique(batch.terms[begin:end], return_inverse=True)
        before = self._raw[terms]
        rows = before * self._scale
        rows += kernel.smoothing
        rows *= 1.0 / (self._totals + kernel.smoothing * len(self._raw))
        gained = np.zeros(rows.shape)
        self._backend.e_step(
            (batch.indptr[first : last + 1] - begin).astype(np.int64), slots, np.array(batch.counts[begin:end], float),
            nodes, rows, self._prior[nodes], self._concentration[nodes], self._weight[nodes], kernel.inner_iterations,
            gained, self._node_counts, self._node_tables,
        )
        if self._gained is not None:
            self._gained[terms] += gained
            return
        rate = self._rate * (last - first) / kernel.batch_size      # a smaller last batch takes a smaller step
        self._move(terms, before, gained, rate, self._corpus_documents / (last - first))

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

    def _add_spread(self, nodes: np.ndarray, lengths: np.ndarray) -> None:
        """ψ(m + g) − ψ(g) of every document, from which the documents' concentration is learnt."""
        own = self._concentration[nodes]
        np.add.at(self._node_spread, nodes, digamma(lengths + own) - digamma(own))


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
