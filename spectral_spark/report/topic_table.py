"""All topics as rows: number, share, first words. What tables, CSV and labels are made of."""

from typing import Any

import numpy as np

from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.payload import topic_labels, vocabulary_of


def topic_table(files: TopicModelFiles, words: int = 10) -> list[dict[str, Any]]:
    """One row per topic, the largest first.

    Returns
    -------
    list of dicts with ``topic`` (its number), ``share`` (of the words of the corpus), ``words`` (the most frequent
    first), ``probabilities`` (theirs in the topic) and ``distinctive`` (words by relevance, which set the topic apart).
    """
    names, distinctive = vocabulary_of(files), topic_labels(files, words)
    rows = []
    for topic in np.argsort(-files.weights, kind="stable"):
        column = files.topics[:, topic]
        best = np.argsort(-column, kind="stable")[:words]
        rows.append({
            "topic": int(topic),
            "share": float(files.weights[topic]),
            "words": [names[word] for word in best],
            "probabilities": [float(column[word]) for word in best],
            "distinctive": distinctive[topic],
        })
    return rows
