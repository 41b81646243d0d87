"""How a refinement runs."""

from dataclasses import dataclass

from spectral_spark.errors import SettingsError
from spectral_spark.refine.backend import BACKENDS


@dataclass(frozen=True)
class RefineSettings:
    """Settings of the refinement; the defaults were chosen by measurement (``jobs/bench/REFINE.md``).

    Attributes
    ----------
    rounds : averaging rounds per pass; each is one broadcast and one reduce of the (d, k) statistics.
    batch_size : documents per mini-batch inside a shard.
    inner_iterations : updates of a document's proportions per E-step.
    smoothing : added to the topic-word counts of the corpus.
    tau, kappa : the t-th mini-batch moves the statistics by (tau + t)^-kappa.
    learn_concentrations : estimate the concentration of every level; otherwise the initial ones stay.
    concentration_bounds : guard rails for the learnt concentrations.
    minimum_weight : a topic whose share of the corpus' words falls below this fraction of 1/k is dead.
    backend : ``auto``, ``numba`` or ``numpy``.
    """

    rounds: int = 8
    batch_size: int = 64
    inner_iterations: int = 10
    smoothing: float = 0.3
    tau: float = 20.0
    kappa: float = 0.7
    learn_concentrations: bool = True
    concentration_bounds: tuple[float, float] = (0.05, 1000.0)
    minimum_weight: float = 0.01
    backend: str = "auto"

    def __post_init__(self) -> None:
        for name in ("rounds", "batch_size", "inner_iterations"):
            if getattr(self, name) < 1:
                raise SettingsError(f"refinement: {name} is {getattr(self, name)}; it must be at least 1")
        for name in ("smoothing", "tau", "kappa"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"refinement: {name} is {getattr(self, name)}; it must be positive")
        if self.backend not in BACKENDS:
            raise SettingsError(f"refinement: backend '{self.backend}' is unknown; use one of {', '.join(BACKENDS)}")
