"""The settings of one fit, as plain values."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.errors import SettingsError
from spectral_spark.refine.refine_settings import RefineSettings

AUTO_BASIS = 128
FORMED_COLUMNS = 250                        # of the basis: beyond, third moments take longer than all other steps
SAMPLE_WORDS = 6_000_000                    # larger corpora are sampled where their documents are, after a search
SEARCH_WORDS, MOST_SEARCH_WORDS = 30_000, 12_000_000      # of that search: for every topic, and at most
DRAWS, FEWEST_SWEEPS, MOST_SWEEPS = 250_000_000, 60, 300
SEARCH_SWEEPS, CORPUS_SHARE, FEWEST_CORPUS_SWEEPS = 160, 10, 4
REFINE_PASSES = 2


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
    refine_passes: int | str = HDP.default("refinePasses")
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
    def refines(self) -> bool:
        """Whether topics are sampled and refined after the spectral step."""
        return self.refine_passes != 0

    def passes(self, words: int) -> int:
        """Passes of incremental EM over a corpus of so many words; none after sweeps over all of them."""
        if self.refine_passes != AUTO:
            return int(self.refine_passes)
        return 0 if self.samples_all(words) else REFINE_PASSES

    def settling(self, words: int) -> int:
        """Exact passes of EM after the incremental ones."""
        return RefineSettings.settling if self.passes(words) else 0

    @property
    def scores_candidates(self) -> bool:
        """Whether several concentrations are tried on documents; refinement would make them equal."""
        return self.concentrations == AUTO and not self.refines

    @property
    def given_concentrations(self) -> tuple[float, ...]:
        """The numbers that were given, the documents' last; none where they are learnt or calibrated."""
        return () if isinstance(self.concentrations, str) else tuple(float(g) for g in self.concentrations)

    @property
    def explores(self) -> bool:
        """Whether topics are sampled before they are refined."""
        return self.refines and self.explore_sweeps != 0

    def sweeps(self, words: int) -> int:
        """Sweeps over a corpus of so many words or its sample: about the same work for small ones, within limits."""
        if self.explore_sweeps != AUTO:
            return int(self.explore_sweeps)
        if self.samples_all(words):
            return SEARCH_SWEEPS
        return min(max(DRAWS // max(min(words, SAMPLE_WORDS), 1), FEWEST_SWEEPS), MOST_SWEEPS)

    def samples_all(self, words: int) -> bool:
        """Whether a corpus of so many words gets sweeps over all of them after a search in a sample."""
        return self.explores and words > SAMPLE_WORDS

    def corpus_sweeps(self, words: int) -> int:
        """Sweeps over all words: a tenth of those of the search; none for a corpus that the driver samples whole."""
        return max(self.sweeps(words) // CORPUS_SHARE, FEWEST_CORPUS_SWEEPS) if self.samples_all(words) else 0

    def search_words(self, k: int, words: int) -> int:
        """Words of the sample in which the driver samples k topics."""
        if not self.samples_all(words):
            return min(words, SAMPLE_WORDS)
        return min(words, max(SEARCH_WORDS * k, SAMPLE_WORDS // 2), MOST_SEARCH_WORDS)

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
