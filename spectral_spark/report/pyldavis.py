"""A model in the form ``pyLDAvis.prepare`` takes."""

from typing import Any

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.payload import node_parents, vocabulary_of
from spectral_spark.report.relevance import word_shares


def to_pyldavis(
    files: TopicModelFiles,
    document_topics: np.ndarray | None = None,
    document_lengths: np.ndarray | None = None,
    term_frequency: np.ndarray | None = None,
) -> dict[str, Any]:
    """Keyword arguments for ``pyLDAvis.prepare``, all rows summing to one.

    Parameters
    ----------
    files : the model.
    document_topics : array of shape (n, k), such as the collected column ``topicDistribution``. pyLDAvis only uses it
        to weigh topics; when None, the lowest nodes of the document tree stand for documents.
    document_lengths : array of shape (n,), words of each document; needed with ``document_topics``.
    term_frequency : array of shape (d,), how often each word occurs; from the model when None.

    Returns
    -------
    dict with ``topic_term_dists`` (k, d), ``doc_topic_dists`` (n, k), ``doc_lengths`` (n,), ``vocab`` and
    ``term_frequency`` (d,).

    Examples
    --------
    >>> pyLDAvis.prepare(**model.toPyLDAvis())  # doctest: +SKIP
    """
    k = files.topics.shape[1]
    if document_topics is None:
        document_topics, document_lengths = _stand_ins(files)
    if document_lengths is None or len(document_lengths) != len(document_topics):
        raise InputError("toPyLDAvis: document_lengths must give the number of words of every row of document_topics")
    if document_topics.ndim != 2 or document_topics.shape[1] != k:
        raise InputError(f"toPyLDAvis: document_topics has shape {document_topics.shape}, expected (documents, {k})")
    if term_frequency is None:
        term_frequency = word_shares(files.topics, files.weights) * float(np.sum(document_lengths))
    # pyLDAvis divides by these frequencies and takes logarithms: a word no topic uses would give infinities.
    smallest = np.finfo(float).tiny
    return {
        "topic_term_dists": _rows_to_one(np.maximum(files.topics.T, smallest)),
        "doc_topic_dists": _rows_to_one(np.clip(document_topics, 0.0, None)),
        "doc_lengths": np.asarray(document_lengths),
        "vocab": vocabulary_of(files),
        "term_frequency": np.maximum(np.asarray(term_frequency, float), 1e-9),
    }


def _stand_ins(files: TopicModelFiles) -> tuple[np.ndarray, np.ndarray]:
    nodes = files.nodes
    leaves = np.setdiff1d(np.arange(len(nodes.paths)), node_parents(nodes.paths))
    documents = np.maximum(nodes.documents[leaves], 1)
    tokens = float(files.summary.get("tokens") or documents.sum())
    return nodes.proportions[leaves], tokens * documents / documents.sum()


def _rows_to_one(rows: np.ndarray) -> np.ndarray:
    total = rows.sum(axis=1, keepdims=True)
    uniform = np.full(rows.shape, 1.0 / rows.shape[1])
    scaled: np.ndarray = np.divide(rows, total, out=uniform, where=total > 0)
    return scaled
