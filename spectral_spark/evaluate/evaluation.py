"""The evaluation of a model on a corpus, as two Spark passes: training documents for coherence and the unigram, test
documents for the loss."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine.counted_corpus import CensusResult, take_census
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.passes import run_pass
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words, umass
from spectral_spark.evaluate.diversity import topic_diversity
from spectral_spark.ingest.translate import in_vocabulary
from spectral_spark.refine.completion import ITERATIONS, CompletionKernel, completion_inputs, unigram_of
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.tree.nodes import DocumentTree

CORPUS_COLUMNS = DocumentColumns(features=None, terms="terms", counts="counts", path="path", id="doc_id")
SMOOTHING = 0.01             # share of the unigram in topics that have zeros
_MANY = 1e9                  # tokens: what the mean of the topics stands for when there are no training documents
Path = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ScoredTopics:
    """What is evaluated.

    Attributes
    ----------
    topics : array of shape (d, k), columns sum to one.
    weights : array of shape (k,), the corpus' proportions.
    paths : the tree nodes with proportions of their own; a document uses the deepest one on its path.
    proportions : array of shape (nodes, k), rows sum to one.
    concentration : total weight of the document prior.
    """

    topics: np.ndarray
    weights: np.ndarray
    paths: Sequence[Path]
    proportions: np.ndarray
    concentration: float

    def node_priors(self, tree: DocumentTree) -> np.ndarray:
        """Proportions for the nodes of another tree, (its nodes, k): those of the deepest known node on each path."""
        known = {tuple(path): row for path, row in zip(self.paths, self.proportions, strict=True)}
        priors = np.empty((len(tree), len(self.weights)))
        for node, path in enumerate(tree.paths):
            above = priors[tree.parent[node]] if path else self.weights
            priors[node] = known.get(path, above)
        return priors


def evaluate(
    spark: SparkSession, corpus: Any, model: Any, *, progress: Progress | None = None, seed: int = 0
) -> dict[str, Any]:
    """How good a fitted model is on the held-out documents of a corpus.

    Parameters
    ----------
    corpus : an opened corpus (``ingest.corpus_store.open_corpus``) with test documents.
    model : a fitted ``SpectralHDPModel``.
    seed : of the hash that halves the test documents.

    Returns
    -------
    dict ready for JSON: ``loss`` and ``unigram_loss`` (nats per hidden token), ``tokens`` (hidden), ``documents``,
    ``npmi``, ``umass``, ``diversity``, ``prior`` (what was assumed) and ``nodes``, the same losses per tree node, each
    over all documents at or below it.
    """
    test, train = _documents(corpus, model, "test"), _documents(corpus, model, "train")
    if test.isEmpty():
        raise InputError("the corpus has no test documents; ingest it with --holdout N to set some aside")
    return evaluate_topics(test, train, CORPUS_COLUMNS, scored_topics(model), progress=progress, seed=seed)


def scored_topics(model: Any) -> ScoredTopics:
    """The parts of a fitted model that the evaluation needs."""
    files = model.files
    concentration = model.summary.document_concentration
    return ScoredTopics(
        np.asarray(files.topics), np.asarray(files.weights), files.nodes.paths, files.nodes.proportions,
        float(concentration if concentration is not None else 1.0),
    )


def evaluate_topics(
    test: DataFrame, train: DataFrame, columns: DocumentColumns, model: ScoredTopics, *,
    progress: Progress | None = None, seed: int = 0,
) -> dict[str, Any]:
    """The same for any topics and any DataFrames of documents; without training documents, the test documents are
    used for coherence, and the mean of the topics for the unigram."""
    d = model.topics.shape[0]
    words = top_words(model.topics)
    reference = test if train.isEmpty() else train
    with _packed(reference, columns, d) as corpus:
        counts = run_pass(
            corpus.packed, CooccurrenceKernel(), cooccurrence_inputs(words, d), name="coherence", progress=progress
        )
    unigram = unigram_of(counts["occurrences"] if reference is train else model.topics @ model.weights * _MANY)
    topics = model.topics if model.topics.min() > 0 else smoothed_topics(model.topics, unigram, SMOOTHING)
    with _packed(test, columns, d) as corpus:
        shared = completion_inputs(topics, model.node_priors(corpus.census.tree), model.concentration, unigram)
        sums = run_pass(corpus.packed, CompletionKernel(seed), shared, name="document completion", progress=progress)
    places = np.searchsorted(np.unique(words), words)
    nodes = list(_node_losses(corpus.census.tree, sums))
    return {
        **{name: value for name, value in nodes[0].items() if name != "path"},
        "npmi": float(npmi(places, counts["together"], counts["documents"][0]).mean()),
        "umass": float(umass(places, counts["together"]).mean()),
        "diversity": topic_diversity(model.topics),
        "prior": {
            "concentration": model.concentration,
            "proportions": "tree node" if len(model.paths) > 1 else "root",
            "iterations": ITERATIONS,
            "smoothing": 0.0 if topics is model.topics else SMOOTHING,
            "unigram": "training documents" if reference is train else "mean of the topics",
        },
        "seed": seed,
        "dropped": corpus.dropped,
        "nodes": nodes,
    }


@contextmanager
def _packed(frame: DataFrame, columns: DocumentColumns, vocab_size: int) -> Iterator[CensusResult]:
    """A working copy with every document that has a word, let go at the end."""
    source = inspect_documents(frame, columns, vocab_size=vocab_size)
    packed = pack_counts(source, PackSettings(vocab_size, minimum=1))
    try:
        yield take_census(packed)
    finally:
        packed.release()


def _node_losses(tree: DocumentTree, sums: dict[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    """Losses over all documents at or below each node that has hidden tokens there; the root comes first."""
    totals = np.stack([sums["loss"][0, 0], sums["unigram_loss"], sums["hidden"], sums["documents"]])
    for node in range(len(tree) - 1, 0, -1):
        totals[:, tree.parent[node]] += totals[:, node]
    if totals[2, 0] == 0:
        raise InputError("no token of the test documents fell into the hidden half; set more documents aside")
    for node, path in enumerate(tree.paths):
        loss, unigram, tokens, documents = totals[:, node].tolist()
        if tokens:
            yield {"path": list(path), "loss": loss / tokens, "unigram_loss": unigram / tokens, "tokens": int(tokens),
                   "documents": int(documents)}


def _documents(corpus: Any, model: Any, split: str) -> DataFrame:
    """Documents of a corpus in the model's vocabulary; words that it lacks are left out."""
    known, size = model.files.vocabulary, model.files.topics.shape[0]
    if known is None and len(corpus.vocabulary) != size:
        raise InputError(
            f"the corpus has {len(corpus.vocabulary)} words, the model {size} and no vocabulary to tell them by; "
            "fit it with its vocabulary"
        )
    return in_vocabulary(corpus.documents(split), corpus.vocabulary, known)
