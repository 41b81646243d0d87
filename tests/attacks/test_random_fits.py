"""Random documents fitted with random settings: whatever they are, a model is sound or the error is ours.

The test fits for 25 seconds; ``SPECTRAL_FUZZ_SECONDS`` gives it more. Every fit has a seed of its own, which a failure
names; ``SPECTRAL_FUZZ_SEED`` repeats that fit as the first one.
"""

import os
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP
from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import SpectralError

SECONDS = float(os.environ.get("SPECTRAL_FUZZ_SECONDS", "25"))
FIRST = int(os.environ.get("SPECTRAL_FUZZ_SEED", "0"))
ODD_COUNTS = (0, -3, 1_000_000, 2_000_000_000, 2**62)
PATHS: tuple[list[str | None] | None, ...] = ([], ["a"], ["a", "x"], ["b"], ["b", "y", "deep"], [""], None, [None])


def random_documents(spark: SparkSession, rng: np.random.Generator) -> tuple[DataFrame, int]:
    """Documents of a few topics, or none; now and then with ids, counts and paths that do not belong there."""
    words, topics, n = int(rng.integers(1, 60)), int(rng.integers(1, 6)), int(rng.integers(0, 120))
    phi = rng.dirichlet(np.full(words, rng.choice([0.1, 1.0])), topics) + 1e-9
    odd = float(rng.choice([0.0, 0.0, 0.05]))
    known_paths = [path for path in PATHS if path and None not in path] + [[]]
    rows: dict[str, list[Any]] = {"doc_id": [], "path": [], "terms": [], "counts": []}
    for number in range(n):
        shares = rng.dirichlet(np.full(topics, 0.3)) @ phi
        drawn = rng.multinomial(int(rng.integers(0, 40)), shares / shares.sum())
        terms = np.flatnonzero(drawn).tolist()
        counts = drawn[terms].tolist()
        paths: Any = known_paths
        if rng.random() < odd and terms:
            terms[0] = int(rng.choice([-1, words, 2**31, 2**40]))
            counts[-1] = int(rng.choice(ODD_COUNTS))
            paths = PATHS
        rows["doc_id"].append(f"d{number}")
        rows["path"].append(paths[int(rng.integers(len(paths)))])
        rows["terms"].append(terms)
        rows["counts"].append(counts)
    schema = pa.schema({"doc_id": pa.string(), "path": pa.list_(pa.string()), "terms": pa.list_(pa.int64()),
                        "counts": pa.list_(pa.int64())})
    return frame_from_arrow(spark, pa.table(rows, schema=schema)), words


def random_settings(rng: np.random.Generator) -> dict[str, Any]:
    """A value for every setting of a fit."""
    choices: dict[str, list[Any]] = {
        "k": ["auto", 1, 2, 2, 3, 7], "solver": ["polar", "power", "als", "sketch"],
        "weighting": ["uniform", "ess", "tokens"], "layers": ["all", 2, 3, 4],
        "concentrations": ["auto", "calibrated", "given", "given"], "refinePasses": [0, 1, 2],
        "exploreSweeps": [0, 1, "auto"], "groupBalance": [0.0, 0.5, 1.0], "replayWords": [0, 20, 6_000_000],
        "rankRule": ["noise-floor", "gap", "paper"], "basisSize": ["auto", "auto", 10, 64],
        "rangePasses": ["auto", 1, 2],
        "wordScaling": [0.0, 0.25, 1.0], "countCap": [0.0, 1.0, 16.0], "tensors": ["auto", "root", "groups"],
    }
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in choices.items()}
    if drawn["concentrations"] == "given":
        layers = 2 if drawn["layers"] == "all" else int(drawn["layers"])
        drawn["concentrations"] = rng.choice([1e-6, 0.1, 1.0, 50.0, 1e6], layers - 1).tolist()
    return {**drawn, "seed": int(rng.integers(2**63 - 1))}


def check_one(spark: SparkSession, seed: int) -> str:
    """Fit once; the outcome in a word."""
    rng = np.random.default_rng(seed)
    frame, words = random_documents(spark, rng)
    settings = random_settings(rng)
    spark.conf.set(SETTING, "0" if rng.random() < 0.1 else "8000000")
    hdp = SpectralHDP(termsCol="terms", countsCol="counts", vocabSize=words, idCol="doc_id", **settings)
    try:
        model = hdp.fit(frame)
    except SpectralError:
        return "refused"
    files = model._fitted
    topics, summary = model.topicsMatrix(), model.summary
    for name, shares in (("topics", topics.T), ("weights", np.asarray(files.weights)),
                         ("proportions", np.asarray(files.nodes.proportions))):
        assert np.all(np.isfinite(shares)), f"{name} not finite: {settings}"
        assert np.all(shares >= 0), f"{name} negative: {settings}"
        np.testing.assert_allclose(shares.sum(axis=-1), 1.0, atol=1e-9, err_msg=f"{name}: {settings}")
    assert topics.shape == (words, model.k)
    assert np.all(np.isfinite(summary.concentrations))
    if rng.random() < 0.2:
        scored = model.transform(frame).select("topicDistribution").toPandas()["topicDistribution"]
        found = np.array([vector.toArray() for vector in scored if vector is not None])
        assert np.all(found >= 0)
        assert not len(found) or np.allclose(found.sum(axis=1), 1.0)
    return "fitted"


@pytest.mark.timeout(SECONDS + 600)
def test_random_fits_are_sound_or_refused(spark: Any) -> None:
    outcomes: dict[str, int] = {}
    end, seed = time.monotonic() + SECONDS, FIRST
    try:
        while time.monotonic() < end:
            try:
                outcome = check_one(spark, seed)
            except Exception as error:
                raise AssertionError(f"SPECTRAL_FUZZ_SEED={seed} fails with {type(error).__name__}: {error}") from error
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            seed += 1
    finally:
        spark.conf.unset(SETTING)
        print(f"seeds {FIRST} to {seed}: {outcomes}")
    assert outcomes.get("fitted", 0) > 0
