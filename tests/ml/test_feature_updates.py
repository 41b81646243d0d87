"""Updates of feature models on Spark: rows added, removed and merged; streams; another k; both kinds of corpus."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralIBP, SpectralIBPModel
from spectral_spark.errors import InputError
from spectral_spark.ibp import local_runner
from spectral_spark.ibp.solve_features import collect_state
from spectral_spark.ml.streaming import newest_model, stored_models, update_from_stream

SAVED = Path(__file__).parents[1] / "data" / "version-0.1.0"
RNG = np.random.default_rng(0)
VALUES = (RNG.random((900, 2)) < [0.3, 0.5]) @ (2 * np.random.default_rng(9).standard_normal((2, 5)))
VALUES = VALUES + 0.2 * RNG.standard_normal((900, 5))


def frame_of(spark: SparkSession, rows: slice, values: np.ndarray = VALUES) -> DataFrame:
    ids = range(*rows.indices(len(values)))
    return spark.createDataFrame([(i, values[i].tolist()) for i in ids], "id int, x array<double>").coalesce(2)


def estimator(**settings: Any) -> SpectralIBP:
    return SpectralIBP(featuresCol="x", idCol="id", k=2, **settings)


@pytest.fixture(scope="module")
def first(spark: Any) -> SpectralIBPModel:
    model: SpectralIBPModel = estimator().fit(frame_of(spark, slice(0, 600)))
    return model


@pytest.fixture(scope="module")
def whole(spark: Any) -> SpectralIBPModel:
    model: SpectralIBPModel = estimator().fit(frame_of(spark, slice(0, 900)))
    return model


@pytest.fixture(scope="module")
def updated(spark: Any, first: SpectralIBPModel) -> SpectralIBPModel:
    return first.update(frame_of(spark, slice(600, 900)))


def assert_same_features(one: SpectralIBPModel, two: SpectralIBPModel) -> None:
    np.testing.assert_allclose(one.dictionary(), two.dictionary(), atol=1e-7)
    np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-7)
    assert one.noiseVariance == pytest.approx(two.noiseVariance, rel=1e-9)


def test_an_update_equals_a_fit_of_everything(updated: SpectralIBPModel, whole: SpectralIBPModel) -> None:
    assert_same_features(updated, whole)
    assert updated.summary.rows == 900
    assert updated.changes is not None
    assert updated.changes["documents"]["taken"] == 300
    assert (updated.changes["new"], updated.changes["vanished"]) == ([], [])
    assert [feature["previous"] for feature in updated.changes["features"]] == [0, 1]


def test_the_sums_are_those_of_the_rows(first: SpectralIBPModel, updated: SpectralIBPModel) -> None:
    assert first.moments is not None
    assert updated.moments is not None
    local = collect_state(local_runner(VALUES), first.basis, "refuse", "all")
    for name, array in local.sums.items():
        scale = max(np.abs(array).max(), 1.0)
        np.testing.assert_allclose(updated.moments.sums[name] / scale, array / scale, atol=1e-12, err_msg=name)


def test_known_rows_are_refused_skipped_and_removed(spark: Any, first: SpectralIBPModel, updated: Any) -> None:
    overlap = frame_of(spark, slice(500, 900))
    with pytest.raises(InputError, match="of 400 rows 100 are in this model already, so nothing was added"):
        first.update(overlap)
    skipped = first.update(overlap, skipKnown=True)
    assert skipped.changes is not None
    assert skipped.changes["documents"] == {"given": 400, "taken": 300, "known": 100, "changed": 0, "absent": 0}
    assert_same_features(skipped, updated)
    back = updated.update(frame_of(spark, slice(600, 900)), remove=True)
    assert_same_features(back, first)
    assert back.summary.rows == 600
    with pytest.raises(InputError, match="300 are not in this model, so nothing was removed"):
        back.update(frame_of(spark, slice(600, 900)), remove=True)
    other = frame_of(spark, slice(0, 10), VALUES + 1)
    with pytest.raises(InputError, match="10 have the id of a row of this model but other values"):
        first.update(other)
    assert back.update(frame_of(spark, slice(0, 20)), skipKnown=True).summary is back.summary


def test_models_are_merged(spark: Any, first: SpectralIBPModel, whole: SpectralIBPModel) -> None:
    rest = estimator().fit(frame_of(spark, slice(600, 900)))
    assert rest.basis.fingerprint != first.basis.fingerprint
    assert_same_features(first.merge(rest), whole)               # bases of all five columns: nothing is lost
    with pytest.raises(InputError, match="600 rows are in both models"):
        whole.merge(first)
    narrow = estimator(basisSize=3).fit(frame_of(spark, slice(0, 600)))
    with pytest.raises(InputError, match="different bases"):
        narrow.merge(rest)
    same = estimator().setBasis(narrow.basis).fit(frame_of(spark, slice(600, 900)))
    assert same.summary.passNames == ["moments"]
    merged = narrow.merge(same)
    assert merged.summary.rows == 900
    np.testing.assert_allclose(merged.dictionary(), whole.dictionary(), atol=0.02)


def test_an_updated_model_survives_the_disk(spark: Any, updated: SpectralIBPModel, tmp_path: Path) -> None:
    updated.save(str(tmp_path / "model"))
    back = SpectralIBPModel.load(str(tmp_path / "model"))
    assert back.changes == updated.changes
    assert back.summary == updated.summary
    assert back.solveAgain().dictionary().tobytes() == updated.solveAgain().dictionary().tobytes()
    with pytest.raises(InputError, match="are in this model already"):
        back.update(frame_of(spark, slice(890, 900)))


def test_another_k_and_kind_without_rows(whole: SpectralIBPModel) -> None:
    assert whole.solveAgain(k=1).k == 1
    three = whole.solveAgain(k=3)
    assert (three.k, three.summary.passes) == (3, [])
    assert whole.solveAgain(kind="isfa").summary.kurtosis == 3.0
    assert whole.solveAgain(kind="isfa", kurtosis=4.5).summary.kurtosis == 4.5
    with pytest.raises(InputError, match="needs the rows"):
        whole.solveAgain(kind="isfa", kurtosis="estimate")


def test_the_summary_tells_of_the_buffet_process(whole: SpectralIBPModel) -> None:
    summary = whole.summary
    assert summary.concentration == pytest.approx(2 / sum(1 / n for n in range(1, 901)))
    assert summary.log_prior is not None
    assert summary.log_prior < 0
    assert "log p(Z)" in repr(summary)


def test_executors_and_driver_give_the_same_bits(spark: Any, first: Any, updated: Any) -> None:
    spark.conf.set("spark.spectral.driverEntries", "0")
    try:
        again = estimator().fit(frame_of(spark, slice(0, 600)).repartition(3))
        later = again.update(frame_of(spark, slice(600, 900)))
    finally:
        spark.conf.unset("spark.spectral.driverEntries")
    for one, two in ((again, first), (later, updated)):
        assert one.dictionary().tobytes() == two.dictionary().tobytes()
        assert one.moments is not None
        assert two.moments is not None
        assert all(one.moments.sums[name].tobytes() == array.tobytes() for name, array in two.moments.sums.items())
    assert again._fitted.known == first._fitted.known


def test_a_stream_counts_every_row_once(spark: Any, whole: SpectralIBPModel, tmp_path: Path) -> None:
    absorb = update_from_stream(str(tmp_path / "store"), estimator(), keep=2)
    for number, rows in enumerate((slice(0, 600), slice(500, 800), slice(500, 800), slice(800, 900))):
        absorb(frame_of(spark, rows), number)
    assert stored_models(str(tmp_path / "store")) == [1, 2]
    model = newest_model(str(tmp_path / "store"))
    assert isinstance(model, SpectralIBPModel)
    assert_same_features(model, whole)


def test_gaps_in_rows_are_added_without_bias(spark: Any) -> None:
    values = VALUES.copy()
    values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    model = estimator(missing="pairwise").fit(frame_of(spark, slice(0, 600), values))
    later = model.update(frame_of(spark, slice(600, 900), values))
    assert later.moments is not None
    local = collect_state(local_runner(values), model.basis, "pairwise", "all")
    np.testing.assert_allclose(later.moments.sums["pair_counts"], local.sums["pair_counts"])
    np.testing.assert_allclose(later.moments.sums["fourth"], local.sums["fourth"], rtol=1e-9)
    assert later.summary.missing_values == int(np.isnan(values).sum())


def test_models_without_moments_say_so(spark: Any, tmp_path: Path) -> None:
    path = shutil.copytree(SAVED / "features", tmp_path / "features")
    model = SpectralIBPModel.load(str(path))
    assert model.moments is None
    rows = spark.read.parquet(str(SAVED / "rows.parquet"))
    for change in (lambda: model.update(rows), lambda: model.merge(model), lambda: model.solveAgain(k=2)):
        with pytest.raises(InputError, match=r"saved by a version that did not keep its moments.*fit it again"):
            change()
