"""From moments to topics: rank, whitening, decomposition and reconstruction, on the driver."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.coefficients import HDPCoefficients, hdp_coefficients
from spectral_spark.moments.group_moments import GroupAverages
from spectral_spark.moments.pair_moments import PairMoments
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.moments.third_sample import ThirdSample
from spectral_spark.moments.third_sketch import SampleSketches, SketchSource
from spectral_spark.solve.concentrations import as_concentrations, calibrated_concentration, two_layers
from spectral_spark.solve.corrected_moments import CorrectedMoments, check_moments, corrected_moments
from spectral_spark.solve.document_noise import DocumentNoise
from spectral_spark.solve.group_tensors import group_corrected_moments
from spectral_spark.solve.implicit import sampled_moments
from spectral_spark.solve.level_concentrations import LevelRatios, level_ratios
from spectral_spark.solve.rank import RankChoice, RankEvidence, choose_rank, given_rank
from spectral_spark.solve.reconstruct import (
    VANISHING_SUM,
    first_order_weights,
    lifted_topics,
    printed_topics,
    third_order_weights,
)
from spectral_spark.solve.sketch import sketched_moments
from spectral_spark.solve.solvers import solve_tensor, solver_for
from spectral_spark.solve.tensor_decomposition import TensorDecomposition
from spectral_spark.solve.topic_solution import TopicSolution
from spectral_spark.solve.whitening import Whitening, check_k, whiten, whiten_unsigned

log = logging.getLogger(__name__)

Halves = tuple[ProjectedMoments, ProjectedMoments]
UNCALIBRATED = 0.3          # the documents' concentration where the moments cannot tell: small is right for text
EXACT = 1e-3                # relative residual of a tensor whose moments are as good as exact
Concentrations = float | Sequence[float] | HDPCoefficients | str


def solve_topics(
    moments: ProjectedMoments,
    halves: Halves | None,
    lift: np.ndarray,
    mean_words: np.ndarray,
    k: int | str = "auto",
    concentrations: Concentrations = (1.0,),
    solver: str = "polar",
    rank_rule: str = "noise-floor",
    seed: int = 0,
    *,
    scale: np.ndarray | None = None,
    document_noise: DocumentNoise | None = None,
    groups: GroupAverages | None = None,
    pairs: PairMoments | None = None,
    sample: ThirdSample | None = None,
    sketches: SketchSource | None = None,
    max_k: int | None = None,
    solver_options: Mapping[str, Any] | None = None,
    printed: bool = False,
) -> TopicSolution:
    """Topics from moments: concentrations, rank, whitening, decomposition, reconstruction.

    Parameters
    ----------
    moments : first three moments in a basis of p columns.
    halves : moments of two half samples in the same basis; the noise floor comes from them.
    lift : array of shape (d, p), from the basis back to words.
    mean_words : array of shape (d,), M1.
    k : number of topics, or "auto" for the rank rule.
    concentrations : g_1 … g_{L−1} from the root's children down to the documents; "calibrated" for those found from
        the moments, of the documents alone without ``pairs``; "auto" for these where the moments are as good as exact,
        and a small number for the documents elsewhere; or coefficients made elsewhere (unequal depth, per-node
        concentrations).
    solver : "auto", "polar", "power", "als", "sketch" or "implicit"; ``solver_options`` are passed on.
    rank_rule : "noise-floor", "gap" or "paper".
    scale : array of shape (d,), the word scaling of the basis; sharpens the noise floor.
    document_noise : the noise of each document; raises the floor if a few heavy documents dominate.
    groups : averages over groups. If given, tensors are taken per group and averaged, and only the documents'
        concentration (the last one given) is used.
    pairs : moments of pairs of documents, which tell the levels of the tree apart. Not used with ``groups``.
    sample : documents whose third moment is taken if ``moments`` has none; needs ``scale``.
    sketches : documents to be sketched by solver "sketch" if ``moments`` has no third moment; the sample by default.
    max_k : the most topics "auto" may choose.
    printed : whiten, decompose and reconstruct as the paper prints it (formulas §19).
    """
    solver = solver_for(solver, moments.third is not None)
    _check_input(moments, halves, lift, mean_words)
    if moments.third is None and (sample is None or scale is None):
        raise InputError("these moments have no third moment, so solving needs a sample of the documents, and there is "
                         "none; fit again with `replayWords` above 0, which keeps one with the model")
    if solver == "sketch" and moments.third is None and sketches is None and sample is not None:
        sketches = SampleSketches(sample)
    problem = _Problem(
        moments, halves, lift, mean_words, k, rank_rule, scale, document_noise, groups, pairs, sample, max_k, printed,
        sketches if solver == "sketch" else None, seed,
    )
    with threadpool_limits(1):
        if concentrations != "auto":
            return _solved(problem, concentrations, solver, seed, solver_options or {})
        try:
            found = _solved(problem, "calibrated", solver, seed, solver_options or {})
            if found.decomposition.residual < EXACT:
                return found
        except InputError:
            log.debug("the moments cannot be calibrated; the usual concentration is used")
        return _solved(problem, UNCALIBRATED, solver, seed, solver_options or {})


def _solved(
    problem: "_Problem", concentrations: Concentrations, solver: str, seed: int, options: Mapping[str, Any]
) -> TopicSolution:
    numbers, coefficients, choice, notes = _read(problem, concentrations, seed)
    corrected = problem.corrected(coefficients)
    choice = choice or problem.rank(corrected)
    whitening = (whiten_unsigned if problem.printed else whiten)(corrected.second, choice.k)
    negative = int((whitening.spectrum[: choice.k] < 0).sum())
    if negative:
        notes += (f"{negative} of the {choice.k} largest singular values of the second moment belong to negative "
                  "eigenvalues, which no topics have",)
    tensor = corrected.third_in(whitening.matrix)
    found = solve_tensor(tensor, solver, seed, printed=problem.printed, **options)
    if not found.converged:
        notes += (f"solver {solver} did not converge in {found.iterations} iterations",)
        log.warning("%s", notes[-1])
    return _reconstructed(problem, corrected, numbers, choice, whitening, found, notes)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The arguments of ``solve_topics`` that rank and correction look at."""

    moments: ProjectedMoments
    halves: Halves | None
    lift: np.ndarray
    mean_words: np.ndarray
    k: int | str
    rank_rule: str
    scale: np.ndarray | None
    document_noise: DocumentNoise | None
    groups: GroupAverages | None
    pairs: PairMoments | None
    sample: ThirdSample | None
    max_k: int | None
    printed: bool
    sketches: SketchSource | None
    seed: int

    def corrected(self, coefficients: HDPCoefficients) -> CorrectedMoments:
        if self.moments.third is None and self.sample is not None and self.scale is not None:
            projection = self.lift * (self.scale**2)[:, None]
            if self.sketches is not None:
                return sketched_moments(self.moments, self.sketches, projection, coefficients, self.seed)
            return sampled_moments(self.moments, self.sample, projection, coefficients)
        if self.groups is None:
            return corrected_moments(self.moments, coefficients)
        return group_corrected_moments(self.moments, self.groups, coefficients)

    def levels(self, k: int) -> LevelRatios | None:
        return level_ratios(self.pairs, k) if self.pairs is not None and self.groups is None else None

    def rank(self, corrected: CorrectedMoments) -> RankChoice:
        if isinstance(self.k, str) and self.k != "auto":
            raise SettingsError(f"k: {self.k!r} is neither a number of topics nor 'auto'")
        evidence = RankEvidence(
            self.moments, self.halves, corrected.second, corrected.coefficients, self.lift, self.mean_words, self.scale,
            self.document_noise,
        )
        if not isinstance(self.k, str):
            check_k(self.k, len(self.moments.first))
            return given_rank(int(self.k), evidence)
        choice = choose_rank(self.rank_rule, evidence)
        if self.max_k is not None and choice.k > self.max_k:
            return replace(choice, k=self.max_k, reason=f"{choice.reason}; limited to {self.max_k}")
        return choice


