"""Which words say most about a topic: weight and distinctiveness (Sievert and Shirley, LDAvis, 2014).

relevance(w, t | λ) = λ log φ_wt + (1 − λ) log(φ_wt / p_w), with p the word shares of the whole corpus.
"""

import numpy as np

LABEL_LAMBDA = 0.6          # what readers in the LDAvis study matched best to topics
_GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_WORDS_AT_ONCE = 4096
_LABEL_CANDIDATES = 25       # a topic's most frequent words; rarer ones are exclusive by chance


def word_shares(topics: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Share of every word in the corpus according to the model, shape (d,), sums to one."""
    shares: np.ndarray = np.clip(topics, 0.0, None) @ np.clip(weights, 0.0, None)
    total = shares.sum()
    return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))


def relevance(column: np.ndarray, shares: np.ndarray, blend: float) -> np.ndarray:
    """Relevance of every word for one topic, shape (d,); words the topic never uses get −∞."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.log(column)
        scores = weight - (1.0 - blend) * np.log(shares)
    return np.where(column > 0, scores, -np.inf)


def top_words(column: np.ndarray, shares: np.ndarray, count: int, blend: float = LABEL_LAMBDA) -> np.ndarray:
    """The ``count`` most relevant words of a topic, best first; fewer when the topic uses fewer."""
    scores = relevance(column, shares, blend)
    count = min(count, int(np.count_nonzero(column > 0)))
    best = np.argpartition(-scores, count - 1)[:count] if 0 < count < len(scores) else np.arange(len(scores))
    order: np.ndarray = best[np.lexsort((best, -scores[best]))]
    return order[:count]


def label_words(column: np.ndarray, topics: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` words that name a topic best: frequent in it and exclusive to it (FREX).

    Among the topic's most frequent words, the harmonic mean of two ranks: by frequency, and by the share of the word's
    uses that this topic has (Bischof and Airoldi, 2012).
    """
    frequent = np.argsort(-column, kind="stable")[: max(_LABEL_CANDIDATES, count)]
    frequent = frequent[column[frequent] > 0]
    uses = topics[frequent] @ weights
    exclusive = np.divide(column[frequent], uses, out=np.zeros(len(frequent)), where=uses > 0)
    by_frequency = 1.0 - np.arange(len(frequent)) / max(len(frequent), 1)
    by_exclusivity = np.empty(len(frequent))
    by_exclusivity[np.argsort(exclusive, kind="stable")] = (np.arange(len(frequent)) + 1) / max(len(frequent), 1)
    score = 2.0 / (1.0 / by_frequency + 1.0 / by_exclusivity)
    order: np.ndarray = frequent[np.argsort(-score, kind="stable")]
    return order[:count]


def candidates(column: np.ndarray, shares: np.ndarray, count: int) -> np.ndarray:
    """The words any position of the relevance slider may show in its first ``count`` places, sorted by word."""
    return np.unique(np.concatenate([top_words(column, shares, count, blend) for blend in _GRID]))


def topics_of_words(topics: np.ndarray, weights: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``width`` topics that use each word most, and the share of the word's uses each of them has.

    Returns
    -------
    (topic numbers, shares), both of shape (d, min(width, k)), most used first.
    """
    d, k = topics.shape
    width = min(width, k)
    numbers, parts = np.zeros((d, width), np.int64), np.zeros((d, width))
    for start in range(0, d, _WORDS_AT_ONCE):
        block = slice(start, start + _WORDS_AT_ONCE)
        uses = np.clip(topics[block] * weights, 0.0, None)
        order = np.argsort(-uses, axis=1, kind="stable")[:, :width]
        total = uses.sum(axis=1, keepdims=True)
        numbers[block] = order
        parts[block] = np.divide(np.take_along_axis(uses, order, 1), total, out=np.zeros(order.shape), where=total > 0)
    return numbers, parts
