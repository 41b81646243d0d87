"""What a fit of features reports about itself."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from spectral_spark.fit.summary_view import html_view, seconds_text, text_view


@dataclass(frozen=True, repr=False)
class IbpSummary:
    """The run report, also ``summary.json`` of a saved model.

    Attributes
    ----------
    kind, k, rows, columns : the model, features found, rows and columns they were found in.
    missing_values, columns_with_missing : how many values were missing, and in how many columns.
    noise_variance : σ².
    spectrum, trace, noise_edge, rank_rule : leading eigenvalues of the covariance, their whole sum, the eigenvalue a
        feature had to exceed, and why k is what it is.
    third_eigenvalues, fourth_eigenvalues : λ3 and λ4 of the whitened cumulants, in the solver's order.
    residual : share of the squared norm of the whitened cumulants that the features leave unexplained.
    probabilities : π, and what it would be from the mean and from the eigenvalues, in the order of the columns.
    offset, offset_misfit : whether the mean was left to an offset, and how much it contradicted the third moment.
    unidentified : always-on Gaussian factors that are known only as a subspace.
    passes : name, seconds and rows of every pass over the data.
    seconds : where the time went.
    concentration : α̂ = K / H_N of the Indian Buffet Process; None for models of version 0.1.0, as for those below.
    log_prior : log p(Z | α̂) of codes with the counts that the model expects, natural logarithm.
    kurtosis : that of the sources, as given or estimated; None for binary features.
    basis_size : directions in which third and fourth moments are kept.
    sources : fingerprints of the sets of rows that were added, and marks of those that were removed.
    input : where the command line found the vectors: ``columns`` of a wide table, and entries that it ``dropped``.
    warnings : what the user should know.
    """

    kind: str
    k: int
    rows: int
    columns: int
    missing_values: int
    columns_with_missing: int
    noise_variance: float
    spectrum: list[float]
    trace: float
    noise_edge: float
    rank_rule: str
    solver: str
    third_eigenvalues: list[float]
    fourth_eigenvalues: list[float]
    residual: float
    probabilities: list[float]
    probabilities_from_mean: list[float] | None
    probabilities_from_eigenvalues: list[float]
    offset: str
    offset_misfit: float
    unidentified: int
    passes: list[dict[str, Any]]
    seconds: dict[str, float]
    seed: int
    versions: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    concentration: float | None = None
    log_prior: float | None = None
    kurtosis: float | None = None
    basis_size: int | None = None
    sources: list[str] = field(default_factory=list)
    input: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def totalSeconds(self) -> float:
        """How long the fit took; 0.0 where it was not measured."""
        return float(self.seconds.get("total", 0.0))

    @property
    def passNames(self) -> list[str]:
        """The passes over the rows, in order."""
        return [str(step["name"]) for step in self.passes]

    def _facts(self) -> list[tuple[str, str]]:
        missing = f"{self.missing_values:,} missing values in {self.columns_with_missing:,} columns"
        return [
            ("features", f"{self.k} ({self.rank_rule})"),
            ("rows", f"{self.rows:,} with {self.columns:,} columns; {missing}"),
            ("noise variance", f"{self.noise_variance:.4g}"),
            ("probabilities", ", ".join(f"{value:.3f}" for value in self.probabilities)),
            *self._prior_facts(),
            ("solver", f"{self.solver}, residual {self.residual:.3g}"),
            ("offset", self.offset),
            ("passes", ", ".join(self.passNames) or "none"),
            ("time", seconds_text(self.seconds)),
            ("seed", str(self.seed)),
        ]

    def _prior_facts(self) -> list[tuple[str, str]]:
        facts = []
        if self.concentration is not None and self.log_prior is not None:
            facts.append(("buffet process", f"α {self.concentration:.4g}, log p(Z) {self.log_prior:,.1f}"))
        if self.kurtosis is not None:
            facts.append(("kurtosis", f"{self.kurtosis:.4g} of the sources"))
        return facts

    def __repr__(self) -> str:
        return text_view(f"IbpSummary ({self.kind})", self._facts())

    def _repr_html_(self) -> str:
        return html_view(f"IbpSummary ({self.kind})", self._facts())

    def toDict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def toJson(self) -> str:
        return json.dumps(self.toDict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def fromDict(cls, values: dict[str, Any]) -> "IbpSummary":
        """From ``summary.json``; keys that this version does not know are left out."""
        known = {f.name for f in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in known})
