"""The results of a fit: topics as they pass from step to step, and the model put together from them."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow
import pyspark
import scipy

from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_summary import FitSummary
from spectral_spark.fit.planned_passes import AGREED, CALIBRATED
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.known_documents import KnownDocuments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.refine.seed_prior import SeedPrior
from spectral_spark.solve.error_bounds import error_bounds
from spectral_spark.solve.level_concentrations import level_ratios
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.version import __version__

DELTA = 0.05


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics with their weights, proportions and concentrations, as they pass from step to step.

    Attributes
    ----------
    topics : array of shape (d, k), positive, columns sum to one.
    weights : array of shape (k,), sums to one; shares of the words, each as often as its document counted.
    node_proportions : array of shape (nodes, k), rows sum to one.
    concentrations : of the layers below the root, the documents' last.
    document_concentration : the documents' total prior.
    report : facts about the refinement, for the run report.
    seeds : words that people gave to the first topics; None without any.
    evidence : array of shape (words, k), how often documents use the listed words of the seeds in every topic.
    stability : array of shape (k,), the probability that a topic comes back from another seed; None if unknown.
    """

    topics: np.ndarray
    weights: np.ndarray
    node_proportions: np.ndarray
    concentrations: tuple[float, ...]
    document_concentration: float
    report: dict[str, Any] = field(default_factory=dict)
    seeds: SeedPrior | None = None
    evidence: np.ndarray | None = None
    stability: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """What a fit found.

    Attributes
    ----------
    topics : array of shape (d, k), positive, columns sum to one, heaviest topic first.
    weights : array of shape (k,), sums to one; shares of the words, each as often as its document counted.
    vocabulary : the words, or None.
    nodes : the tree with its proportions.
    summary : the run report.
    moments : the additive summary of the corpus; None in a model that was saved without it.
    document_concentration : total Dirichlet weight of a document's prior.
    changes : how topics moved in an update, or None.
    known : which documents are in the moments; None in a model of version 0.1.0.
    sample : documents that stand for all of them in updates, or None.
    labels : names that people gave to topics, by the topic's number.
    taxonomy : the topics folded into a tree (``files.taxonomy_file``), or None.
    stability : array of shape (k,), the probability that a topic comes back from another seed; None if unknown.
    """

    topics: np.ndarray
    weights: np.ndarray
    vocabulary: tuple[str, ...] | None
    nodes: NodeTable
    summary: FitSummary
    moments: MomentState | None
    document_concentration: float
    changes: dict[str, Any] | None = None
    known: KnownDocuments | None = None
    sample: KeptSample | None = None
    labels: Mapping[int, str] = field(default_factory=dict)
    taxonomy: Mapping[str, Any] | None = None
    stability: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.stability is not None and len(self.stability) != self.topics.shape[1]:
            object.__setattr__(self, "stability", None)          # other topics than those it was found for

    @classmethod
    def from_files(
        cls, files: TopicModelFiles, moments: MomentState | None, known: KnownDocuments | None = None,
        sample: KeptSample | None = None,
    ) -> "FittedTopics":
        summary = FitSummary.fromDict(files.summary)
        return cls(
            files.topics, files.weights, files.vocabulary, files.nodes, summary, moments,
            float(summary.document_concentration or 1.0), files.changes, known, sample, files.labels,
            files.taxonomy, files.stability,
        )


def fitted_topics(
    topics: Topics, moments: MomentState, summary: FitSummary, vocabulary: tuple[str, ...] | None, *,
    order: np.ndarray | None = None,
) -> FittedTopics:
    """Put together what a fit returns; topics in the given order, or the heaviest first."""
    order = np.argsort(-topics.weights, kind="stable") if order is None else order
    census = moments.census
    nodes = NodeTable(
        census.tree.paths, census.documents_below,
        moments.weights.effective_sample_size,
        np.ascontiguousarray(topics.node_proportions[:, order]),
    )
    return FittedTopics(
        np.ascontiguousarray(topics.topics[:, order]), topics.weights[order], vocabulary, nodes, summary, moments,
        topics.document_concentration, stability=None if topics.stability is None else topics.stability[order],
    )


