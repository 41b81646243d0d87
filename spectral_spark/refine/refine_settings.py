"""Settings of the refinement by EM."""

from dataclasses import dataclass

from spectral_spark.errors import SettingsError
from spectral_spark.refine.backend import BACKENDS

EXPLORED_STEPS, EXPLORED_RATES, EXPLORED_FALL, EXPLORED_ROUNDS = 8.0, (0.1, 0.5), 4.0, 4


@dataclass(frozen=True)
class RefineSettings:
    """Settings of the refinement; defaults were chosen by measurement, which ``benchmarks/refine.py`` repeats.

    Attributes
    ----------
    passes : passes over the corpus; the rates fall over all of them.
    settling : exact steps of EM after the passes, each over the whole corpus in one round.
    rounds : averaging rounds per pass; each is one broadcast and one reduce of the (d, k) statistics.
    batch_size : documents per mini-batch inside a shard.
    inner_iterations : updates of a document's proportions per E-step.
    smoothing : added to the topic-word counts of the corpus during the passes; slightly blurred topics converge more
        easily.
    final_smoothing : the same for the exact steps and the topics that come out.
    first_rate, last_rate : step sizes of a mini-batch in the first and the last round, falling geometrically in
        between: large steps find the topics, small ones average out noise.
    learn_concentrations : estimate the concentration of every level; otherwise the initial ones stay.
    learn_document_concentration : the same for the documents alone; only matters if the levels are learnt.
    concentration_bounds : range of the learnt concentrations.
    minimum_weight : a topic whose share of the corpus' words falls below this fraction of 1/k is dead.
    backend : ``auto``, ``numba`` or ``numpy``.
    """

    passes: int = 2
    settling: int = 1
    rounds: int = 8
    batch_size: int = 128
    inner_iterations: int = 20
    smoothing: float = 0.3
    final_smoothing: float = 0.05
    first_rate: float = 0.5
    last_rate: float = 0.05
    learn_concentrations: bool = True
    learn_document_concentration: bool = True
    concentration_bounds: tuple[float, float] = (0.05, 1000.0)
    minimum_weight: float = 0.01
    backend: str = "auto"

    def __post_init__(self) -> None:
        for name in ("passes", "rounds", "batch_size", "inner_iterations"):
            if getattr(self, name) < 1:
                raise SettingsError(f"refinement: {name} is {getattr(self, name)}; it must be at least 1")
        if self.settling < 0:
            raise SettingsError(f"refinement: settling is {self.settling}; it must not be negative")
        for name in ("smoothing", "final_smoothing"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"refinement: {name} is {getattr(self, name)}; it must be positive")
        if not 0 < self.last_rate <= self.first_rate < 1:
            raise SettingsError(
                f"refinement: rates {self.first_rate} to {self.last_rate}; they must fall and lie between 0 and 1"
            )
        if self.backend not in BACKENDS:
            raise SettingsError(f"refinement: backend '{self.backend}' is unknown; use one of {', '.join(BACKENDS)}")

    @classmethod
    def for_corpus(cls, passes: int, documents_per_shard: float, *, explored: bool = False) -> "RefineSettings":
        """The defaults, with fewer rounds if a shard would have less than two mini-batches per round.

        After Gibbs sampling (``explored``), steps are smaller and need fewer averaging rounds: the mini-batches of a
        shard replace its topics a few times per pass, not at every step.
        """
        most = EXPLORED_ROUNDS if explored else cls.rounds
        rounds = min(max(int(documents_per_shard // (2 * cls.batch_size)), 1), most)
        if not explored:
            return cls(passes=passes, rounds=rounds)
        least, largest = EXPLORED_RATES
        first = min(max(EXPLORED_STEPS * cls.batch_size / max(documents_per_shard, 1.0), least), largest)
        return cls(passes=passes, rounds=rounds, first_rate=first, last_rate=first / EXPLORED_FALL)

    def rate(self, finished: int) -> float:
        """The rate of the round that follows ``finished`` rounds."""
        share = min(finished / max(self.passes * self.rounds - 1, 1), 1.0)
        return float(self.first_rate * (self.last_rate / self.first_rate) ** share)
