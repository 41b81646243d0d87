"""Document completion (formulas §12): proportions from half of a document's tokens, the loss on the other half.

The loss is −Σ log p(w) / N over the hidden tokens, in nats, p(w) = Σ_t φ_t(w) θ_t with θ the posterior mean given the
observed half under the prior Dirichlet(concentration · node proportions). No word is skipped: topics and unigram must
be strictly positive. A document whose observed half is empty is scored with its prior. The halves are chosen by a
seeded hash of the tokens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import next_bits
from spectral_spark.errors import InputError
from spectral_spark.refine.fold_in import infer

ITERATIONS = 50
LARGEST_EXACT = 1 << 16
_TOKENS_AT_ONCE = 1 << 20


def unigram_of(totals: np.ndarray) -> np.ndarray:
    """Word frequencies from training totals of shape (d,); a word never seen in training counts as half a token."""
    floor = np.maximum(totals, 0.5)
    return floor / floor.sum()


@dataclass(frozen=True)
class CompletionKernel:
    """Scores one or several candidate models on held-out documents, sums per tree node.

    ``shared`` holds ``topics`` of shape (c, d, k), ``node_prior`` of shape (c, N, k) with rows that sum to one,
    ``concentration`` of shape (g,): document priors to compare, and ``unigram`` of shape (d,). The state is
    ``loss`` of shape (c, g, N) and ``unigram_loss``, ``hidden``, ``observed``, ``documents`` of shape (N,): sums over
    the documents each node owns. With ``impossible`` of shape (d,), ones for words that no topic has, their hidden
    tokens are counted too.
    """

    seed: int = 0
    iterations: int = ITERATIONS

    def start(self, shared: Mapping[str, np.ndarray]) -> "CompletionAccumulator":
        return CompletionAccumulator(shared, self.seed, self.iterations)


class CompletionAccumulator:
    """The sums of one logical shard."""

    def __init__(self, shared: Mapping[str, np.ndarray], seed: int, iterations: int) -> None:
        self._topics, self._prior = shared["topics"], shared["node_prior"]
        self._totals, self._unigram = shared["concentration"], shared["unigram"]
        for name in ("topics", "unigram", "node_prior", "concentration"):
            if not shared[name].min() > 0:
                raise InputError(f"document completion: '{name}' has a value that is not positive; smooth it first")
        self._seed, self._iterations = seed, iterations
        candidates, nodes, _ = self._prior.shape
        self._loss = np.zeros((candidates, len(self._totals), nodes))
        self._impossible = shared.get("impossible")
        names = ["unigram_loss", "hidden", "observed", "documents"]
        names += ["impossible"] if self._impossible is not None else []
        self._sums = {name: np.zeros(nodes) for name in names}

    def add(self, batch: CountBatch) -> None:
        observed, hidden = halve(batch, self._seed)
        document = np.repeat(np.arange(batch.n_documents), np.diff(hidden.indptr))
        nodes = batch.nodes[document]
        for c, topics in enumerate(self._topics):
            words = topics[hidden.terms]
            for g, total in enumerate(self._totals):
                theta = infer(observed, topics, self._prior[c], float(total), self._iterations)
                losses = -hidden.counts * np.log(np.einsum("ij,ij->i", words, theta[document]))
                self._loss[c, g] += np.bincount(nodes, losses, len(self._loss[c, g]))
        surprise = -hidden.counts * np.log(self._unigram[hidden.terms])
        self._count("unigram_loss", nodes, surprise)
        self._count("hidden", nodes, hidden.counts)
        if self._impossible is not None:
            self._count("impossible", nodes, hidden.counts * self._impossible[hidden.terms])
        self._count("observed", batch.nodes, observed.lengths)
        self._count("documents", batch.nodes, np.ones(batch.n_documents))

    def _count(self, name: str, nodes: np.ndarray, values: np.ndarray) -> None:
        self._sums[name] += np.bincount(nodes, values, len(self._sums[name]))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"loss": self._loss, **self._sums}


def completion_inputs(
    topics: np.ndarray, node_prior: np.ndarray, concentration: Any, unigram: np.ndarray
) -> dict[str, np.ndarray]:
    """The ``shared`` arrays for one model: topics (d, k), node_prior (N, k), one or several concentrations."""
    tiny = np.maximum(node_prior, 1e-10)
    return {
        "topics": np.ascontiguousarray(topics)[None],
        "node_prior": (tiny / tiny.sum(axis=1, keepdims=True))[None],
        "concentration": np.atleast_1d(np.asarray(concentration, np.float64)),
        "unigram": unigram,
    }


def without_zeros(prior: np.ndarray) -> np.ndarray:
    """Proportions (nodes, k) without zeros, so that a document may have any topic."""
    floor = np.maximum(prior, 0.1 / prior.shape[1])
    return floor / floor.sum(axis=1, keepdims=True)


def token_bits(keys: np.ndarray, terms: np.ndarray, positions: np.ndarray, seed: int) -> np.ndarray:
    """A fair coin for each token, a function of (seed, document key, word, which occurrence) and of nothing else.

    Parameters
    ----------
    keys, terms, positions : int arrays of shape (tokens,).

    Returns
    -------
    bool array of shape (tokens,).
    """
    return (_hashes(keys, terms, positions, seed) >> np.uint64(63)).astype(bool)


def halve(batch: CountBatch, seed: int) -> tuple[CountBatch, CountBatch]:
    """Split the tokens of each document in two; the memory this takes does not depend on the counts.

    Every occurrence of a word gets a coin of its own. A word that occurs more than ``LARGEST_EXACT`` times in one
    document is split as a whole instead, by a binomial draw from the same hash.

    Returns
    -------
    observed, hidden : batches of the same documents (possibly with empty rows) with arrays of their own; their counts
        add up to those of ``batch``.
    """
    whole = np.rint(batch.counts).astype(np.int64)
    document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
    keys = batch.keys[document]
    exact = np.where(whole <= LARGEST_EXACT, whole, 0)
    observed = np.zeros(len(whole))
    for part in _slices(exact):
        observed[part] = _coins(keys[part], batch.terms[part], exact[part], seed)
    large = np.flatnonzero(whole > LARGEST_EXACT)
    if len(large):
        observed[large] = _binomial(keys[large], batch.terms[large], whole[large], seed)
    return _with_counts(batch, document, observed), _with_counts(batch, document, whole - observed)


def _hashes(keys: np.ndarray, terms: np.ndarray, positions: np.ndarray, seed: int) -> np.ndarray:
    state = next_bits(np.array([seed], np.int64).view(np.uint64))
    for part in (keys, terms, positions):
        state = next_bits(state ^ np.asarray(part, np.int64).view(np.uint64))
    return state


def _slices(counts: np.ndarray) -> Iterator[slice]:
    """Runs of entries with about ``_TOKENS_AT_ONCE`` tokens each."""
    number = (np.cumsum(counts) - counts) // _TOKENS_AT_ONCE
    bounds = [0, *(np.flatnonzero(np.diff(number)) + 1), len(counts)]
    return (slice(start, end) for start, end in pairwise(bounds))


def _coins(keys: np.ndarray, terms: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """How many of the tokens of each entry show heads, one coin per token."""
    entry = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    bits = token_bits(keys[entry], terms[entry], positions, seed)
    return np.bincount(entry[bits], minlength=len(counts)).astype(np.float64)


def _binomial(keys: np.ndarray, terms: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """Heads among very many fair coins: the normal quantile of one hash per entry, rounded to a whole number.

    With a fair coin and more than ``LARGEST_EXACT`` throws this differs from the exact binomial quantile by at most
    one for all but the outermost tails.
    """
    uniform = ((_hashes(keys, terms, np.full(len(counts), -1), seed) >> np.uint64(12)) + 0.5) * 2.0**-52
    return np.clip(np.rint(0.5 * counts + 0.5 * np.sqrt(counts) * ndtri(uniform)), 0, counts)


def _with_counts(batch: CountBatch, document: np.ndarray, counts: np.ndarray) -> CountBatch:
    kept = counts > 0
    indptr = np.concatenate(([0], np.cumsum(np.bincount(document[kept], minlength=batch.n_documents))))
    return CountBatch(indptr, batch.terms[kept], counts[kept], batch.nodes, batch.keys, batch.vocab_size)
