"""Documents under fixed topics: their proportions, and what they add to the statistics of a fitted model."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.backend import load_backend

TINY = 1e-12                # probability of a word in topics that do not have it


def infer(
    batch: CountBatch, topics: np.ndarray, node_prior: np.ndarray, concentration: float | np.ndarray,
    iterations: int = 50, backend: str = "auto",
) -> np.ndarray:
    """Posterior-mean topic proportions.

    Parameters
    ----------
    batch : n documents.
    topics : array of shape (d, k), positive, columns sum to one.
    node_prior : array of shape (nodes, k), the proportions of every tree node.
    concentration : of documents around their node, one for all or an array of shape (nodes,).
    iterations : fixed-point iterations of θ ← (expected counts + prior) / their sum.

    Returns
    -------
    array of shape (n, k), rows sum to one; a document without words has its node's proportions.
    """
    totals = np.broadcast_to(np.asarray(concentration, dtype=float), (len(node_prior),))
    prior = totals[batch.nodes, None] * node_prior[batch.nodes]
    terms, slots = np.unique(batch.terms, return_inverse=True)
    rows = possible(np.ascontiguousarray(topics[terms], dtype=float))
    counts = np.array(batch.counts, dtype=float)
    return load_backend(backend).infer(batch.indptr.astype(np.int64), slots, counts, rows, prior, iterations)


def possible(rows: np.ndarray) -> np.ndarray:
    """Rows of topics (words, k) with a tiny number instead of zeros, so that a word that no topic has says nothing
    about a document."""
    return rows if rows.all() else np.where(rows > 0, rows, TINY)


@dataclass(frozen=True)
class FoldInKernel:
    """One E-step over documents with fixed topics: a plain sum, so documents can be added and removed again.

    ``shared`` holds ``topics`` (d, k), ``node_prior`` (nodes, k), ``concentration`` and ``node_weight`` (nodes,). The
    arrays are ``statistics`` (d, k), expected topic-word counts, weighted by the document's node;
    ``node_counts`` (nodes, k), sums of the documents' proportions; ``documents`` and ``tokens`` (1,).
    """

    inner_iterations: int = 20
    backend: str = "auto"

    def start(self, shared: Mapping[str, np.ndarray]) -> "FoldInAccumulator":
        return FoldInAccumulator(self, shared)


class FoldInAccumulator:
    def __init__(self, kernel: FoldInKernel, shared: Mapping[str, np.ndarray]) -> None:
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
            batch.indptr.astype(np.int64), slots, np.array(batch.counts, float), nodes, possible(self._topics[terms]),
            self._prior[nodes], self._concentration[nodes], self._weight[nodes], self._iterations,
            gained, self._node_counts, self._node_tables,
        )
        self._statistics[terms] += gained

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "statistics": self._statistics, "node_counts": self._node_counts,
            "documents": self._documents, "tokens": self._tokens,
        }
