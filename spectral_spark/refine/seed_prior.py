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

    def chosen_first(self, counts: np.ndarray) -> np.ndarray:
        """The order of the columns of topic-word counts (d, k) in which those come first that fit the seeds best.

        A topic fits by the shares that it has in the occurrences of the words, over the root of its weight, because
        large topics have large shares of everything; words that must not be there count against it. The assignment with
        the largest sum is taken. A background gets the topic most like the whole corpus.
        """
        frequency, totals = counts.sum(axis=1), counts.sum(axis=0)
        shares = counts / np.maximum(frequency, 1e-300)[:, None]
        wanted = self.pull / np.maximum(self.pull.sum(axis=0), 1e-300)
        kept_out = self.allowed < 1.0
        wanted -= AGAINST * kept_out / np.maximum(kept_out.sum(axis=0), 1)
        fit = wanted.T @ shares / np.sqrt(np.maximum(totals / totals.sum(), 1e-300))
        common = (self.pull > 0).all(axis=0)
        fit[common] = np.sqrt(frequency / frequency.sum()) @ np.sqrt(counts / np.maximum(totals, 1e-300))
        rows, columns = linear_sum_assignment(-fit)
        first = columns[np.argsort(rows)]
        return np.concatenate([first, np.setdiff1d(np.arange(counts.shape[1]), first)])

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays, for a checkpoint."""
        return {"seed_pull": self.pull, "seed_allowed": self.allowed}
