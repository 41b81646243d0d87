"""The settings of one fit, as plain values."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from spectral_spark.errors import SettingsError
from spectral_spark.refine.refine_settings import RefineSettings

AUTO_BASIS = 128
SAMPLE_WORDS = 6_000_000                    # the driver samples so many at most
DRAWS, FEWEST_SWEEPS, MOST_SWEEPS = 250_000_000, 60, 300


@dataclass(frozen=True)
class FitSettings:
    """What :class:`SpectralHDP` was told; see its parameters."""

    k: int | str = "auto"
    solver: str = "polar"
    weighting: str = "tokens"
    layers: int | str = "all"
    concentrations: str | tuple[float, ...] = "auto"
    rank_rule: str = "noise-floor"
    tensors: str = "root"
    basis_size: int | str = "auto"
    count_cap: float = 16.0
    word_scaling: float = 0.25
    range_passes: int = 2
    refine_passes: int = 2
    explore_sweeps: int | str = "auto"
    group_balance: float = 0.0
    seed: int = 0

    @property
    def cap(self) -> int | None:
        return int(self.count_cap) if self.count_cap else None

    @property
    def tree_layers(self) -> int | None:
        return None if self.layers == "all" else int(self.layers)

    @property
    def all_refine_passes(self) -> int:
        """Passes of refinement, and those that settle it."""
        return self.refine_passes + RefineSettings.settling if self.refine_passes else 0

    @property
    def scores_candidates(self) -> bool:
        """Whether several concentrations are tried on documents; refinement would make them equal."""
        return self.concentrations == "auto" and self.refine_passes == 0

    @property
    def explores(self) -> bool:
        """Whether topics are sampled before they are refined."""
        return self.refine_passes > 0 and self.explore_sweeps != 0

    def sweeps(self, words: int) -> int:
        """Sweeps over a sample of so many words: about the same work whatever their number, within limits."""
        if self.explore_sweeps != "auto":
            return int(self.explore_sweeps)
        return min(max(DRAWS // max(min(words, SAMPLE_WORDS), 1), FEWEST_SWEEPS), MOST_SWEEPS)

    def basis_columns(self, vocab_size: int) -> int:
        """Columns p to look for: room above k, twice k for an unknown k."""
        if self.k != "auto" and int(self.k) > vocab_size:
            raise SettingsError(f"k is {self.k} but there are {vocab_size} words; topics cannot outnumber words")
        if self.basis_size != "auto":
            wanted = int(self.basis_size)
        elif self.k == "auto":
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
        if isinstance(known.get("concentrations"), list):
            known["concentrations"] = tuple(known["concentrations"])
        return cls(**known)
