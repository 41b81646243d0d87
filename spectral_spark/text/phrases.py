"""Phrases: pairs of words that stand side by side more often than chance would put them there, taken as one word.

``natural gas`` becomes the word ``natural_gas``. No other word of our tokeniser has an underscore in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

MOST_PHRASES = 100_000
FALSE_ALARMS = 0.05            # probability of one phrase or more by chance among all pairs that are looked at
LEAST_NPMI = 0.35              # of normalised pointwise mutual information: 0 is chance, 1 never apart

Phrase = tuple[str, str]


def phrase_word(phrase: Phrase) -> str:
    """The word that a phrase becomes."""
    return "_".join(phrase)


class PhraseMatcher:
    """Puts phrases in the place of their words; words are whole numbers, of any kind.

    Parameters
    ----------
    first, second, joined : of shape (phrases,); the two words of every phrase, and what takes their place.
    """

    def __init__(self, first: np.ndarray, second: np.ndarray, joined: np.ndarray) -> None:
        self._codes = np.unique(np.concatenate([first, second]))
        keys = self._place(first) * len(self._codes) + self._place(second)
        order = np.argsort(keys)
        self._keys, self._joined = keys[order], np.asarray(joined, np.int64)[order]

    def _place(self, words: np.ndarray) -> np.ndarray:
        return np.searchsorted(self._codes, words).astype(np.int64)

    def apply(self, words: np.ndarray, continues: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words with phrases joined, and which of the given positions are left.

        Phrases are taken from left to right: of ``a b c``, where both ``a b`` and ``b c`` are phrases, the first.

        Parameters
        ----------
        words : in their order, document after document.
        continues : whether a word may be the second of a phrase with the word before it.
        """
        left = np.ones(len(words), bool)
        if len(words) < 2 or not len(self._keys):
            return words, left
        place = np.minimum(self._place(words), len(self._codes) - 1)
        known = self._codes[place] == words
        keys = place[:-1] * len(self._codes) + place[1:]
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        pairs = known[:-1] & known[1:] & continues[1:] & (self._keys[at] == keys)
        taken = _every_other(pairs)
        words = words.copy()
        words[:-1][taken] = self._joined[at[taken]]
        left[1:][taken] = False
        return words[left], left


def _every_other(pairs: np.ndarray) -> np.ndarray:
    """Of each run of true entries the first, third, fifth and so on."""
    hits = np.flatnonzero(pairs)
    if not len(hits):
        return pairs
    new_run = np.concatenate(([True], np.diff(hits) > 1))
    starts = np.maximum.accumulate(np.where(new_run, hits, 0))
    taken = np.zeros(len(pairs), bool)
    taken[hits[(hits - starts) % 2 == 0]] = True
    return taken


@dataclass(frozen=True, eq=False)
class PairScores:
    """How strongly pairs of words hold together.

    Attributes
    ----------
    likelihood_ratio : Dunning's G², which is chi-squared with one degree of freedom where words meet by chance.
    npmi : normalised pointwise mutual information; negative where words avoid each other.
    """

    likelihood_ratio: np.ndarray
    npmi: np.ndarray


def pair_scores(together: np.ndarray, first: np.ndarray, second: np.ndarray, total: int) -> PairScores:
    """Compare how often pairs were seen with chance.

    Parameters
    ----------
    together : how often each pair was seen.
    first, second : how often its first word was the first of any pair, and its second word the second of any.
    total : how many pairs were seen.
    """
    seen = np.stack([together, first - together, second - together, total - first - second + together]).astype(float)
    expected = np.stack([first * (second / total), first * ((total - second) / total),
                         (total - first) * (second / total), (total - first) * ((total - second) / total)])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 2 * np.where(seen > 0, seen * np.log(seen / expected), 0).sum(axis=0)
        npmi = np.log(together / expected[0]) / -np.log(together / total)
    return PairScores(np.maximum(ratio, 0), np.where(together == total, 1.0, npmi))


def significant_pairs(scores: PairScores, n_candidates: int, limit: int | None) -> np.ndarray:
    """The pairs that hold together, the strongest first.

    A pair is a phrase if its G² is beyond what one of ``n_candidates`` pairs reaches by chance with probability 0.05
    (Bonferroni), and if its NPMI is at least 0.35: with millions of documents the faintest habit is significant.

    Parameters
    ----------
    limit : the largest number of phrases; None for all that pass.
    """
    threshold = chdtri(1, FALSE_ALARMS / max(n_candidates, 1))          # χ² with one degree of freedom
    passed = np.flatnonzero((scores.likelihood_ratio > threshold) & (scores.npmi >= LEAST_NPMI))
    order = passed[np.argsort(-scores.likelihood_ratio[passed], kind="stable")]
    return order[: MOST_PHRASES if limit is None else min(limit, MOST_PHRASES)]


def phrase_set(phrases: Sequence[Phrase]) -> tuple[Phrase, ...]:
    """Phrases in a fixed order, each once."""
    return tuple(sorted(set(map(tuple, phrases))))             # type: ignore[arg-type]
