"""Which words of a text speak for which topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_OCCURRENCES = 0.05          # a word with less than this in a topic is not named there

@dataclass(frozen=True)
class TopicEvidence:
    """A topic of a text.

    Attributes
    ----------
    topic, share : its number, and its share of the text.
    words : the words that speak for it, the strongest first, each with the number of its occurrences that the model
        attributes to this topic.
    """

    topic: int
    share: float
    words: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Explanation:
    """A text's topics and the words they rest on.

    Attributes
    ----------
    topics : the topics, the largest share first.
    known, unknown : words of the text that are and are not in the model's vocabulary; stop words are in neither.
    """

    topics: tuple[TopicEvidence, ...]
    known: tuple[str, ...]
    unknown: tuple[str, ...]

    def as_dict(self, topics: int | None = None) -> dict[str, Any]:
        """For JSON: the largest ``topics``, or all."""
        return {
            "topics": [
                {"topic": found.topic, "share": found.share,
                 "words": [{"word": word, "occurrences": times} for word, times in found.words]}
                for found in self.topics[:topics]
            ],
            "known": list(self.known), "unknown": list(self.unknown),
        }


def explain_words(
    counted: Mapping[str, int], ids: Mapping[str, int], topics: np.ndarray, shares: np.ndarray
) -> Explanation:
    """Attribute the words of a text to its topics: p(topic | word) ∝ φ_word,topic · θ_topic.

    Parameters
    ----------
    counted : how often each word is in the text; ids : the number of each word that the model knows.
    topics : array of shape (d, k); shares : array of shape (k,), the proportions of the text.
    """
    known = sorted(word for word in counted if word in ids)
    chance = topics[[ids[word] for word in known]] * shares
    times = np.array([counted[word] for word in known], float)
    occurrences = chance / chance.sum(axis=1, keepdims=True) * times[:, None]
    found = []
    for topic in np.argsort(-shares, kind="stable"):
        column = occurrences[:, topic]
        order = [at for at in np.argsort(-column, kind="stable") if column[at] >= LEAST_OCCURRENCES]
        words = tuple((known[at], float(column[at])) for at in order)
        found.append(TopicEvidence(int(topic), float(shares[topic]), words))
    return Explanation(tuple(found), tuple(known), tuple(sorted(word for word in counted if word not in ids)))
