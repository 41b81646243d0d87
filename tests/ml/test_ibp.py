"""SpectralIBP on Spark: the same answers as in memory, whatever the columns and partitions; survives the disk."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

from spectral_spark import SpectralIBP, SpectralIBPModel
from spectral_spark.engine.corpus import Corpus
from spectral_spark.errors import FormatError, InputError, SettingsError
from spectral_spark.ibp import IbpSettings, fit_features, local_runner
from spectral_spark.ibp.likelihood import RowReader


def rows_of(kind: str, n: int = 1500, d: int = 9, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = (rng.random((n, 3)) < [0.3, 0.4, 0.5]).astype(float)
    if kind == "isfa":
        codes *= rng.standard_normal(codes.shape)
    if kind == "iica":
        codes *= rng.laplace(size=codes.shape)
    return codes @ (2 * np.random.default_rng(99).standard_normal((3, d))) + 0.3 * rng.standard_normal((n, d))


@pytest.fixture(scope="module")
def arrays(spark: Any) -> Any:
    values = rows_of("binary")
    frame = spark.createDataFrame([(i, row.tolist()) for i, row in enumerate(values)], "id int, x array<double>")
    return frame.cache()


@pytest.fixture(scope="module")
def model(arrays: Any) -> SpectralIBPModel:
    return SpectralIBP(featuresCol="x", polish=1).fit(arrays)


def test_spark_and_memory_agree(model: SpectralIBPModel) -> None:
    values = rows_of("binary")
    local = fit_features(local_runner(values), 9, IbpSettings(polish=1)).model
    assert model.k == local.k == 3
    np.testing.assert_allclose(model.dictionary(), local.dictionary, atol=1e-9)
    np.testing.assert_allclose(model.probabilities, local.probabilities, atol=1e-9)
    assert model.noiseVariance == pytest.approx(local.noise_variance, rel=1e-9)
    assert model.noiseVariance == pytest.approx(0.09, rel=0.05)


def test_vectors_and_partitions_do_not_change_a_bit(arrays: Any, model: SpectralIBPModel) -> None:
    shuffled = arrays.orderBy(F.rand(1)).repartition(5)
    again = SpectralIBP(featuresCol="x", polish=1).fit(shuffled)
    assert again.dictionary().tobytes() == model.dictionary().tobytes()
    assert again.noiseVariance == model.noiseVariance


def test_transform_reconstruct_and_likelihood(arrays: Any, model: SpectralIBPModel) -> None:
    values = rows_of("binary")
    expected = RowReader(model.features).read(values)
    found = model.reconstruct(model.transform(arrays)).orderBy("id").collect()
    codes = np.array([row["codes"].toArray() for row in found])
    np.testing.assert_array_equal(codes, expected.codes)
    rebuilt = np.array([row["reconstruction"].toArray() for row in found])
    np.testing.assert_allclose(rebuilt, model.features.reconstruct(codes), atol=1e-9)
    assert np.sqrt(((rebuilt - values) ** 2).mean()) == pytest.approx(0.3, rel=0.05)
    assert model.logLikelihood(arrays) == pytest.approx(expected.log_likelihood.sum(), rel=1e-9)


def test_model_survives_the_disk(arrays: Any, model: SpectralIBPModel, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    model.copy({model.codesCol: "z"}).save(path)
    back = SpectralIBPModel.load(path)
    np.testing.assert_array_equal(back.dictionary(), model.dictionary())
    np.testing.assert_array_equal(back.probabilities, model.probabilities)
    assert back.summary == model.summary
    assert back.uid == model.uid
    assert "z" in back.transform(arrays.limit(2)).columns
    with pytest.raises(InputError, match="exists"):
        model.save(path)
    model.write().overwrite().save(path)
    with pytest.raises(FormatError, match="not a saved SpectralIBP estimator"):
        SpectralIBP.load(path)


def test_summary_tells_what_happened(model: SpectralIBPModel) -> None:
    summary = json.loads(model.summary.toJson())
    assert (summary["kind"], summary["k"], summary["rows"], summary["columns"]) == ("binary", 3, 1500, 9)
    assert [one["name"] for one in summary["passes"]] == ["mean", "covariance", "cumulants", "polish 1"]
    assert summary["rank_rule"] == "noise edge"
    assert summary["spectrum"][2] > summary["noise_edge"] > summary["spectrum"][3]
    assert summary["offset"] == "none"
    with pytest.raises(AttributeError):
        model.summary.k = 4  # type: ignore[misc]


@pytest.mark.parametrize("kind", ["isfa", "iica"])
def test_sparse_factors_in_a_saved_pipeline(spark: Any, tmp_path: Path, kind: str) -> None:
    values = rows_of(kind, 600)
    frame = spark.createDataFrame([(i, Vectors.dense(row)) for i, row in enumerate(values)], ["id", "features"])
    estimator = SpectralIBP(kind=kind, k=3, idCol="id", codesCol="s")
    estimator.save(str(tmp_path / "estimator"))
    assert SpectralIBP.load(str(tmp_path / "estimator")).fitSettings() == estimator.fitSettings()
    fitted = Pipeline(stages=[estimator]).fit(frame)
    fitted.save(str(tmp_path / "pipeline"))
    found = PipelineModel.load(str(tmp_path / "pipeline")).transform(frame).orderBy("id").collect()
    expected = RowReader(fitted.stages[0].features).read(values)
    np.testing.assert_allclose([row["s"].toArray() for row in found], expected.codes, atol=1e-6)
    np.testing.assert_allclose([row["activity"].toArray() for row in found], expected.activity, atol=1e-6)
    model = fitted.stages[0]
    rebuilt = [row["reconstruction"].toArray() for row in model.reconstruct(frame).orderBy("id").collect()]
    np.testing.assert_allclose(rebuilt, model.features.reconstruct(expected.codes), atol=1e-6)
    assert model.logLikelihood(frame) == pytest.approx(expected.log_likelihood.sum(), rel=1e-6)


def test_wide_sparse_vectors_are_sketched(spark: Any) -> None:
    rng = np.random.default_rng(3)
    truth = np.where(rng.random((2, 1500)) < 0.1, 2.0, 0.0)
    values = (rng.random((300, 2)) < 0.4) @ truth + 0.1 * rng.standard_normal((300, 1500))
    frame = spark.createDataFrame([
        (i, Vectors.sparse(1500, range(1500), row) if i % 2 else Vectors.dense(row)) for i, row in enumerate(values)
    ], ["id", "features"])
    model = SpectralIBP(idCol="id").fit(frame)
    local = fit_features(local_runner(values), 1500, IbpSettings()).model
    assert model.k == 2
    assert [one["name"] for one in model.summary.passes][1:4] == [f"covariance range {i}" for i in (1, 2, 3)]
    np.testing.assert_allclose(model.dictionary(), local.dictionary, atol=1e-8)


def test_missing_values_by_parameter(spark: Any) -> None:
    values = rows_of("binary", 800).tolist()
    values[3][1] = None  # type: ignore[call-overload]
    values[7][1] = float("nan")
    frame = spark.createDataFrame([(row,) for row in values], "features array<double>")
    with pytest.raises(InputError, match=r"2 values are missing.*column 1"):
        SpectralIBP(k=3).fit(frame)
    model = SpectralIBP(k=3, missing="mean").fit(frame)
    assert (model.summary.missing_values, model.summary.columns_with_missing) == (2, 1)
    assert model.transform(frame).filter("codes is null").count() == 0


def test_checkpoints_resume_a_killed_fit(arrays: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = Corpus.sum, []

    def failing(corpus: Corpus, kernel: Any, shared: Mapping[str, np.ndarray], *, name: str, **rest: Any) -> Any:
        seen.append(name)
        if name == "cumulants" and seen.count(name) == 1:
            raise KeyboardInterrupt
        return real(corpus, kernel, shared, name=name, **rest)

    monkeypatch.setattr(Corpus, "sum", failing)
    estimator = SpectralIBP(featuresCol="x", k=3, checkpointDir=str(tmp_path / "checkpoints"))
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(arrays)
    estimator.fit(arrays)
    assert seen == ["mean", "covariance", "cumulants", "cumulants"]
    assert not any((tmp_path / "checkpoints").glob("*/*"))


@pytest.mark.parametrize("wrong", [
    {"kind": "binar"}, {"k": 0}, {"k": float("nan")}, {"k": float("inf")}, {"seed": -1}, {"powerPasses": 1},
    {"solver": "polar"}, {"missing": "drop"}, {"offset": 1}, {"polish": -1},
    {"nonsense": 3},
])
def test_wrong_parameters_are_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises((SettingsError, TypeError)):
        SpectralIBP(**wrong)
    if "nonsense" in wrong:
        with pytest.raises(SettingsError, match="no parameter 'nonsense'"):
            SpectralIBP().setParams(**wrong)


def test_columns_in_the_way_and_rows_of_another_width(spark: Any, arrays: Any, model: SpectralIBPModel) -> None:
    with pytest.raises(InputError, match="column 'codes' exists"):
        model.transform(arrays.withColumn("codes", F.lit(1)))
    with pytest.raises(InputError, match="no column 'x'"):
        model.transform(arrays.drop("x"))
    short = spark.createDataFrame([([1.0, 2.0],)], "x array<double>")
    with pytest.raises(Exception, match="a row has 2 values; the model has 9 columns"):
        model.transform(short).collect()
    with pytest.raises(InputError, match="a row has 2 values; the model has 9 columns"):
        model.logLikelihood(short)


@pytest.mark.parametrize("other", [
    Vectors.sparse(12, [11], [1.0]), Vectors.sparse(5, [1], [1.0]), Vectors.dense([1.0]),
])
def test_vectors_of_another_size_are_refused(spark: Any, model: SpectralIBPModel, other: Any) -> None:
    mixed = spark.createDataFrame([(Vectors.sparse(9, [0], [1.0]),), (other,)], ["x"]).coalesce(1)
    with pytest.raises(Exception, match=f"a row has {other.size} values; the model has 9 columns"):
        model.transform(mixed).collect()


def test_infinite_values_are_refused_even_where_missing_ones_are_not(spark: Any, model: SpectralIBPModel) -> None:
    frame = spark.createDataFrame([([1.0] * 8 + [float("inf")],)], "x array<double>")
    lenient = model.copy({model.missing: "mean"})
    with pytest.raises(Exception, match="a value is infinite, in column 8"):
        lenient.transform(frame).collect()
    with pytest.raises(Exception, match="a value is infinite, in column 8"):
        lenient.logLikelihood(frame)


def test_a_model_shows_its_features(model: SpectralIBPModel) -> None:
    shown = repr(model).splitlines()
    assert shown[0].startswith("SpectralIBPModel: 3 binary features from 1,500 rows of 9 columns, noise variance ")
    assert [line.split()[:2] for line in shown[1:]] == [["feature", str(feature)] for feature in range(3)]
    assert all("% of the variance, largest entries " in line for line in shown[1:])
    assert "<table>" in model._repr_html_()
