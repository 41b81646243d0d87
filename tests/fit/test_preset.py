"""preset="paper": the published algorithm to the letter, what was given wins, and likelihoods in spite of zeros."""

from argparse import Namespace

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.cli.verbs import fit as fit_verb
from spectral_spark.data.settings import HDP, PRESETS
from spectral_spark.engine.documents import DocumentColumns
from spectral_spark.errors import SettingsError
from spectral_spark.evaluate.evaluation import ScoredTopics, evaluate_topics
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.solve.corrected_moments import corrected_moments
from spectral_spark.solve.printed import PRINTED
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.solve.whitening import whiten_unsigned

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}
COLUMNS = DocumentColumns(features=None, terms="terms", counts="counts", path="path", id="doc_id")


@pytest.fixture(scope="module")
def model(documents: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(k=5, preset="paper", layers=3, **ARRAYS).fit(documents)


def test_a_preset_sets_what_was_not_given() -> None:
    plain = SpectralHDP(preset="paper").fitSettings()
    assert {name: getattr(plain, HDP[name].attribute) for name in PRESETS["paper"]} == PRESETS["paper"]
    assert plain.overridden == {}
    given = SpectralHDP(preset="paper", solver="als", wordScaling=0.25).fitSettings()
    assert (given.solver, given.word_scaling, given.weighting) == ("als", 0.25, "uniform")
    assert given.overridden == {"solver": "als", "wordScaling": 0.25}
    assert SpectralHDP().fitSettings() == FitSettings()
    with pytest.raises(SettingsError, match="choose one of paper"):
        SpectralHDP(preset="papers")


def test_the_command_line_has_it_too() -> None:
    flags = {flag.attribute: None for flag in fit_verb.FLAGS} | {"preset": "paper", "solver": "sketch"}
    wanted = fit_verb.fit_settings(Namespace(**flags))
    assert (wanted.preset, wanted.solver, wanted.weighting, wanted.refines) == ("paper", "sketch", "uniform", False)


def test_topics_are_those_of_the_printed_algorithm(model: SpectralHDPModel) -> None:
    g, state = model.summary.concentrations, model.moments
    assert len(g) == 2                                                  # one for each layer: multi-layer coefficients
    alone = solve_state(state, 5, "power", state.coefficients(g), printed=True)
    order = np.argsort(-alone.weights, kind="stable")
    np.testing.assert_array_equal(model.topicsMatrix(), alone.topics[:, order])
    np.testing.assert_allclose(model.topicsMatrix().sum(axis=0), 1.0, rtol=1e-12)
    assert (model.topicsMatrix() == 0).any()                            # nothing is smoothed
    assert all(len(name.split(",")) == 2 or name.startswith("levels")
               for name in model.summary.refinement["concentration_scores"])


@pytest.mark.parametrize("solver", ["power", "als", "sketch"])
def test_each_of_its_three_solvers_is_the_printed_one(model: SpectralHDPModel, solver: str) -> None:
    """No cap, scaling, polish or smoothing: the topics are those of the raw moments, straight from the eigenvalues."""
    g, state = [7.0, 0.6], model.moments
    assert (state.cap, state.weighting) == (None, "uniform")
    assert np.ptp(state.basis.scale) == 0.0
    again = model.solveAgain(solver=solver, concentrations=g)
    moments = corrected_moments(state.root(), state.coefficients(g))
    whitening = whiten_unsigned(moments.second, 5)
    found = PRINTED[solver](moments.third_in(whitening.matrix), seed=0)
    lifted = state.basis.lift @ (whitening.dual @ found.vectors) * found.eigenvalues
    expected = np.maximum(lifted, 0.0) / np.maximum(lifted, 0.0).sum(axis=0)
    order = np.argsort(found.eigenvalues, kind="stable")                # the heaviest topic has the smallest one
    np.testing.assert_allclose(again.topicsMatrix(), expected[:, order], atol=1e-12)
    weights = found.eigenvalues[order] ** -2.0
    np.testing.assert_allclose(again.weights, weights / weights.sum(), rtol=1e-9)
    assert again.summary.solver == solver
    assert again.summary.concentrations == g


def test_the_summary_says_what_was_overridden(model: SpectralHDPModel) -> None:
    assert model.summary.preset == {"name": "paper", "overridden": {}}
    again = model.solveAgain(solver="als", concentrations=[7.0, 0.6])
    assert again.summary.preset["overridden"] == {"solver": "als"}
    assert again.summary.concentrations == [7.0, 0.6]
    assert "paper; overridden by solver=als" in repr(again.summary)


def test_documents_get_proportions_in_spite_of_zeros(model: SpectralHDPModel, documents: DataFrame) -> None:
    rows = model.transform(documents.limit(40)).select("topicDistribution").collect()
    theta = np.stack([row[0].toArray() for row in rows])
    assert np.isfinite(theta).all()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-9)


def test_no_word_is_skipped_in_the_loss(model: SpectralHDPModel, documents: DataFrame) -> None:
    scored, few = ScoredTopics.of_model(model.files), documents.limit(60)
    first = scored.topics.copy()
    first[:100] = 0.0                                                   # a hundred words that no topic has
    none = ScoredTopics(first / first.sum(axis=0), scored.weights, scored.paths, scored.proportions, 1.0)
    results = [evaluate_topics(few, documents, COLUMNS, one) for one in (scored, none)]
    assert results[0]["prior"]["smoothing"] == 0.01
    assert results[0]["prior"]["impossible_tokens"] == 0
    assert results[1]["prior"]["impossible_tokens"] > 0
    assert results[1]["tokens"] == results[0]["tokens"]
    assert np.isfinite(results[1]["loss"])
    assert results[1]["loss"] > results[0]["loss"]
