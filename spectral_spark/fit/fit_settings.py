"""The settings of one fit, as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from spectral_spark.data.seeds import seeds_of
from spectral_spark.data.settings import AUTO, HDP, PRESETS
from spectral_spark.errors import SettingsError
from spectral_spark.refine.refine_settings import RefineSettings

AUTO_BASIS, MOST_COLUMNS = 128, 1024        # of a basis for a number of topics that is not known: at first, at most
RANGE_PASSES, SETTLING_PASSES = 2, 8        # where passes are not worth their time, and at most until the basis settles
FORMED_COLUMNS = 250                        # of the basis: beyond, third moments take longer than all other steps
SAMPLE_WORDS = 6_000_000                    # larger corpora are sampled where their documents are, after a search
SEARCH_WORDS, MOST_SEARCH_WORDS = 30_000, 12_000_000      # of that search: for every topic, and at most
DRAWS, FEWEST_SWEEPS, MOST_SWEEPS = 250_000_000, 60, 300
SEARCH_SWEEPS, CORPUS_SHARE, FEWEST_CORPUS_SWEEPS = 160, 10, 4
REFINE_PASSES = 2
PRINTED_SOLVER = "power"


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
    spectral_step: str = HDP.default("spectralStep")
    preset: str | None = HDP.default("preset")
    basis_size: int | str = HDP.default("basisSize")
    count_cap: float = HDP.default("countCap")
    word_scaling: float = HDP.default("wordScaling")
    range_passes: int | str = HDP.default("rangePasses")
    refine_passes: int | str = HDP.default("refinePasses")
    explore_sweeps: int | str = HDP.default("exploreSweeps")
    group_balance: float = HDP.default("groupBalance")
    replay_words: int = HDP.default("replayWords")
    node_sums: str = HDP.default("nodeSums")
    seeds: dict[str, Any] | None = None
    seed: int = HDP.default("seed")

    def __post_init__(self) -> None:
        if isinstance(self.concentrations, list):
            object.__setattr__(self, "concentrations", tuple(self.concentrations))
        if self.printed and self.solver == AUTO:                # polar, which auto stands for, is not in the paper
            object.__setattr__(self, "solver", PRINTED_SOLVER)

    def collects_third(self, columns: int, words: int = 0) -> bool:
        """Whether third moments are collected in a basis of so many columns, or left to a sample of documents.

        They are the start of a search that leaves no trace of their noise where all words are sampled afterwards:
        there they would only take time. A corpus whose moments are in a basis that others share gives no ``words``.
        """
        if self.solver == "sketch":
            return columns <= FORMED_COLUMNS
        if self.solver != AUTO:
            return self.solver != "implicit"
        if self.tensors == "groups":
            return True
        sampled = self.samples_all(words) and bool(self.replay_words) and self.k != AUTO
        return columns <= FORMED_COLUMNS and not sampled

    def settles_basis(self, columns: int, words: int) -> bool:
        """Whether passes for a basis of so many columns go on until it settles.

        A basis of more columns than third moments are collected in comes from a sample, whose noise is larger than what
        further passes gain; and on corpora so large that all their words are sampled, a pass costs as much as a sweep,
        which is worth it only if the number of topics depends on the basis.
        """
        if self.range_passes != AUTO or columns > FORMED_COLUMNS:
            return False
        return self.k == AUTO or not self.samples_all(words)

    def leading(self, columns: int) -> int:
        """How many columns of a basis hold topics, as far as it is known: half of them if k is not."""
        return max(columns // 2, 1) if self.k == AUTO else min(int(self.k), columns)

    @property
    def grows_basis(self) -> bool:
        """Whether the basis gets more columns where the number of topics, which is looked for, comes near theirs."""
        return self.k == AUTO and self.basis_size == AUTO and self.range_passes == AUTO

    def most_columns(self, vocab_size: int) -> int:
        """The most columns that a growing basis gets: where third moments must be collected, as many as are quick."""
        formed = self.collects_third(MOST_COLUMNS)
        return min(FORMED_COLUMNS - 1 if formed else MOST_COLUMNS, vocab_size)

    def range_passes_at_most(self, columns: int, words: int) -> int:
        """Passes that find a basis of so many columns: exactly as many as given, at most as many as it takes."""
        if self.range_passes != AUTO:
            return int(self.range_passes)
        return SETTLING_PASSES if self.settles_basis(columns, words) else RANGE_PASSES

    @property
    def printed(self) -> bool:
        """Whether moments become topics as the paper prints it."""
        return self.spectral_step == "printed"

    @property
    def overridden(self) -> dict[str, Any]:
        """The settings, by name, that were given and differ from what the preset sets."""
        values = {name: getattr(self, HDP[name].attribute) for name in PRESETS.get(self.preset or "", {})}
        return {name: value for name, value in values.items() if value != PRESETS[str(self.preset)][name]}

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

    @classmethod
    def chosen(cls, given: Mapping[str, Any], base: "FitSettings | None" = None) -> "FitSettings":
        """The settings that were given, by attribute, over those of their preset, over ``base`` or the defaults."""
        preset = PRESETS.get(given.get("preset") or "", {})
        values = {HDP[name].attribute: value for name, value in preset.items()} | dict(given)
        return replace(base or cls(), **values)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "FitSettings":
        """From a saved run report; keys of other versions are ignored."""
        known = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        known["seeds"] = seeds_of(known.get("seeds"))
        return cls(**known)