def _read(
    problem: _Problem, concentrations: Concentrations, seed: int
) -> tuple[tuple[float, ...] | None, HDPCoefficients, RankChoice | None, tuple[str, ...]]:
    """The concentrations as numbers and as coefficients, the rank if calibration needed it, and notes."""
    if isinstance(concentrations, HDPCoefficients):
        return None, concentrations, None, ()
    if not isinstance(concentrations, str):
        numbers = as_concentrations(concentrations)
        return numbers, hdp_coefficients(numbers if problem.groups is None else numbers[-1:]), None, ()
    if concentrations != "calibrated":
        raise SettingsError(f"concentrations: {concentrations!r} is unknown; pass numbers, 'auto' or 'calibrated'")
    choice = problem.rank(problem.corrected(hdp_coefficients([1.0])))
    levels = problem.levels(choice.k)
    family = two_layers if levels is None else levels.coefficients
    g = calibrated_concentration(problem.corrected, choice.k, seed, family=family)
    notes = (f"calibration ended at its bound, {g.concentration:g}",) if g.at_bound else ()
    numbers = (g.concentration,) if levels is None else levels.concentrations(g.concentration)
    return numbers, family(g.concentration), choice, notes


def _reconstructed(
    problem: _Problem,
    corrected: CorrectedMoments,
    numbers: tuple[float, ...] | None,
    choice: RankChoice,
    whitening: Whitening,
    found: TensorDecomposition,
    notes: tuple[str, ...],
) -> TopicSolution:
    c = corrected.coefficients
    weights = third_order_weights(found.eigenvalues, c.kappa) if problem.printed else (
        first_order_weights(corrected.first, whitening, found.vectors)
    )
    order = np.argsort(-weights, kind="stable")
    found = replace(found, eigenvalues=found.eigenvalues[order], vectors=found.vectors[:, order])
    columns = whitening.dual @ found.vectors
    if problem.printed:
        scale = np.maximum(found.eigenvalues, VANISHING_SUM * found.eigenvalues.max()) * c.c3 / c.c6
        topics, sums = printed_topics(problem.lift, columns, scale), 1.0 / scale
    else:
        topics, sums = lifted_topics(problem.lift, columns)
    return TopicSolution(
        topics, weights[order], found, choice, c, numbers, whitening, sums, notes, problem.groups is not None
    )


def _check_input(moments: ProjectedMoments, halves: Halves | None, lift: np.ndarray, mean_words: np.ndarray) -> None:
    check_moments(moments)
    for number, half in enumerate(halves or (), start=1):
        check_moments(half, f"moments of half {number}")
    p = len(moments.first)
    if lift.ndim != 2 or lift.shape[1] != p:
        raise InputError(f"lift: shape {lift.shape} is not (words, {p}); use the basis the moments were collected in")
    if mean_words.shape != (len(lift),):
        raise InputError(f"mean words: shape {mean_words.shape} is not ({len(lift)},); use the same vocabulary")
    for name, array in (("lift", lift), ("mean words", mean_words)):
        if not np.isfinite(array).all():
            raise InputError(f"{name}: some entries are not finite; make the basis again from finite moments")
    if not (mean_words > 0).any():
        raise InputError("mean words: no word occurs; use the mean of the corpus the moments were collected from")
