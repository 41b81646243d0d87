"""The settings of Gibbs sampling, and the schedule of its sweeps that follows from them."""

from dataclasses import dataclass
from itertools import pairwise

from spectral_spark.errors import SettingsError

STAGES, HALF_WAY = (0.3, 0.45), 0.4    # when surplus topics are merged (shares of the sweeps); the share left between
SEARCH, SEARCHED = 0.6, 2    # the share of the sweeps that search, on every second document
FEWEST_STAGED = 10           # sweeps: with fewer, nothing is merged
WORDS_PER_TOPIC = 20_000     # of the sample: with fewer, surplus topics do harm
SETTLED = 0.6                # share of the sweeps after which topics are recorded, to tell how far they still drift


@dataclass(frozen=True)
class GibbsSettings:
    """Settings of Gibbs sampling; defaults were chosen by measurement (``benchmarks/refine.py --part explore``).

    Attributes
    ----------
    sweeps : number of sweeps over the sample.
    blur : share of the corpus' word frequencies that is mixed into the initial topics, so that sharp topics do not keep
        all their words.
    first_total, last_total, cooling : the total prior of a document falls from the first to the last over this share of
        the sweeps (if there are surplus topics, of the sweeps before the first merge). Documents that may have many
        topics at first lose wrong ones more easily. Afterwards it is learnt; the proportions of the tree are learnt
        from the first sweep on, in which all topics are equally likely.
    smoothing : added to the topic-word counts of the sample.
    surplus : additional topics at first, as a share of k, merged in two steps; only if the sample has WORDS_PER_TOPIC
        words for each.
    averaged : share of the sweeps, at the end, whose counts are averaged.
    only_search : whether all sweeps are part of the search, in all documents of the sample, because sweeps over the
        whole corpus follow.
    """

    sweeps: int = 100
    blur: float = 0.7
    first_total: float = 20.0
    last_total: float = 2.0
    cooling: float = 0.5
    smoothing: float = 0.05
    surplus: float = 0.5
    averaged: float = 0.2
    only_search: bool = False

    def __post_init__(self) -> None:
        if self.sweeps < 1:
            raise SettingsError(f"Gibbs sampling: sweeps is {self.sweeps}; it must be at least 1")
        if not 0 <= self.blur < 1:
            raise SettingsError(f"Gibbs sampling: blur is {self.blur}; it must be at least 0 and below 1")
        if not 0 < self.last_total <= self.first_total:
            raise SettingsError(
                f"Gibbs sampling: total priors {self.first_total} to {self.last_total}; they must be positive and fall"
            )
        for name in ("cooling", "smoothing", "averaged"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"Gibbs sampling: {name} is {getattr(self, name)}; it must be positive")
        if not 0 <= self.surplus <= 1:
            raise SettingsError(f"Gibbs sampling: surplus is {self.surplus}; give a number from 0 (none) to 1")

    def columns(self, k: int, words: int) -> dict[int, int]:
        """The number of topics from which sweep on; the last number is k."""
        wide = k + int(self.surplus * k)
        if not self.searches(k, words):
            return {0: k}
        first, second = (int(share * self.sweeps) for share in self.stages)
        return {0: wide, first: k + int(self.surplus * k * HALF_WAY), second: k}

    @property
    def stages(self) -> tuple[float, float]:
        """When surplus topics are merged, as shares of the sweeps."""
        first, second = STAGES
        return (first / SEARCH, second / SEARCH) if self.only_search else (first, second)

    @property
    def remembered(self) -> int:
        """The sweep whose topics are compared with those at the end; 0 if there are too few sweeps."""
        share = (1.0 + STAGES[1] / SEARCH) / 2 if self.only_search else SETTLED
        return int(share * self.sweeps) if self.sweeps >= FEWEST_STAGED else 0

    def searches(self, k: int, words: int) -> bool:
        """Whether there are enough words and sweeps to search with surplus topics in a part of the documents."""
        wide = k + int(self.surplus * k)
        return wide > k and self.sweeps >= FEWEST_STAGED and words >= WORDS_PER_TOPIC * wide

    def topic_sweeps(self, k: int, words: int) -> int:
        """The topics of all sweeps together."""
        starts = [*self.columns(k, words).items(), (self.sweeps, 0)]
        return sum(topics * (end - start) for (start, topics), (end, _) in pairwise(starts))

    def draws(self, k: int, words: int) -> float:
        """The number of draws in all sweeps together."""
        searching = SEARCH if self.searches(k, words) and not self.only_search else 0.0
        return words * self.sweeps * (1.0 - searching + searching / SEARCHED)
