"""One evaluator for everybody: topics in, loss and coherence out.

The test documents are cut in two by their key. The document prior, a total on a fixed grid times proportions (the
model's own, or uniform), and the share of the unigram mixed into the topics are chosen on one part and applied to the
other, both ways round: nothing is chosen on the documents it is scored on, and every test document counts. ``flat``
uses one prior for all documents; ``tree`` one prior per tree node, from the model if it has them, otherwise made from
the topics and the training documents by the same rule for all.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import bench_corpus
import numpy as np
from bench_corpus import BenchCorpus

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words, umass
from spectral_spark.evaluate.diversity import topic_diversity
from spectral_spark.refine.completion import CompletionKernel, completion_inputs, unigram_of
from spectral_spark.refine.fold_in import infer
from spectral_spark.solve.reconstruct import smoothed_topics

TOTALS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SHARES = (0.0, 0.01, 0.05)
NODE_STRENGTH = 20.0


def score(
    corpus: BenchCorpus, topics: np.ndarray, weights: np.ndarray, node_prior: np.ndarray | None = None,
    seed: int = 0, tree: bool = True,
) -> dict[str, Any]:
    """Losses and coherence of one set of topics (d, k) with the model's own proportions ``weights`` (k,).

    ``documents_flat`` and ``documents_tree`` are the losses summed over the ``hidden`` tokens of every test document.
    """
    nodes, k = len(corpus.paths), topics.shape[1]
    flat = {"own": np.tile(weights, (nodes, 1)), "uniform": np.full((nodes, k), 1 / k)}
    result: dict[str, Any] = {"topics": k, **_completion(corpus, topics, flat, seed, "flat")}
    if tree and nodes > 1:
        prior = node_prior if node_prior is not None else node_proportions(corpus, topics, weights)
        result |= _completion(corpus, topics, {"nodes": prior}, seed, "tree")
    return result | coherence(corpus, topics)


def _completion(
    corpus: BenchCorpus, topics: np.ndarray, priors: Mapping[str, np.ndarray], seed: int, name: str
) -> dict[str, Any]:
    unigram, test = unigram_of(corpus.unigram_totals), corpus.test
    # every document a node of its own, so that the sums are those of documents
    alone = CountBatch(
        test.indptr, test.terms, test.counts, np.arange(test.n_documents, dtype=np.int32), test.keys, test.vocab_size
    )
    choices = list(product(priors, SHARES))
    tried = []
    for prior, share in choices:
        mixed = smoothed_topics(topics, unigram, share)
        shared = completion_inputs(mixed, priors[prior][test.nodes], TOTALS, unigram)
        accumulator = CompletionKernel(seed).start(shared)
        for batch in bench_corpus.batches(alone):
            accumulator.add(batch)
        arrays = accumulator.arrays()
        tried.append(arrays["loss"][0])
    losses = np.array(tried)                                # (choices, totals, documents)
    fold = (test.keys >> 7) & 1
    best = [np.unravel_index(losses[..., fold != part].sum(axis=-1).argmin(), losses.shape[:2]) for part in (0, 1)]
    chosen = np.where(fold == 0, losses[best[0]], losses[best[1]])
    hidden = arrays["hidden"]
    return {
        f"loss_{name}": float(chosen.sum() / hidden.sum()),
        f"prior_{name}": [f"{choices[at[0]][0]} × {TOTALS[at[1]]:g}, {choices[at[0]][1]:g} unigram" for at in best],
        f"documents_{name}": chosen,
        "hidden": hidden,
        "unigram_loss": float(arrays["unigram_loss"].sum() / hidden.sum()),
        "test_tokens": float(hidden.sum()),
    }


def difference(one: np.ndarray, other: np.ndarray, hidden: np.ndarray, draws: int = 1000) -> tuple[float, float]:
    """The first loss less the second, and the standard error of that over test documents (bootstrap).

    Parameters
    ----------
    one, other : arrays of shape (n,), the sums of two models over the hidden tokens of each document.
    hidden : array of shape (n,), how many these are.
    """
    apart, rng = one - other, np.random.default_rng(0)
    again = [rng.integers(0, len(apart), len(apart)) for _ in range(draws)]
    spread = [apart[rows].sum() / max(hidden[rows].sum(), 1.0) for rows in again]
    return float(apart.sum() / hidden.sum()), float(np.std(spread))


def node_proportions(corpus: BenchCorpus, topics: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Node proportions for topics that came without: mean θ of the training documents, shrunk to the parent."""
    nodes, k = len(corpus.paths), topics.shape[1]
    totals = np.zeros((nodes, k))
    root = np.tile(weights, (nodes, 1))
    for batch in bench_corpus.batches(corpus.train):
        theta = infer(batch, topics, root, 2.0, 20)
        np.add.at(totals, batch.nodes, theta)
    parent = corpus.parent
    for node in range(nodes - 1, 0, -1):
        totals[parent[node]] += totals[node]
    result = np.empty_like(totals)
    result[0] = totals[0] / totals[0].sum()
    for node in range(1, nodes):
        above = NODE_STRENGTH * result[parent[node]]
        result[node] = (totals[node] + above) / (totals[node].sum() + NODE_STRENGTH)
    return result


def coherence(corpus: BenchCorpus, topics: np.ndarray) -> dict[str, float]:
    """NPMI and UMass of the ten top words over the training documents, and the share of distinct top words."""
    words = top_words(topics)
    accumulator = CooccurrenceKernel().start(cooccurrence_inputs(words, topics.shape[0]))
    for batch in bench_corpus.batches(corpus.train):
        accumulator.add(batch)
    state = accumulator.arrays()
    places = np.searchsorted(np.unique(words), words)
    return {
        "npmi": float(npmi(places, state["together"], state["documents"][0]).mean()),
        "umass": float(umass(places, state["together"]).mean()),
        "diversity": topic_diversity(topics),
    }
