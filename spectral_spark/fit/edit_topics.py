"""Topics merged and split by hand, exactly in the statistics: what a topic has, its parts have together."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from spectral_spark.data.count_batch import CountBatch, joined_batches
from spectral_spark.data.seeds import BACKGROUND
from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.gibbs_step import sample_rounds
from spectral_spark.fit.lineage import lineage_of, merged_lineage, split_lineage
from spectral_spark.fit.topic_halves import split_in_two
from spectral_spark.tree.nodes import Path

_BETWEEN = " / "             # the names of two topics that became one


def merge_by_hand(fitted: FittedTopics, groups: Sequence[Sequence[int]]) -> FittedTopics:
    """The model with each group of topics as one topic, under the smallest of their numbers; later topics move up.

    A merged topic is the mean of its parts weighted by their words. Weights, proportions of nodes and statistics add
    up; all other topics stay as they are, bit for bit.
    """
    k = fitted.topics.shape[1]
    number = _numbers_after(groups, k)
    firsts = np.array([int(np.flatnonzero(number == new)[0]) for new in range(int(number.max()) + 1)])
    topics, weights = fitted.topics[:, firsts], fitted.weights[firsts]
    proportions = fitted.nodes.proportions[:, firsts]
    for group in groups:
        parts, new = sorted(set(group)), int(number[group[0]])
        weights[new] = fitted.weights[parts].sum()
        proportions[:, new] = fitted.nodes.proportions[:, parts].sum(axis=1)
        topics[:, new] = fitted.topics[:, parts] @ fitted.weights[parts] / weights[new]
    lineage = lineage_of(fitted.summary.lineage, k)
    texts = [merged_lineage([lineage[old] for old in np.flatnonzero(number == new)]) for new in range(len(firsts))]
    labels = _merged_labels(fitted, number)
    return _edited(fitted, topics, weights, proportions, texts, labels, number)


def split_by_hand(
    fitted: FittedTopics, topic: int, documents: CountBatch, paths: Sequence[Path]
) -> FittedTopics:
    """The model with one topic as two: one keeps the number, the other one is the last.

    Parameters
    ----------
    documents : documents of the model, whose nodes are positions in ``paths``; their words in the topic are told apart.
    """
    seed = int(fitted.summary.seed)
    halves = split_in_two(fitted, topic, documents, paths, seed)
    seeded = next((entry for entry in fitted.summary.seeds.get("topics", []) if entry["topic"] == topic), None)
    if seeded is not None and fitted.vocabulary is not None:
        halves = halves.first_has({row["word"] for row in seeded["words"]}, fitted.vocabulary)
    whole = fitted.topics[:, topic] * fitted.weights[topic]
    one = whole * halves.word_shares
    two = whole - one
    k, sizes = fitted.topics.shape[1], (float(one.sum()), float(two.sum()))
    topics = np.column_stack([fitted.topics, two / sizes[1]])
    topics[:, topic] = one / sizes[0]
    weights = np.append(fitted.weights, sizes[1] / sum(sizes) * fitted.weights[topic])
    weights[topic] = fitted.weights[topic] - weights[k]
    own = fitted.nodes.proportions[:, topic] * halves.node_shares
    proportions = np.column_stack([fitted.nodes.proportions, fitted.nodes.proportions[:, topic] - own])
    proportions[:, topic] = own
    lineage = lineage_of(fitted.summary.lineage, k)
    lineage[topic], last = split_lineage(lineage[topic])
    return _edited(
        fitted, topics, weights, proportions, [*lineage, last], dict(fitted.labels), np.arange(k)
    )


def documents_for_split(
    fitted: FittedTopics, frame: DataFrame, columns: DocumentColumns, progress: Progress
) -> tuple[CountBatch, tuple[Path, ...]]:
    """Documents of a frame with at most SAMPLE_WORDS words, a seeded sample if they have more, and their paths."""
    settings = FitSettings.from_dict(fitted.summary.settings)
    source = inspect_documents(frame, columns, layers=settings.tree_layers, vocab_size=len(fitted.topics))
    with open_documents(source, PackSettings(source.vocab_size, settings.cap), progress=progress) as corpus:
        batches = list(corpus.packed.sample(sample_rounds(corpus)))
        return joined_batches(batches, source.vocab_size), corpus.census.tree.paths


def _numbers_after(groups: Sequence[Sequence[int]], k: int) -> np.ndarray:
    """The new number of every topic."""
    first = np.arange(k)
    seen: set[int] = set()
    for group in groups:
        if len(set(group)) < 2:
            raise InputError(f"there is nothing to merge in {', '.join(map(str, group)) or 'an empty list'}; give at "
                             "least two topics")
        for topic in set(group):
            if not 0 <= topic < k:
                raise InputError(f"there is no topic {topic}; the model has topics 0 to {k - 1}")
            if topic in seen:
                raise InputError(f"topic {topic} is to be merged twice; name all of them in one list")
            seen.add(topic)
            first[topic] = min(group)
    kept = np.unique(first)
    if len(kept) < 2:
        raise InputError("a model of a single topic says nothing; merge fewer topics")
    return np.searchsorted(kept, first)


def _merged_labels(fitted: FittedTopics, number: np.ndarray) -> dict[int, str]:
    """The names after a merge; topics with different names have both, the larger topic's first."""
    names: dict[int, list[str]] = {}
    for old in sorted(fitted.labels, key=lambda old: -fitted.weights[old]):
        names.setdefault(int(number[old]), []).append(fitted.labels[old])
    return {new: _BETWEEN.join(dict.fromkeys(found))[:200] for new, found in sorted(names.items())}


