"""The examples in the docstrings of the public classes run as they are printed."""

import doctest

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession

import spectral_spark
from spectral_spark import SpectralHDP, SpectralHDPModel, SpectralIBP, SpectralIBPModel, TopicModelEvaluator

PUBLIC = [SpectralHDP, SpectralHDPModel, SpectralIBP, SpectralIBPModel, TopicModelEvaluator]


@pytest.fixture(scope="module")
def notes(spark: SparkSession) -> DataFrame:
    rng = np.random.default_rng(0)
    sea, kitchen = ["sails", "boat", "rope", "harbour"], ["oven", "salt", "butter", "flour"]
    rows = []
    for i in range(120):
        first, others = ("wind", sea) if i % 2 else ("bread", kitchen)
        rows.append((" ".join([first, first, first, *rng.choice(others, 8)]), "coast" if i % 2 else "home"))
    return spark.createDataFrame(pd.DataFrame(rows, columns=["text", "place"])).cache()


@pytest.fixture(scope="module")
def pixels(spark: SparkSession) -> DataFrame:
    rng = np.random.default_rng(0)
    patterns = np.array([[3, 3, 3, 0, 0, 0], [0, 0, 0, 3, 3, 3]], float)
    rows = (rng.random((2000, 2)) < [0.3, 0.4]) @ patterns + 0.3 * rng.standard_normal((2000, 6))
    return spark.createDataFrame([(Vectors.dense(row),) for row in rows.tolist()], ["features"]).cache()


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_examples_of_public_classes_run(kind: type, notes: DataFrame, pixels: DataFrame) -> None:
    names = {name: getattr(spectral_spark, name) for name in spectral_spark.__all__}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for found in doctest.DocTestFinder(recurse=True).find(kind, kind.__name__, globs={}):
        assert not any("+SKIP" in example.source for example in found.examples), found.name
        found.globs = {**names, "notes": notes, "pixels": pixels}
        runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def test_public_names_have_docstrings_and_nothing_else_is_exported() -> None:
    assert set(spectral_spark.__all__) >= {"MomentState", *(kind.__name__ for kind in PUBLIC)}
    assert all(getattr(spectral_spark, name).__doc__ for name in spectral_spark.__all__)
