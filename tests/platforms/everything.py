"""Everything that ``SpectralHDP`` does, on one session, with a hash of each result.

    python everything.py ANSWER SCRATCH [remote=sc://HOST:PORT] [words=N] [inside=BYTES]

Without ``remote`` the session is a classic one. Corpora with more than ``words`` words are sampled word by word; arrays
of more than ``inside`` bytes do not travel inside functions. ``SPECTRAL_DRIVER_ENTRIES=0`` in the environment puts all
work on executors. The hashes must not depend on any of these but ``words``.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel, TopicModel
from spectral_spark.engine import uploaded_value
from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.fit import fit_settings, gibbs_step
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from spectral_spark.ingest.simulate import simulate_hdp


def main() -> None:
    answer, scratch, *words = sys.argv[1:]
    given = dict(word.split("=", 1) for word in words)
    spark = session(given.get("remote"))
    fit_settings.SAMPLE_WORDS = gibbs_step.SAMPLE_WORDS = int(given.get("words", 60_000))
    uploaded_value.INSIDE_BYTES = int(given.get("inside", uploaded_value.INSIDE_BYTES))
    found = {name: digest(value) for step in (texts, counts) for name, value in step(spark, scratch).items()}
    found["py4j"] = "py4j" in sys.modules
    with open(answer, "w") as sink:
        json.dump(found, sink)
    spark.stop()


def session(remote: str | None) -> SparkSession:
    if remote:
        return SparkSession.builder.remote(remote).getOrCreate()
    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def texts(spark: SparkSession, scratch: str) -> dict[str, Any]:
    """Raw text: a DataFrame, pandas, and what a fitted model says about documents."""
    write_demo(simulate_demo(300), Path(scratch, "notes.jsonl"))
    table = pd.read_json(f"{scratch}/notes.jsonl", lines=True)
    table["path"] = [[region, town] for region, town in zip(table["region"], table["town"], strict=True)]
    frame = frame_from_arrow(spark, pa.Table.from_pandas(table, preserve_index=False)).repartition(3)
    hdp = SpectralHDP(k=4, textCol="text", pathCol="path", idCol="id", minDocuments=3, refinePasses=1, seed=2)
    model = hdp.fit(frame)
    model.save(f"{scratch}/texts")
    again = SpectralHDPModel.load(f"{scratch}/texts")
    regions = sorted(set(table["region"]))[:2]
    return {
        "text": model, "pandas": hdp.fit(table), "saved": again,
        "without Spark": TopicModel.load(f"{scratch}/texts").infer(table["text"][:50].tolist()),
        "transform": ordered(again.transform(frame).select("id", "topicDistribution"), "id"),
        "transform pandas": np.stack(again.transform(table.head(40))["topicDistribution"].tolist()),
        "loss": again.logPerplexity(frame),
        "describeTopics": ordered(again.describeTopics(5), "topic"),
        "nodeProportions": ordered(again.nodeProportions(), "path"),
        "intervals": ordered(again.nodeProportions(0.9, frame), "path"),
        "solveAgain": again.solveAgain(k=3),
        "compare": ordered(again.compare(regions[0], regions[1], frame), "topic"),
        "explain": ordered(again.explain(frame, "region"), "value", "topic"),
        "exemplars": ordered(again.exemplars(frame, 2), "topic", "rank"),
        "refit": again.refit(frame, k=3),
    }


def counts(spark: SparkSession, scratch: str) -> dict[str, Any]:
    """Word ids and counts: a fit whose words are sampled on executors, and updates."""
    frame, arriving = (frame_from_arrow(spark, part).repartition(5) for part in simulated())
    model = SpectralHDP(
        k=5, refinePasses=1, exploreSweeps=20, termsCol="terms", countsCol="counts", idCol="doc_id", vocabSize=300,
    ).fit(frame)
    grown = model.update(arriving)
    return {
        "counts": model, "update": grown, "removed": grown.update(arriving, remove=True),
        "known": grown.update(arriving.limit(0).unionByName(arriving), skipKnown=True),
        "transform counts": ordered(grown.transform(arriving).select("doc_id", "topicDistribution"), "doc_id"),
    }


def simulated() -> list[pa.Table]:
    table = simulate_hdp((300, 5), [900, 900], [8.0, 0.5], (30, 60), seed=4).table()
    late = np.arange(len(table)) % 7 == 0
    return [table.filter(pa.array(part)) for part in (~late, late)]


def ordered(frame: Any, *keys: str) -> list[str]:
    """The rows in a fixed order, written out with all digits."""
    if "topicDistribution" in frame.columns:
        from pyspark.ml.functions import vector_to_array

        frame = frame.withColumn("topicDistribution", vector_to_array(F.col("topicDistribution")))
    return [repr(row) for row in to_arrow(frame.orderBy(*keys)).to_pylist()]


def digest(value: Any) -> str:
    readings: list[tuple[type, Callable[[Any], bytes]]] = [
        (SpectralHDPModel, lambda model: model.topicsMatrix().tobytes() + model.nodes.proportions.tobytes()),
        (np.ndarray, lambda array: array.tobytes()),
        (object, lambda other: repr(other).encode()),
    ]
    read = next(read for kind, read in readings if isinstance(value, kind))
    return hashlib.sha256(read(value)).hexdigest()[:16]


if __name__ == "__main__":
    main()
