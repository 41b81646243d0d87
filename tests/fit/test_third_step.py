"""Fits without third moments take a sample of the documents: solved again, updated and merged with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.errors import CapacityError, InputError, SettingsError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.ingest.simulate import SimulatedCorpus

COLUMNS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}
PLAIN = {"k": 5, "refinePasses": 0, "concentrations": [0.5], "solver": "implicit", **COLUMNS}


@pytest.fixture(scope="module")
def half(documents: DataFrame) -> DataFrame:
    return documents.filter(F.crc32(F.col("doc_id").cast("string")) % 2 == 0)


@pytest.fixture(scope="module")
def first(half: DataFrame) -> SpectralHDPModel:
    return SpectralHDP(**PLAIN).fit(half)


def test_the_topics_are_those_of_the_collected_third_moment(
    first: SpectralHDPModel, half: DataFrame, simulated: SimulatedCorpus
) -> None:
    collected = SpectralHDP(**{**PLAIN, "solver": "auto"}).setBasis(first.basis).fit(half)
    assert (first.summary.solver, collected.summary.solver) == ("implicit", "polar")
    assert not first.moments.has_third
    errors = [recovery(model.topicsMatrix(), simulated.topics).error for model in (first, collected)]
    assert errors[0] < errors[1] + 0.01


def test_it_is_solved_again_from_the_sample(first: SpectralHDPModel) -> None:
    same = first.solveAgain()
    assert same.topicsMatrix().tobytes() == first.topicsMatrix().tobytes()
    assert first.solveAgain(k=4).k == 4
    with pytest.raises(InputError, match=r"solver power needs the third moment.*fit again with `solver=power`"):
        first.solveAgain(solver="power")


def test_it_is_updated_merged_and_saved(
    first: SpectralHDPModel, half: DataFrame, documents: DataFrame, tmp_path: Path
) -> None:
    rest = documents.subtract(half)
    updated = first.update(rest)
    other = SpectralHDP(**PLAIN).setBasis(first.basis).fit(rest)
    merged = first.merge(other)
    assert updated.summary.documents == merged.summary.documents == documents.count()
    assert updated.moments.difference(merged.moments) < 1e-12
    merged.save(str(tmp_path / "model"))
    loaded = SpectralHDPModel.load(str(tmp_path / "model"))
    assert loaded.moments == merged.moments
    assert loaded.solveAgain(k=3).k == 3


def test_without_a_sample_it_says_what_it_cannot_do(half: DataFrame, first: SpectralHDPModel) -> None:
    bare = SpectralHDP(**PLAIN, replayWords=0).setBasis(first.basis).fit(half)
    for call in (bare.solveAgain, lambda: bare.update(half), lambda: first.merge(bare)):
        with pytest.raises(InputError, match=r"keeps no sample of its documents.*fit it again with `replayWords`"):
            call()


def test_auto_takes_it_for_many_topics_and_groups_refuse_it(half: DataFrame) -> None:
    assert FitSettings(k=200).collects_third(FitSettings(k=200).basis_columns(20_000))
    assert not FitSettings(k=300).collects_third(FitSettings(k=300).basis_columns(20_000))
    assert FitSettings(k=300, tensors="groups").collects_third(375)
    large = 10 * SAMPLE_WORDS                                            # all words are sampled afterwards
    assert not FitSettings(k=50).collects_third(62, large)
    for exact in ({"solver": "polar"}, {"refine_passes": 0}, {"replay_words": 0}, {"explore_sweeps": 0}):
        assert FitSettings(k=50, **exact).collects_third(62, large)
    with pytest.raises(SettingsError, match=r"`tensors=.groups.`.*third moment"):
        SpectralHDP(**PLAIN, tensors="groups").fit(half)


def test_checkpoints_keep_the_sketches_of_every_candidate_apart(half: DataFrame, tmp_path: Path) -> None:
    asked = {**COLUMNS, "k": 5, "solver": "sketch", "basisSize": 260, "refinePasses": 0}
    plain = SpectralHDP(**asked).fit(half)
    kept = SpectralHDP(**asked, checkpointDir=str(tmp_path)).fit(half)
    assert not plain.moments.has_third
    assert kept.summary.refinement == plain.summary.refinement
    assert kept.topicsMatrix().tobytes() == plain.topicsMatrix().tobytes()


def test_a_tensor_too_large_is_refused_with_the_other_solver_named(spark: Any) -> None:
    from spectral_spark.engine.memory import check_memory, memory_need

    with pytest.raises(CapacityError, match="`solver=implicit`"):
        check_memory(10, 20_000, 5_000, spark)
    assert memory_need(20_000, 1_250, 1_000, third=False).driver < 8 << 30
    assert np.isfinite(memory_need(20_000, 1_250, 1_000, third=False).worker)
