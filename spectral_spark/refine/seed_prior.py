"""Words that people gave to topics, as a prior on the topics (formulas §17).

The seeded topics are the first columns of every array of a fit. A word that belongs to a topic counts there
``pull`` times more for each of its occurrences in the corpus: with a pull of 1 it would be at least as likely in its
topic as in any other topic of the same size. A word that does not belong to a topic keeps a share
``allowed`` of its count there. Pseudo-counts never become part of the statistics, which stay what the documents say.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

# Chosen by measurement (formulas §17). A stronger pull while topics are sampled leads to worse topics; pseudo-counts in
# the finished topics cost little.
PULL = 0.1                  # of a word with strength 1, while topics are sampled and refined
FINAL = 2.0                 # the pull in the finished topics, as a multiple of the one before
AGAINST = 0.25              # weight of all excluded words, beside 1 for all given words, in the choice of a topic
CONTESTED = 3.0             # a seed that fits the topic of another so much better than its own shares that topic
HELD_BACK = 1e-3            # share of its count that an excluded word with strength 1 keeps


@dataclass(frozen=True, eq=False)
class SeedPrior:
    """Pseudo-counts of the seeded topics, the first columns.

    Attributes
    ----------
    pull : array of shape (d, seeded), pseudo-counts for every occurrence of the word in the corpus.
    allowed : array of shape (d, seeded), the share of its count that a word keeps; 1 for most.
    """

    pull: np.ndarray
    allowed: np.ndarray

    @property
    def topics(self) -> int:
        """How many topics are seeded."""
        return int(self.pull.shape[1])

    @property
    def listed(self) -> np.ndarray:
        """The words that were given to a topic or kept out of one; not those of a background, which has all."""
        given = self.pull[:, ~(self.pull > 0).all(axis=0)] > 0
        found: np.ndarray = np.flatnonzero(given.any(axis=1) | (self.allowed < 1.0).any(axis=1))
        return found

    def of_words(self, words: np.ndarray) -> "SeedPrior":
        """The prior of these words alone."""
        return SeedPrior(self.pull[words], self.allowed[words])

    def pseudo_counts(self, counts: np.ndarray, times: float = 1.0) -> np.ndarray:
        """Pseudo-counts (d, seeded) that go with topic-word counts (d, k)."""
        pseudo: np.ndarray = self.pull * (times * counts.sum(axis=1, keepdims=True))
        return pseudo

    def applied(self, counts: np.ndarray, times: float = 1.0) -> np.ndarray:
        """Topic-word counts (d, k) with so many times the pull of the prior."""
        seeded = counts.copy()
        own = seeded[:, : self.topics]
        own += self.pseudo_counts(counts, times)
        own *= self.allowed
        return seeded

    def fits(self, counts: np.ndarray) -> np.ndarray:
        """How well the columns of topic-word counts (d, k) fit the seeds, array of shape (seeded, k).

        A topic fits by the shares that it has in the occurrences of the words, over the root of its weight, because
        large topics have large shares of everything; words that must not be there count against it. A background is
        fitted by the topic most like the whole corpus.
        """
        frequency, totals = counts.sum(axis=1), counts.sum(axis=0)
        shares = counts / np.maximum(frequency, 1e-300)[:, None]
        wanted = self.pull / np.maximum(self.pull.sum(axis=0), 1e-300)
        kept_out = self.allowed < 1.0
        wanted -= AGAINST * kept_out / np.maximum(kept_out.sum(axis=0), 1)
        fit: np.ndarray = wanted.T @ shares / np.sqrt(np.maximum(totals / totals.sum(), 1e-300))
        common = (self.pull > 0).all(axis=0)
        fit[common] = np.sqrt(frequency / frequency.sum()) @ np.sqrt(counts / np.maximum(totals, 1e-300))
        return fit

    def chosen_first(self, counts: np.ndarray) -> np.ndarray:
        """The order of the columns of topic-word counts (d, k) in which those come first that fit the seeds best.

        The assignment of topics to seeds in which they fit best together is taken.
        """
        rows, columns = linear_sum_assignment(-self.fits(counts))
        first = columns[np.argsort(rows)]
        return np.concatenate([first, np.setdiff1d(np.arange(counts.shape[1]), first)])

    def sharing(self, counts: np.ndarray) -> dict[int, list[int]]:
        """The seeds that must share a topic, by the seed that has it; seeds are the first columns of the counts (d, k).

        A seed shares the topic of another one if it fits that topic more than CONTESTED times as well as its own, and
        better than all topics that no seed has. Backgrounds share nothing.
        """
        fit = self.fits(counts)
        common: np.ndarray = np.all(self.pull > 0, axis=0)
        found: dict[int, list[int]] = {}
        for seed in np.flatnonzero(~common):
            best = int(fit[seed].argmax())
            taken = best < self.topics and best != seed and not common[best]
            if taken and fit[seed, best] > CONTESTED * fit[seed, seed]:
                found.setdefault(best, []).append(int(seed))
        without = {seed for seeds in found.values() for seed in seeds}
        return {holder: seeds for holder, seeds in found.items() if holder not in without}

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays, for a checkpoint."""
        return {"seed_pull": self.pull, "seed_allowed": self.allowed}
