"""New documents under fixed topics: the statistics they add to those of the documents already in a model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.backend import load_backend


@dataclass(frozen=True)
class AbsorbKernel:
    """One E-step over documents, topics unchanged: a plain sum, so documents can be added and taken out again.

    ``shared`` holds ``topics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` and ``node_weight`` (nodes,). The
    arrays are ``statistics`` (d, k), expected topic-word counts, a document's times the weight of its node;
    ``node_counts`` (nodes, k), sums of the documents' proportions; ``documents`` and ``tokens`` (1,).
    """

    inner_iterations: int = 20
    backend: str = "auto"

    def start(self, shared: Mapping[str, np.ndarray]) -> "AbsorbAccumulator":
        return AbsorbAccumulator(self, shared)


class AbsorbAccumulator:
    def __init__(self, kernel: AbsorbKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._iterations, self._backend = kernel.inner_iterations, load_backend(kernel.backend)
        self._topics = np.ascontiguousarray(shared["topics"], dtype=float)
        self._prior = np.ascontiguousarray(shared["node_prior"], dtype=float)
        self._concentration = np.ascontiguousarray(shared["concentration"], dtype=float)
        self._weight = np.ascontiguousarray(shared["node_weight"], dtype=float)
        self._statistics = np.zeros(self._topics.shape)
        self._node_counts, self._node_tables = np.zeros(self._prior.shape), np.zeros(self._prior.shape)
        self._documents, self._tokens = np.zeros(1), np.zeros(1)

    def add(self, batch: CountBatch) -> None:
        self._documents += batch.n_documents
        self._tokens += batch.counts.sum()
        terms, slots = np.unique(batch.terms, return_inverse=True)
        gained = np.zeros((len(terms), self._topics.shape[1]))
        nodes = batch.nodes.astype(np.int64)
        self._backend.e_step(
            batch.indptr.astype(np.int64), slots, np.array(batch.counts, float), nodes, self._topics[terms],
            self._prior[nodes], self._concentration[nodes], self._weight[nodes], self._iterations,
            gained, self._node_counts, self._node_tables,
        )
        self._statistics[terms] += gained

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "statistics": self._statistics, "node_counts": self._node_counts,
            "documents": self._documents, "tokens": self._tokens,
        }
