"""All topics as rows: number, share, first words. What tables, CSV and labels are made of."""

from typing import Any

import numpy as np

from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.payload import topic_labels, vocabulary_of
from spectral_spark.report.topic_names import measured_words, topic_names


def topic_table(files: TopicModelFiles, words: int = 10) -> list[dict[str, Any]]:
    """One row per topic, the largest first.

    Returns
    -------
    list of dicts with ``topic`` (its number), ``share`` (of the words of the corpus), ``stability`` (the
    probability that it comes back from another seed, None if unknown), ``words`` (the most frequent
    first), ``probabilities`` (theirs in the topic), ``distinctive`` (frequent and exclusive words, which set the topic
    apart), ``label`` (the name that people gave, or the first distinctive words), ``named`` (whether people gave it),
    ``lift`` and ``relevance`` (words by these measures, see ``report.topic_names``), and, where topics were merged or
    split by hand, ``lineage`` (see ``fit.lineage``).
    """
    vocabulary, distinctive, names = vocabulary_of(files), topic_labels(files, words), topic_names(files)
    lineage = files.summary.get("lineage") or []
    lineage = lineage if len(lineage) == files.topics.shape[1] else []
    rows = []
    for topic in np.argsort(-files.weights, kind="stable"):
        column = files.topics[:, topic]
        best = np.argsort(-column, kind="stable")[:words]
        rows.append({
            "topic": int(topic),
            "share": float(files.weights[topic]),
            "stability": None if files.stability is None else float(files.stability[topic]),
            "words": [vocabulary[word] for word in best],
            "probabilities": [float(column[word]) for word in best],
            "distinctive": distinctive[topic],
            "label": names[topic],
            "named": int(topic) in files.labels,
            "lift": measured_words(files, int(topic), "lift", words),
            "relevance": measured_words(files, int(topic), "relevance", words),
            **({"lineage": str(lineage[topic])} if lineage else {}),
        })
    return rows