def _edited(
    fitted: FittedTopics, topics: np.ndarray, weights: np.ndarray, proportions: np.ndarray, lineage: list[str],
    labels: dict[int, str], number: np.ndarray,
) -> FittedTopics:
    """The model with these topics; ``number`` has the new number of every old topic."""
    k = topics.shape[1]
    report = _renumbered(fitted.summary.seeds, number)
    settings = {**fitted.summary.settings, "k": k}
    if settings.get("seeds"):
        settings["seeds"], report = _seeds_after(settings["seeds"], report)
    summary = replace(fitted.summary, k=k, lineage=lineage, seeds=report, settings=settings)
    return replace(
        fitted, topics=np.ascontiguousarray(topics), weights=weights, summary=summary, labels=labels, changes=None,
        nodes=replace(fitted.nodes, proportions=np.ascontiguousarray(proportions)), taxonomy=None,
    )


def _renumbered(report: dict[str, Any], number: np.ndarray) -> dict[str, Any]:
    if not report:
        return report
    entries = [
        {**entry, "topic": int(number[entry["topic"]]),
         "words": [{**row, "most": int(number[row["most"]])} for row in entry["words"]]}
        for entry in report["topics"]
    ]
    last = report.get(BACKGROUND)
    return {"topics": entries, BACKGROUND: None if last is None else int(number[last])}


def _seeds_after(seeds: dict[str, Any], report: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Seeds and their report under the new numbers; seeded topics that were merged share their words."""
    topics: dict[int, dict[str, Any]] = {}
    entries: dict[int, dict[str, Any]] = {}
    for asked, entry in zip(seeds["topics"], report["topics"], strict=True):
        at = entry["topic"]
        if at not in topics:
            topics[at], entries[at] = {**asked, "topic": at}, entry
            continue
        both = topics[at]
        words = {**asked["words"], **both["words"]}
        out = {word: strength for word, strength in {**asked["not"], **both["not"]}.items() if word not in words}
        topics[at] = {**both, "name": _BETWEEN.join([both["name"], asked["name"]])[:200], "words": words, "not": out}
        before = entries[at]
        entries[at] = {
            **before, "name": topics[at]["name"], "share": before["share"] + entry["share"],
            "words": [*before["words"], *entry["words"]], "kept": before["kept"] + entry["kept"],
        }
    background, last = seeds[BACKGROUND], report[BACKGROUND]
    if last is not None and last in topics:
        raise InputError("the background topic cannot be merged with a topic that has words of its own")
    if background is not None:
        background = {**background, "topic": last}
    return {"topics": list(topics.values()), BACKGROUND: background}, {**report, "topics": list(entries.values())}
