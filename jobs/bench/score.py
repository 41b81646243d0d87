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

from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words, umass
from spectral_spark.evaluate.completion import CompletionKernel, completion_inputs, smoothed, unigram_of
from spectral_spark.evaluate.diversity import topic_diversity
from spectral_spark.refine.infer import infer

TOTALS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SHARES = (0.0, 0.01, 0.05)
NODE_STRENGTH = 20.0


def score(
    corpus: BenchCorpus, topics: np.ndarray, weights: np.ndarray, node_prior: np.ndarray | None = None,
    seed: int = 0, tree: bool = True,
) -> dict[str, Any]:
    """Losses and coherence of one set of topics (d, k) with the model's own proportions ``weights`` (k,)."""
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
    unigram = unigram_of(corpus.unigram_totals)
    folds = [np.flatnonzero((corpus.test.keys >> 7) & 1 == fold) for fold in (0, 1)]
    choices = list(product(priors, SHARES))
    sums = []
    for rows in folds:
        tried = []
        for prior, share in choices:
            shared = completion_inputs(smoothed(topics, unigram, share), priors[prior], TOTALS, unigram)
            accumulator = CompletionKernel(seed).start(shared)
            for batch in bench_corpus.batches(corpus.test, rows):
                accumulator.add(batch)
            arrays = accumulator.arrays()
            tried.append(arrays["loss"][0].sum(axis=1))
        sums.append((np.array(tried), arrays["hidden"].sum(), arrays["unigram_loss"].sum()))
    best = [np.unravel_index(sums[1 - fold][0].argmin(), sums[fold][0].shape) for fold in (0, 1)]
    tokens = sums[0][1] + sums[1][1]
    return {
        f"loss_{name}": float(sum(sums[fold][0][best[fold]] for fold in (0, 1)) / tokens),
        f"prior_{name}": [f"{choices[at[0]][0]} × {TOTALS[at[1]]:g}, {choices[at[0]][1]:g} unigram" for at in best],
        "unigram_loss": float((sums[0][2] + sums[1][2]) / tokens),
        "test_tokens": float(tokens),
    }


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