def make_summary(
    settings: FitSettings, moments: MomentState, solution: TopicSolution, topics: Topics, run: FitRun,
    dropped: dict[str, int], tokens: int,
) -> FitSummary:
    """The run report."""
    n_eff = moments.effective_sample_size
    rank = solution.rank
    return FitSummary(
        k=int(topics.topics.shape[1]), documents=int(moments.census.documents.sum()), terms=len(topics.topics),
        tokens=int(tokens), dropped=dict(dropped), effective_sample_size=n_eff,
        concentrations=[float(g) for g in topics.concentrations], weighting=settings.weighting,
        solver=solution.decomposition.solver,
        spectrum=[float(value) for value in rank.spectrum], residual=float(solution.decomposition.residual),
        passes=[dict(finished) for finished in run.passes],
        seconds=dict(run.seconds), seed=settings.seed, versions=versions(),
        noise_floor=None if rank.noise_floor is None else float(rank.noise_floor), rank_rule=rank.rule,
        rank_reason=rank.reason, iterations=int(solution.decomposition.iterations),
        converged=bool(solution.decomposition.converged), document_concentration=topics.document_concentration,
        bounds=error_bounds(moments, solution, DELTA),
        settings=settings.as_dict(), refinement=topics.report, sources=list(moments.sources),
        basis=moments.basis.fingerprint, spectral_concentrations=[float(g) for g in solution.concentrations or ()],
        extra={"third_moments": "all documents" if moments.has_third else "a sample of the documents",
               **({"warnings": list(run.warnings)} if run.warnings else {})},
        levels=level_report(settings, moments, solution, topics), preset=_preset(settings),
    )


def _preset(settings: FitSettings) -> dict[str, Any]:
    """What a preset set, and what was given instead."""
    return {"name": settings.preset, "overridden": settings.overridden} if settings.preset else {}


def level_report(
    settings: FitSettings, moments: MomentState, solution: TopicSolution, topics: Topics
) -> dict[str, Any]:
    """The concentrations of the levels of groups that pairs of documents suggest, with their standard errors.

    They depend on the documents' concentration, which the pairs leave open: it is the one that refinement learnt or,
    without refinement, the one that the moments were read with. The report says where it comes from.
    """
    pairs = moments.pairs()
    ratios = level_ratios(pairs, solution.k) if pairs is not None else None
    if ratios is None:
        return {}
    learnt = settings.refines or not solution.concentrations
    g = topics.document_concentration if learnt else float((solution.concentrations or ())[-1])
    errors, of_ratios = ratios.concentration_errors(g), ratios.errors
    return {
        "concentrations": list(ratios.concentrations(g)), "errors": None if errors is None else list(errors),
        "ratios": [float(r) for r in ratios.ratios],
        "ratio_errors": None if of_ratios is None else [float(error) for error in of_ratios],
        "documents_from": _documents_from(settings, topics),
    }


def _documents_from(settings: FitSettings, topics: Topics) -> str:
    if settings.given_concentrations:
        return "given"
    if settings.refines and "concentration_scores" not in topics.report:
        return "refinement"
    chosen, scored = topics.report.get("concentrations_chosen", ""), "concentration_scores" in topics.report
    if settings.concentrations == CALIBRATED or (chosen.endswith(CALIBRATED) and not scored):
        return CALIBRATED
    if chosen == AGREED:
        return "agreement of the groups"
    return "held-out documents" if scored else "usual"


def versions() -> dict[str, str]:
    """Of what the result may depend on."""
    return {
        "spectral_spark": __version__, "python": platform.python_version(), "spark": pyspark.__version__,
        "numpy": np.__version__, "scipy": scipy.__version__, "pyarrow": pyarrow.__version__,
    }
