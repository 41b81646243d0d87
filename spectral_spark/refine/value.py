"""What each topic is worth: how much worse documents are predicted by the other topics alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.moments.batch import CountBatch
from spectral_spark.refine.backend import load_backend

ITERATIONS = 15
LEAST_SHARE = 0.01           # a document that has less than this of a topic says nothing about it


@dataclass(frozen=True)
class TopicValueKernel:
    """The log likelihood that documents lose when a topic is taken away and their proportions are found anew.

    ``shared`` holds ``topics`` (d, k), positive, ``node_prior`` (nodes, k) and ``concentration`` (nodes,). The arrays
    are ``values`` (k,), a plain sum over documents, and ``tokens`` and ``documents`` (1,).
    """

    backend: str = "auto"

    def start(self, shared: Mapping[str, np.ndarray]) -> "TopicValueAccumulator":
        return TopicValueAccumulator(self, shared)


class TopicValueAccumulator:
    def __init__(self, kernel: TopicValueKernel, shared: Mapping[str, np.ndarray]) -> None:
        self._backend, self._topics = load_backend(kernel.backend), shared["topics"]
        self._prior = shared["node_prior"] * shared["concentration"][:, None]
        self._values = np.zeros(self._topics.shape[1])
        self._tokens, self._documents = np.zeros(1), np.zeros(1)

    def add(self, batch: CountBatch) -> None:
        self._documents += batch.n_documents
        self._tokens += batch.counts.sum()
        terms, slots = np.unique(batch.terms, return_inverse=True)
        rows = np.ascontiguousarray(self._topics[terms], dtype=float)
        prior = self._prior[batch.nodes]
        everything = np.arange(batch.n_documents)
        theta, likelihood = self._fitted(batch, slots, rows, everything, prior)
        for topic in range(rows.shape[1]):
            members = np.flatnonzero(theta[:, topic] > LEAST_SHARE)
            if len(members):
                without = prior[members]
                without[:, topic] = 0.0
                self._values[topic] += (
                    likelihood[members] - self._fitted(batch, slots, rows, members, without)[1]
                ).sum()

    def _fitted(
        self, batch: CountBatch, slots: np.ndarray, rows: np.ndarray, members: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Proportions (n, k) and log likelihood (n,) of some documents."""
        lengths = np.diff(batch.indptr)[members]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.arange(indptr[-1]) + np.repeat(batch.indptr[members] - indptr[:-1], lengths)
        words, counts = slots[entries], np.array(batch.counts[entries], float)
        theta = self._backend.infer(indptr.astype(np.int64), words, counts, rows, prior, ITERATIONS)
        document = np.repeat(np.arange(len(members)), lengths)
        logs = counts * np.log(np.einsum("ij,ij->i", rows[words], theta[document]))
        return theta, np.bincount(document, logs, len(members))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"values": self._values, "tokens": self._tokens, "documents": self._documents}
