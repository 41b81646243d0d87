"""What a fit reports about itself."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from spectral_spark.fit.summary_view import (
    counts_text,
    html_view,
    levels_text,
    preset_text,
    seconds_text,
    seeds_text,
    text_view,
)


@dataclass(frozen=True, repr=False)
class FitSummary:
    """The run report, also ``summary.json`` of a saved model.

    Attributes
    ----------
    k, documents, terms, tokens : topics found; documents, distinct words and words they were found in.
    dropped : documents that could not be used, by reason.
    effective_sample_size : n_eff of the root under ``weighting``.
    bounds : bounds on the errors of the moments, δ = 0.05 (see ``solve.error_bounds``): given the groups, and for the
        root; and of topics and weights, or what these lack.
    concentrations : of the layers, top to documents: as given, or as learnt by refinement. One number is the
        documents' alone.
    spectral_concentrations : what the moments were read with.
    levels : what pairs of different documents say about the levels of groups, and where the documents' concentration
        comes from; empty without groups.
    preset : name of the preset, and the settings that were given and win over it; empty without one.
    sample : on a sample of the documents, the loss and the share of second-moment energy outside the basis.
    document_concentration : total Dirichlet weight of a document's prior, as used for inference.
    spectrum, noise_floor, rank_rule, rank_reason : the eigenvalues, and why k is what it is.
    residual, iterations, converged : of the solver.
    passes : name, seconds and documents of every pass over the data.
    seconds : where the time went.
    seeds : of topics that people gave words to: their numbers, and what the documents say (``fit.seed_report``).
    lineage : of a model whose topics were merged or split by hand, where every topic comes from: "3+7", "12a".
    """

    k: int
    documents: int
    terms: int
    tokens: int
    dropped: dict[str, int]
    effective_sample_size: float
    concentrations: list[float]
    weighting: str
    solver: str
    spectrum: list[float]
    residual: float
    passes: list[dict[str, Any]]
    seconds: dict[str, float]
    seed: int
    versions: dict[str, str]
    noise_floor: float | None = None
    rank_rule: str | None = None
    rank_reason: str | None = None
    iterations: int = 0
    converged: bool = True
    document_concentration: float | None = None
    bounds: dict[str, Any] = field(default_factory=dict)
    spectral_concentrations: list[float] = field(default_factory=list)
    sample: dict[str, float] = field(default_factory=dict)
    levels: dict[str, Any] = field(default_factory=dict)
    preset: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    refinement: dict[str, Any] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    basis: str | None = None
    seeds: dict[str, Any] = field(default_factory=dict)
    lineage: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def droppedDocuments(self) -> int:
        """Documents that could not be used, for whatever reason."""
        return sum(self.dropped.values())

    @property
    def totalSeconds(self) -> float:
        """How long the fit took; 0.0 where it was not measured."""
        return float(self.seconds.get("total", 0.0))

    @property
    def passNames(self) -> list[str]:
        """The passes over the documents, in order."""
        return [str(step["name"]) for step in self.passes]

    @property
    def warnings(self) -> list[str]:
        """What the fit warned of."""
        return list(self.extra.get("warnings", []))

    def _facts(self) -> list[tuple[str, str]]:
        loss = self.sample.get("loss")
        facts = [
            ("topics", f"{self.k}" + (f" ({self.rank_reason})" if self.rank_reason else "")),
            ("documents", f"{self.documents:,} used; dropped: {counts_text(self.dropped)}"),
            ("words", f"{self.tokens:,}, of which {self.terms:,} are distinct"),
            ("effective sample size", f"{self.effective_sample_size:,.0f} ({self.weighting} weighting)"),
            ("concentrations", ", ".join(f"{value:.3g}" for value in self.concentrations) or "none"),
            ("solver", f"{self.solver}, residual {self.residual:.3g}" + ("" if self.converged else ", not converged")),
            ("passes", ", ".join(self.passNames) or "none"),
            ("time", seconds_text(self.seconds)),
            ("seed", str(self.seed)),
        ]
        if self.preset:
            facts.insert(5, ("preset", preset_text(self.preset)))
        if self.levels:
            facts.insert(5, ("levels, from pairs of documents", levels_text(self.levels)))
        if self.seeds:
            facts.insert(1, ("seeds", seeds_text(self.seeds)))
        if loss is not None:
            facts.insert(3, ("loss on a sample", f"{loss:.4f} nats per word"))
        return facts + [("warning", warning) for warning in self.warnings]

    def __repr__(self) -> str:
        return text_view("FitSummary", self._facts())

    def _repr_html_(self) -> str:
        return html_view("FitSummary", self._facts())

    def toDict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def toJson(self) -> str:
        return json.dumps(self.toDict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def fromDict(cls, values: dict[str, Any]) -> "FitSummary":
        """From ``summary.json``; keys that this version does not know are kept in ``extra``."""
        known = {f.name for f in dataclasses.fields(cls)}
        extra = {**values.get("extra", {}), **{key: value for key, value in values.items() if key not in known}}
        return cls(**{key: value for key, value in values.items() if key in known and key != "extra"}, extra=extra)
