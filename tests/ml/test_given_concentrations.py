"""Concentrations that were given are shown, used for reading the moments and for documents, and kept when saved."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solve_state import solve_state

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}
GIVEN = {2: [0.6], 3: [7.0, 0.6], 4: [9.0, 5.0, 0.6]}


@pytest.fixture(scope="module", params=GIVEN)
def spectral(request: pytest.FixtureRequest, documents: DataFrame) -> tuple[SpectralHDPModel, list[float]]:
    """A spectral model of the tree cut to 2 to 4 layers, and the numbers it was given."""
    given = GIVEN[request.param]
    model = SpectralHDP(k=5, refinePasses=0, layers=request.param, concentrations=given, **ARRAYS).fit(documents)
    return model, given


def test_the_summary_says_what_was_given(spectral: tuple[SpectralHDPModel, list[float]]) -> None:
    model, given = spectral
    assert model.summary.concentrations == given
    assert model.summary.spectral_concentrations == given
    assert model.documentConcentration == given[-1]
    assert model.summary.document_concentration == given[-1]


def test_the_moments_are_read_with_all_of_them(spectral: tuple[SpectralHDPModel, list[float]]) -> None:
    model, given = spectral
    state = model.moments
    alone = solve_state(state, 5, "polar", state.coefficients(given))
    np.testing.assert_array_equal(model.topicsMatrix(), smoothed_topics(alone.topics, state.mean_words()))


def test_they_survive_saving(spectral: tuple[SpectralHDPModel, list[float]], tmp_path: Path) -> None:
    model, given = spectral
    model.save(str(tmp_path / "model"))
    again = SpectralHDPModel.load(str(tmp_path / "model"))
    assert again.summary.concentrations == given
    assert again.documentConcentration == given[-1]


def test_documents_are_inferred_with_the_last_one(documents: DataFrame) -> None:
    few = documents.limit(50)
    weak, strong = (
        SpectralHDP(k=5, refinePasses=0, concentrations=[5.0, 5.0, g], **ARRAYS).fit(documents) for g in (0.5, 50.0)
    )
    one, other = (np.stack([row[0].toArray() for row in model.transform(few).select(
        "topicDistribution").collect()]) for model in (weak, strong))
    assert one.var(axis=0).sum() > 2.0 * other.var(axis=0).sum()        # a strong prior pulls documents together


def test_solving_again_takes_new_ones(spectral: tuple[SpectralHDPModel, list[float]]) -> None:
    model, given = spectral
    doubled = [2.0 * g for g in given]
    again = model.solveAgain(concentrations=doubled)
    assert again.summary.concentrations == doubled
    assert again.documentConcentration == doubled[-1]
