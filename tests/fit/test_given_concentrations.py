"""Sampling and refinement keep the concentrations that were given, and learn the others."""

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.fit import fit_settings, gibbs_step
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.gibbs_step import start_concentrations
from spectral_spark.refine.refine_state import initial_concentrations

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}


def fit(documents: DataFrame, given: list[float] | str, **more: object) -> SpectralHDPModel:
    settings = {"k": 5, "refinePasses": 1, "concentrations": given, **ARRAYS, **more}
    return SpectralHDP(**settings).fit(documents)


@pytest.mark.parametrize(("layers", "sweeps", "given"), [
    (3, 0, [7.0, 0.6]), (4, 20, [9.0, 5.0, 0.6]), (4, 0, [9.0, 5.0, 0.6]),
])
def test_refinement_keeps_all_given_numbers(
    documents: DataFrame, layers: int, sweeps: int, given: list[float]
) -> None:
    model = fit(documents, given, layers=layers, exploreSweeps=sweeps)
    assert model.summary.concentrations == given
    assert model.summary.spectral_concentrations == given
    assert model.documentConcentration == given[-1]


@pytest.mark.parametrize("given", [[9.0, 5.0, 0.6], [0.6]])
def test_sweeps_over_all_words_keep_them_too(
    documents: DataFrame, monkeypatch: pytest.MonkeyPatch, given: list[float]
) -> None:
    for module in (gibbs_step, fit_settings):
        monkeypatch.setattr(module, "SAMPLE_WORDS", 30_000)
    model = fit(documents, given, exploreSweeps=4, refinePasses="auto")
    assert "sampling all" in model.summary.passNames
    assert model.summary.concentrations[-len(given):] == given
    assert len(model.summary.concentrations) == 3
    assert model.documentConcentration == given[-1]


def test_one_number_is_the_documents_and_the_levels_are_learnt(documents: DataFrame) -> None:
    model = fit(documents, [0.6], exploreSweeps=10)
    *levels, last = model.summary.concentrations
    assert (last, model.documentConcentration) == (0.6, 0.6)
    assert len(levels) == 2
    assert not np.isclose(levels, initial_concentrations(2)[:-1]).any()


def test_automatic_ones_are_learnt(documents: DataFrame) -> None:
    summary = fit(documents, "auto", exploreSweeps=10).summary
    assert not np.isclose(summary.concentrations, initial_concentrations(2)).any()
    assert summary.refinement["concentrations_chosen"] == "groups 0.3"         # the start knows the tree


def test_given_numbers_change_the_refinement(documents: DataFrame) -> None:
    one, other = (fit(documents, [9.0, 5.0, g], exploreSweeps=0).topicsMatrix() for g in (0.3, 30.0))
    assert np.abs(one - other).sum(axis=0).max() > 0.01


def test_an_update_keeps_them(documents: DataFrame) -> None:
    given = [9.0, 5.0, 0.6]
    new = documents.filter("path[0] = 'a'").limit(300)          # without the deepest level of the tree
    model = fit(documents.join(new, "doc_id", "left_anti"), given, exploreSweeps=5).update(new)
    assert model.summary.concentrations == given
    assert model.documentConcentration == given[-1]


def test_a_shallow_tree_takes_the_upper_levels_and_the_documents() -> None:
    settings = FitSettings(concentrations=(9.0, 5.0, 0.6))
    assert start_concentrations(settings, 2).tolist() == [9.0, 5.0, 0.6]
    assert start_concentrations(settings, 1).tolist() == [9.0, 0.6]
    assert start_concentrations(settings, 0).tolist() == [0.6]
    assert start_concentrations(FitSettings(), 2).tolist() == initial_concentrations(2).tolist()
