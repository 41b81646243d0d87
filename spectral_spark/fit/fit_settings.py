"""The settings of one fit, as plain values."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.errors import SettingsError
from spectral_spark.refine.refine_settings import RefineSettings

AUTO_BASIS = 128
FORMED_COLUMNS = 250                        # of the basis: beyond, third moments take longer than all other steps
SAMPLE_WORDS = 6_000_000                    # the driver samples at most this many words
DRAWS, FEWEST_SWEEPS, MOST_SWEEPS = 250_000_000, 60, 300


@dataclass(frozen=True)
class FitSettings:
    """The parameters of :class:`SpectralHDP` that decide what a fit computes; ``data/settings.py`` explains them."""

    k: int | str = HDP.default("k")
    solver: str = HDP.default("solver")
    weighting: str = HDP.default("weighting")
    layers: int | str = HDP.default("layers")
    concentrations: str | tuple[float, ...] = HDP.default("concentrations")
    rank_rule: str = HDP.default("rankRule")
    tensors: str = HDP.default("tensors")
    basis_size: int | str = HDP.default("basisSize")
    count_cap: float = HDP.default("countCap")
    word_scaling: float = HDP.default("wordScaling")
    range_passes: int = HDP.default("rangePasses")
    refine_passes: int = HDP.default("refinePasses")
    explore_sweeps: int | str = HDP.default("exploreSweeps")
    group_balance: float = HDP.default("groupBalance")
    replay_words: int = HDP.default("replayWords")
    seed: int = HDP.default("seed")

    def __post_init__(self) -> None:
        if isinstance(self.concentrations, list):
            object.__setattr__(self, "concentrations", tuple(self.concentrations))

    def collects_third(self, columns: int) -> bool:
        """Whether third moments are collected in a basis of so many columns, or left to a sample of documents."""
        if self.solver == AUTO:
            return columns <= FORMED_COLUMNS or self.tensors == "groups"
        return self.solver != "implicit"

    @property
    def cap(self) -> int | None:
        return int(self.count_cap) if self.count_cap else None

    @property
    def tree_layers(self) -> int | None:
        return None if self.layers == "all" else int(self.layers)

    @property
    def all_refine_passes(self) -> int:
        """Passes of incremental EM, and the exact ones after them."""
        return self.refine_passes + RefineSettings.settling if self.refine_passes else 0

    @property
    def scores_candidates(self) -> bool:
        """Whether several concentrations are tried on documents; refinement would make them equal."""
        return self.concentrations == AUTO and self.refine_passes == 0

    @property
    def given_concentrations(self) -> tuple[float, ...]:
        """The numbers that were given, the documents' last; none where they are learnt or calibrated."""
        return () if isinstance(self.concentrations, str) else tuple(float(g) for g in self.concentrations)

    @property
    def explores(self) -> bool:
        """Whether topics are sampled before they are refined."""
        return self.refine_passes > 0 and self.explore_sweeps != 0

    def sweeps(self, words: int) -> int:
        """Sweeps over a sample of so many words: about the same work whatever their number, within limits."""
        if self.explore_sweeps != AUTO:
            return int(self.explore_sweeps)
        return min(max(DRAWS // max(min(words, SAMPLE_WORDS), 1), FEWEST_SWEEPS), MOST_SWEEPS)

    def basis_columns(self, vocab_size: int) -> int:
        """Number p of columns of the basis: somewhat more than k, or twice as many as the largest k if k is unknown."""
        if self.k != AUTO and int(self.k) > vocab_size:
            raise SettingsError(f"`k` is {self.k} but there are {vocab_size} words; topics cannot outnumber words")
        if self.basis_size != AUTO:
            wanted = int(self.basis_size)
        elif self.k == AUTO:
            wanted = AUTO_BASIS
        else:
            wanted = int(self.k) + max(10, int(self.k) // 4)
        return min(wanted, vocab_size)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "FitSettings":
        """From a saved run report; keys of other versions are ignored."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        return cls(**known)
