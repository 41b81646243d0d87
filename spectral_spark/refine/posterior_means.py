"""Posterior means of documents' proportions by Gibbs sampling under fixed topics.

``fold_in.infer`` iterates to a mode. It is quick, and accurate for documents whose words are mostly unambiguous; but a
word that could belong to several topics leaves a little of itself in each of them, which biases averages over documents
by tenths of a percentage point. Sampling has no such bias, and a sweep only weighs the topics that a document has. All
random numbers come from the document's key.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.fixed_point import LIKELIHOOD_STEPS, PRIOR_STEPS
from spectral_spark.refine.fold_in import infer, possible
from spectral_spark.refine.gibbs import LONGEST
from spectral_spark.refine.word_topics import document_streams

DISCARDED, KEPT = 6, 18      # sweeps: the first ones forget where they began, the others are averaged


@dataclass(frozen=True, eq=False)
class SampledDocuments:
    """What sampling says about n documents.

    Attributes
    ----------
    theta : array of shape (n, k), posterior means of the proportions.
    entry_counts : array of shape (watched, nnz), how often each word of each document is expected to be of the watched
        topics; entries are those of the batch.
    """

    theta: np.ndarray
    entry_counts: np.ndarray


def sample_documents(
    batch: CountBatch, topics: np.ndarray, node_prior: np.ndarray, concentration: float, seed: int = 0,
    watched: Sequence[int] = (), backend: str = "auto",
) -> SampledDocuments:
    """Sample the topics of all words of a batch.

    Parameters
    ----------
    topics : array of shape (d, k), columns sum to one.
    node_prior : array of shape (nodes, k), rows sum to one; concentration : of documents around their node.
    watched : topics for which expected counts of every word of every document are returned.
    """
    short = batch.lengths <= LONGEST
    entries = np.repeat(short, np.diff(batch.indptr))
    theta = np.empty((batch.n_documents, topics.shape[1]))
    counts = np.zeros((len(watched), len(batch.terms)))
    if not short.all():
        long = selected_documents(batch, ~short)
        theta[~short] = infer(long, topics, node_prior, concentration, backend=backend)
        counts[:, ~entries] = _attributed(long, topics, theta[~short], watched)
    if short.any():
        part = batch if short.all() else selected_documents(batch, short)
        near, nodes = np.unique(part.nodes, return_inverse=True)       # a tree may have many more nodes than a batch
        part = replace(part, nodes=nodes.astype(np.int32))
        theta[short], counts[:, entries] = _sampled(
            part, topics, concentration * node_prior[near], seed, watched, backend
        )
    return SampledDocuments(theta, counts)


def _attributed(batch: CountBatch, topics: np.ndarray, theta: np.ndarray, watched: Sequence[int]) -> np.ndarray:
    """The words of documents with known proportions that are due to the watched topics, (watched, nnz)."""
    chance = possible(topics[batch.terms]) * theta[np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))]
    return np.asarray(batch.counts * (chance[:, list(watched)] / chance.sum(axis=1, keepdims=True)).T)


def word_likelihood(rows: np.ndarray) -> np.ndarray:
    """Topics' probabilities of words, (words, k), in whole numbers: LIKELIHOOD_STEPS where a word is most likely."""
    largest = np.maximum(rows.max(axis=1, keepdims=True), 1e-300)
    return np.rint(rows * (LIKELIHOOD_STEPS / largest)).astype(np.uint16)


def _sampled(
    batch: CountBatch, rows: np.ndarray, prior: np.ndarray, seed: int, watched: Sequence[int], backend: str
) -> tuple[np.ndarray, np.ndarray]:
    """Proportions (n, k) and expected counts (watched, nnz), averages over the kept sweeps."""
    n, k = batch.n_documents, rows.shape[1]
    terms, slots = np.unique(batch.terms, return_inverse=True)
    likelihood = word_likelihood(possible(rows[terms]))
    order = np.argsort(batch.nodes, kind="stable")
    lengths = batch.lengths.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    indptr = np.concatenate([[0], np.cumsum(lengths[order])])
    at = np.arange(indptr[-1]) + np.repeat(ends[order] - indptr[:-1], lengths[order])
    entry = np.repeat(np.arange(len(slots)), batch.counts.astype(np.int64))[at]
    words, topics = slots[entry].astype(np.int32), np.zeros(len(entry), np.int32)
    owner = np.repeat(order, lengths[order]) * k
    nodes, streams = batch.nodes[order].astype(np.int32), document_streams(batch.keys)[order]
    whole = np.maximum(np.rint(prior * PRIOR_STEPS), 1.0).astype(np.int64)
    amounts, unused = np.zeros(n, np.int64), (np.zeros(likelihood.shape, np.int64), np.zeros(whole.shape, np.int64))
    state, sweep = np.array([seed], np.int64).view(np.uint64), load_backend(backend).sweep
    many, hits = np.zeros(n * k), np.zeros((len(watched), len(words)))
    for number in range(DISCARDED + KEPT):
        state = mixed_bits(state + GOLDEN_GAMMA)
        sweep(indptr, words, topics, nodes, amounts, whole, likelihood, 0, n, state[0], number == 0, *unused, streams)
        if number >= DISCARDED:
            many += np.bincount(owner + topics, minlength=len(many))
            for place, topic in enumerate(watched):
                hits[place] += topics == topic
    expected = many.reshape(n, k) / KEPT + prior[batch.nodes]
    counts = np.array([np.bincount(entry, row, len(slots)) for row in hits]).reshape(len(watched), len(slots)) / KEPT
    return expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300), counts
