"""How good a model is: document completion on held-out documents, coherence on training documents."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.evaluate.coherence import CooccurrenceKernel, cooccurrence_inputs, npmi, top_words, umass
from spectral_spark.evaluate.diversity import topic_diversity
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.ingest.corpus_store import Corpus
from spectral_spark.ingest.translate import in_vocabulary
from spectral_spark.refine.completion import ITERATIONS, CompletionKernel, completion_inputs, unigram_of
from spectral_spark.solve.reconstruct import LIKELY, likely_topics, positive_words
from spectral_spark.tree.nodes import DocumentTree

CORPUS_COLUMNS = DocumentColumns(features=None, terms="terms", counts="counts", path="path", id="doc_id")
_MANY = 1e9                  # tokens that the mean of the topics stands for if there are no training documents
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

    @classmethod
    def of_model(cls, files: TopicModelFiles) -> "ScoredTopics":
        """The parts of a fitted or saved model (its ``files``) that the evaluation needs."""
        concentration = files.summary.get("document_concentration")
        return cls(
            np.asarray(files.topics), np.asarray(files.weights), files.nodes.paths, files.nodes.proportions,
            float(concentration if concentration is not None else 1.0),
        )

    def node_priors(self, tree: DocumentTree) -> np.ndarray:
        """Proportions for the nodes of another tree, (its nodes, k): those of the deepest known node on each path."""
        return tree.inherit(self.paths, self.proportions, self.weights)


def evaluate(
    corpus: Corpus, model: TopicModelFiles, *, progress: Progress | None = None, seed: int = 0
) -> dict[str, Any]:
    """How good a fitted model is on the held-out documents of a corpus.

    Parameters
    ----------
    corpus : an opened corpus (``ingest.corpus_store.open_corpus``) with test documents.
    model : the files of a model: ``SpectralHDPModel.files``, or read from a saved one.
    seed : seed of the hash that splits the test documents in halves.

    Returns
    -------
    dict ready for JSON: ``loss`` and ``unigram_loss`` (nats per hidden token), ``tokens`` (hidden), ``documents``,
    ``npmi``, ``umass``, ``diversity``, ``prior`` (what was assumed; topics with zeros are mixed with a share
    ``smoothing`` of the unigram, and ``impossible_tokens`` counts hidden tokens of words that no topic has) and
    ``nodes``, the same losses per tree node, each over all documents at or below it.
    """
    test, train = _documents(corpus, model, "test"), _documents(corpus, model, "train")
    if test.isEmpty():
        raise InputError("the corpus has no test documents; ingest it with `holdout` to set some aside")
    return evaluate_topics(
        test, train, CORPUS_COLUMNS, ScoredTopics.of_model(model), progress=progress, seed=seed
    )


def evaluate_topics(
    test: DataFrame, train: DataFrame, columns: DocumentColumns, model: ScoredTopics, *,
    progress: Progress | None = None, seed: int = 0,
) -> dict[str, Any]:
    """The same for any topics and any DataFrames of documents.

    Without training documents, coherence is measured on the test documents, and the mean of the topics is the unigram.
    """
    d = model.topics.shape[0]
    words = top_words(model.topics)
    reference = test if train.isEmpty() else train
    progress = progress or Progress()
    progress.plan(4, 0)                     # a census and a pass over the training documents, then the test documents
    with open_scored(reference, columns, d, progress) as corpus:
        counts = corpus.packed.sum(CooccurrenceKernel(), cooccurrence_inputs(words, d), name="coherence")
    unigram = unigram_of(counts["occurrences"] if reference is train else model.topics @ model.weights * _MANY)
    topics = likely_topics(model.topics, unigram)
    with open_scored(test, columns, d, progress) as corpus:
        shared = completion_inputs(topics, model.node_priors(corpus.census.tree), model.concentration, unigram)
        shared["impossible"] = (model.topics.max(axis=1) <= 0).astype(float)
        sums = corpus.packed.sum(CompletionKernel(seed), shared, name="document completion")
    places = np.searchsorted(np.unique(words), words)
    coherence = npmi(places, counts["together"], counts["documents"][0])
    nodes = list(_node_losses(corpus.census.tree, sums))
    return {
        **{name: value for name, value in nodes[0].items() if name != "path"},
        "npmi": float(coherence.mean()),
        "npmi_by_topic": [float(value) for value in coherence],
        "umass": float(umass(places, counts["together"]).mean()),
        "diversity": topic_diversity(model.topics),
        "prior": {
            "concentration": model.concentration,
            "proportions": "tree node" if len(model.paths) > 1 else "root",
            "iterations": ITERATIONS,
            "smoothing": 0.0 if topics is model.topics else LIKELY,
            "impossible_tokens": int(sums["impossible"].sum()),
            "unigram": "training documents" if reference is train else "mean of the topics",
        },
        "seed": seed,
        "dropped": corpus.dropped,
        "nodes": nodes,
    }


def completion_loss(frame: DataFrame, columns: DocumentColumns, model: ScoredTopics, *, seed: int = 0) -> float:
    """Document completion, in nats per hidden word, on all documents with a word; nothing else is measured."""
    with open_scored(frame, columns, len(model.topics)) as corpus:
        priors, mean = model.node_priors(corpus.census.tree), positive_words(model.topics @ model.weights)
        shared = completion_inputs(likely_topics(model.topics, mean), priors, model.concentration, mean)
        sums = corpus.packed.sum(CompletionKernel(seed), shared, name="document completion")
    return float(sums["loss"].sum() / max(sums["hidden"].sum(), 1.0))


def open_scored(
    frame: DataFrame, columns: DocumentColumns, vocab_size: int, progress: Progress | None = None
) -> AbstractContextManager[CountedCorpus]:
    """A corpus of all documents with at least one word."""
    source = inspect_documents(frame, columns, vocab_size=vocab_size)
    return open_documents(source, PackSettings(vocab_size, minimum=1), progress=progress)


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


def _documents(corpus: Corpus, model: TopicModelFiles, split: str) -> DataFrame:
    """Documents of a corpus in the model's vocabulary; words that it lacks are left out."""
    known, size = model.vocabulary, model.topics.shape[0]
    if known is None and len(corpus.vocabulary) != size:
        raise InputError(
            f"the corpus has {len(corpus.vocabulary)} words and the model {size}; the model has no stored vocabulary, "
            "so word ids cannot be matched: fit it with a vocabulary"
        )
    return in_vocabulary(corpus.documents(split), corpus.vocabulary, known)
