"""Names of topics: those that people gave, and short ones made of distinctive words for the others."""

from collections.abc import Iterable

import numpy as np

from spectral_spark.data.value_types import nearest
from spectral_spark.errors import InputError
from spectral_spark.files.model_files import TopicModelFiles
from spectral_spark.report.payload import BACKGROUND_NAME, vocabulary_of
from spectral_spark.report.relevance import label_words, relevance, word_shares

__all__ = [
    "BACKGROUND_NAME", "MEASURES", "find_topic", "find_topics", "measured_words", "naming_prompt", "suggested_names",
    "telling_words", "topic_names",
]

WORDS_IN_NAME = 3
MEASURES = ("probability", "frex", "lift", "relevance")
LIFT_LEAST = 1e-4            # words with a smaller share of a topic have a large lift by chance
_STEM = 5                    # words with so many first letters in common say the same


def topic_names(files: TopicModelFiles, words: int = WORDS_IN_NAME) -> list[str]:
    """One short name per topic, in their order: the label that people gave, or its most distinctive words."""
    suggested = suggested_names(files, words)
    if files.background is not None:
        suggested[files.background] = BACKGROUND_NAME
    return [files.labels.get(topic, name) for topic, name in enumerate(suggested)]


def suggested_names(files: TopicModelFiles, words: int = WORDS_IN_NAME) -> list[str]:
    """Names from distinctive words alone (FREX, and more frequent than elsewhere); no two topics get the same one."""
    taken: set[str] = set()
    names = []
    telling = telling_words(files, words)
    for topic, chosen in enumerate(telling):
        count = min(words, len(chosen))
        while count < len(chosen) and " ".join(chosen[:count]) in taken:
            count += 1
        name = " ".join(chosen[:count]) or f"topic {topic}"
        names.append(name if name not in taken else f"{name} {topic}")
        taken.add(names[-1])
    return names


def telling_words(files: TopicModelFiles, words: int = WORDS_IN_NAME) -> list[list[str]]:
    """Words to name every topic with, the best first: frequent, exclusive, and more frequent than elsewhere."""
    vocabulary, weights = vocabulary_of(files), np.clip(files.weights, 0.0, None)
    shares = word_shares(files.topics, files.weights)
    found = []
    for column in files.topics.T:
        best = label_words(column, files.topics, weights, 4 * words + 4)
        telling = [word for word in best if column[word] > shares[word]]
        found.append(_told_apart(vocabulary[word] for word in (telling or best)))
    return found


def measured_words(files: TopicModelFiles, topic: int, measure: str, count: int) -> list[str]:
    """The first words of a topic by one of ``MEASURES``.

    ``probability`` is the word's share of the topic. ``lift`` divides it by the word's share of the corpus.
    ``relevance`` is the mean of the logarithms of both with weights 0.6 and 0.4 (Sievert and Shirley 2014). ``frex``
    is the harmonic mean of the ranks by frequency and by exclusivity (Bischof and Airoldi 2012).
    """
    names, column = vocabulary_of(files), files.topics[:, topic]
    shares = word_shares(files.topics, files.weights)
    if measure == "frex":
        best = label_words(column, files.topics, np.clip(files.weights, 0.0, None), count)
    elif measure == "lift":
        lift = np.divide(column, shares, out=np.zeros(len(column)), where=(shares > 0) & (column >= LIFT_LEAST))
        best = np.argsort(-lift, kind="stable")[:count]
    else:
        blend = {"probability": 1.0, "relevance": 0.6}[measure]
        best = np.argsort(-relevance(column, shares, blend), kind="stable")[:count]
    return [names[word] for word in best]


def find_topic(name: str, files: TopicModelFiles) -> int:
    """The topic of that number or name; an unknown one is answered with the nearest that there is."""
    k, names = files.topics.shape[1], topic_names(files)
    text = name.strip()
    if text.isascii() and text.isdecimal() and int(text) < k:
        return int(text)
    same = [topic for topic, known in enumerate(names) if known.casefold() == text.casefold()]
    if len(same) == 1:
        return same[0]
    if same:
        raise InputError(f"topics {', '.join(map(str, same))} are all called '{text}'; give a number")
    raise InputError(f"there is no topic '{text}'; the model has topics 0 to {k - 1}{nearest(text, names)}")


def find_topics(names: Iterable[str], files: TopicModelFiles) -> list[int]:
    """The same for several; each topic once, in the order given."""
    return list(dict.fromkeys(find_topic(name, files) for name in names))


def naming_prompt(files: TopicModelFiles, words: int = 12) -> str:
    """A text that asks a language model for names, with the words of every topic and the form of the answer."""
    lines = [
        "Name the topics of a topic model. For each topic you get its number, its share of the corpus, its most",
        "frequent words and the words that set it apart from the others. Answer with a TOML file and nothing else:",
        "a table [topics] with one line per topic, NUMBER = \"name\". A name has two to five words, says what the",
        "documents are about, and differs from all other names. Write \"unclear\" where the words have no theme.", "",
    ]
    for topic in np.argsort(-files.weights, kind="stable"):
        if topic == files.background:
            continue
        frequent, apart = (" ".join(measured_words(files, int(topic), by, words)) for by in ("probability", "frex"))
        lines.append(f"topic {topic} ({files.weights[topic]:.1%}): frequent: {frequent}; distinctive: {apart}")
    return "\n".join(lines) + "\n"


def _told_apart(words: Iterable[str]) -> list[str]:
    """The words without later ones that begin like an earlier one: 'contract', not 'contracts' as well."""
    kept: list[str] = []
    for word in words:
        if not any(word[:_STEM] == other[:_STEM] for other in kept if min(len(word), len(other)) >= _STEM):
            kept.append(word)
    return kept
