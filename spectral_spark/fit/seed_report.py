"""What the documents say for and against the words that people gave to topics."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spectral_spark.data.seeds import BACKGROUND, Seeds
from spectral_spark.fit.fitted_topics import Topics

FIRST_WORDS = 30            # a seed word is kept if it is among so many most relevant words of its topic
_BLEND = 0.6                # of the relevance (Sievert and Shirley 2014), as in lists of words
_HARDLY_ANY = 0.1           # of an average topic's words
_ELSEWHERE = 1.5            # times as many occurrences in another topic: pulled elsewhere
_NOTABLE = 0.001            # of a topic, in words that must not be there
_NAMED = 4
_ADVICE = "; if the topic is not what you meant, try other words, more topics, or `strength = 10` for it"


def seed_report(topics: Topics, order: np.ndarray, seeds: Seeds, vocabulary: Sequence[str]) -> dict[str, Any]:
    """One entry per seeded topic, under the numbers that ``order`` gives to the columns.

    Shares of a word's occurrences come from the documents alone, without the pseudo-counts of the seeds.
    """
    prior, evidence = topics.seeds, topics.evidence
    assert prior is not None
    assert evidence is not None
    number = np.argsort(order)
    listed = {int(word): row for row, word in enumerate(prior.listed)}
    shares = evidence / np.maximum(evidence.sum(axis=1, keepdims=True), 1e-300)
    entries = []
    for column, topic in enumerate(seeds["topics"]):
        first = _most_relevant(topics, column)
        rows = [
            _word(vocabulary[word], shares[listed[word]], column, number, word in first)
            for word in np.flatnonzero(prior.pull[:, column] > 0).tolist()
        ]
        out = np.flatnonzero(prior.allowed[:, column] < 1.0).tolist()
        entries.append({
            "topic": int(number[column]), "name": topic["name"], "share": float(topics.weights[column]),
            "kept": sum(row["kept"] for row in rows), "words": rows,
            "not": {vocabulary[word]: float(topics.topics[word, column]) for word in out},
            "not_in_vocabulary": len(topic["words"]) - len(rows),
        })
    last = int(number[len(seeds["topics"])]) if seeds[BACKGROUND] is not None else None
    return {"topics": entries, BACKGROUND: last}


def _most_relevant(topics: Topics, column: int) -> set[int]:
    own, overall = topics.topics[:, column], topics.topics @ topics.weights
    relevance = np.log(np.maximum(own, 1e-300)) - (1.0 - _BLEND) * np.log(np.maximum(overall, 1e-300))
    return set(np.argsort(-relevance, kind="stable")[:FIRST_WORDS].tolist())


def _word(word: str, shares: np.ndarray, column: int, number: np.ndarray, kept: bool) -> dict[str, Any]:
    most = int(shares.argmax())
    return {
        "word": word, "kept": kept, "here": float(shares[column]), "most": int(number[most]),
        "share_there": float(shares[most]),
    }


def seed_warnings(report: dict[str, Any], k: int) -> list[str]:
    """What the documents say against the seeds, in sentences."""
    found = []
    for entry in report["topics"]:
        name = entry["name"]
        elsewhere = [row for row in entry["words"] if row["share_there"] > _ELSEWHERE * row["here"]]
        if elsewhere:
            named = ", ".join(f"'{row['word']}' (topic {row['most']}: {row['share_there']:.0%}, here {row['here']:.0%})"
                              for row in elsewhere[:_NAMED])
            more = f" and {len(elsewhere) - _NAMED} more" if len(elsewhere) > _NAMED else ""
            advice = _ADVICE if 2 * len(elsewhere) > len(entry["words"]) else ""
            found.append(f"seeds of '{name}': the documents use {len(elsewhere)} of {len(entry['words'])} words mostly "
                         f"elsewhere: {named}{more}{advice}")
        if (mass := sum(entry["not"].values())) > _NOTABLE:
            found.append(f"seeds of '{name}': words that must not be there have {mass:.2%} of the topic")
        if entry["share"] < _HARDLY_ANY / k:
            found.append(f"seeds of '{name}': the topic has hardly any words ({entry['share']:.3%} of the corpus); the "
                         "documents say little about it")
    return found
