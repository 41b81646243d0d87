"""The basis follows the data: passes until it settles, and more columns where more topics are found."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.fit import fit_settings
from spectral_spark.fit.fit_settings import SETTLING_PASSES, FitSettings
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from tests.simulated_documents import corpus_frame

COLUMNS: dict[str, Any] = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id", "vocabSize": 240}
TOPICS = 24


@pytest.fixture(scope="module")
def many(spark: SparkSession) -> DataFrame:
    """24 topics, more than a basis of 16 columns can show."""
    return corpus_frame(spark, simulate_hdp(random_topics(240, TOPICS, 1), 4000, [0.5], 50, seed=2)).cache()


@pytest.fixture(scope="module")
def grown(many: DataFrame) -> SpectralHDPModel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_settings, "AUTO_BASIS", 16)
        return SpectralHDP(k="auto", refinePasses=0, concentrations=[0.5], **COLUMNS).fit(many)


def test_the_basis_grows_until_all_topics_are_counted(grown: SpectralHDPModel) -> None:
    assert abs(grown.k - TOPICS) <= 1
    assert grown.basis.size >= 32
    names = grown.summary.passNames
    assert [name for name in names if name.startswith("rank")] == ["rank 16", "rank 32", "rank 64"]
    assert names.index("rank 64") < names.index("moments")


def test_more_topics_than_stand_out_are_remarked_with_numbers(grown: SpectralHDPModel) -> None:
    (said,) = grown.solveAgain(k=40).summary.warnings
    above = int(said.split("but only ")[1].split()[0])
    assert said.startswith("40 topics were asked for")
    assert abs(above - TOPICS) <= 2
    assert not grown.solveAgain(k=TOPICS - 4).summary.warnings


def test_a_basis_of_a_given_size_stays_as_it_is(many: DataFrame) -> None:
    fixed = SpectralHDP(k="auto", basisSize=16, refinePasses=0, concentrations=[0.5], **COLUMNS).fit(many)
    assert fixed.k < 18
    assert not any(name.startswith("rank") for name in fixed.summary.passNames)


def test_passes_stop_when_the_basis_has_settled(many: DataFrame) -> None:
    model = SpectralHDP(k=TOPICS, refinePasses=0, concentrations=[0.5], **COLUMNS).fit(many)
    passes = sum(name.startswith("range") for name in model.summary.passNames)
    assert 2 < passes <= SETTLING_PASSES
    asked = SpectralHDP(k=TOPICS, refinePasses=0, concentrations=[0.5], rangePasses=1, **COLUMNS).fit(many)
    assert sum(name.startswith("range") for name in asked.summary.passNames) == 1


@pytest.mark.parametrize(("given", "words", "passes"), [
    ({"k": 50}, 10**6, {"basis": SETTLING_PASSES}),
    ({"k": 50}, 10**7, {"basis": 2}),                               # a pass is worth a sweep over all words
    ({"k": 50, "refine_passes": 0}, 10**7, {"basis": SETTLING_PASSES}),
    ({"k": 300}, 10**6, {"basis": 2}),                              # the basis comes from a sample
    ({"k": 50, "range_passes": 3}, 10**6, {"basis": 3}),
    ({"k": "auto"}, 10**6, {"basis": SETTLING_PASSES, "rank": 1}),
    ({"k": "auto"}, 10**7, {"basis": SETTLING_PASSES, "rank": 1}),
    ({"k": "auto", "basis_size": 64}, 10**6, {"basis": SETTLING_PASSES}),
])
def test_planned_passes(given: dict[str, Any], words: int, passes: dict[str, int]) -> None:
    planned = planned_passes(FitSettings(**given), 10_000, words)
    assert {name: number for name, number in planned.items() if name in ("basis", "rank")} == passes
