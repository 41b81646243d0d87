"""Does the shape of the document tree cost anything? Many layers, crowded nodes, many nodes."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from common import interleaved
from made_up import crowded_tree, estimator, even_tree, fit_seconds, many_nodes, write_corpus
from pyspark.sql import SparkSession

VOCABULARY = 5_000
NODES = 100_000
SHAPES = {
    "90% of the documents in one of 100 nodes": crowded_tree(100),
    "100,000 nodes, depth 1": many_nodes(NODES, 1),
    "100,000 nodes, depth 10": many_nodes(NODES, 10),
}


def layers(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    """The same documents in a tree of 6 layers, and cut to 2."""
    write_corpus(work / "layers", documents, VOCABULARY, even_tree(6))
    frame = spark.read.parquet(str(work / "layers"))
    for passes in (0, 1):
        calls: dict[str, Callable[[], Any]] = {
            "6": partial(fit_seconds, frame, VOCABULARY, refinePasses=passes),
            "2": partial(fit_seconds, frame, VOCABULARY, refinePasses=passes, layers=2),
        }
        for call in calls.values():
            call()
        seconds = {name: min(times) for name, times in interleaved(calls, 3).items()}
        yield {"what": f"fit of 6 layers (341 nodes) against 2, {passes} refinement passes", "target": "≤ 1.05",
               "ratio": seconds["6"] / seconds["2"], "seconds": seconds["6"], "other seconds": seconds["2"],
               "documents": documents}


def shapes(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    """The same words in trees of extreme shape, each against itself cut to 2 layers; passes alone, then all."""
    documents = max(3 * documents, NODES)
    for number, (name, tree) in enumerate(SHAPES.items()):
        path = work / f"shape{number}"
        write_corpus(path, documents, VOCABULARY, tree)
        frame = spark.read.parquet(str(path))
        fits = {"tree": {}, "flat": {"layers": 2}}
        found: dict[str, dict[str, float]] = {"tree": {}, "flat": {}}
        for _ in range(2):
            for kind, given in fits.items():
                seconds = estimator(vocabSize=VOCABULARY, refinePasses=1, **given).fit(frame).summary.seconds
                found[kind] = {step: min(took, found[kind].get(step, took)) for step, took in seconds.items()}
        for step in ("census", "range", "moments", "refine", "total"):
            yield {"what": f"{name}: {step} against 2 layers", "target": "≈ 1",
                   "ratio": found["tree"][step] / found["flat"][step], "seconds": found["tree"][step],
                   "other seconds": found["flat"][step], "documents": documents}
        shutil.rmtree(path)


def weightings(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    """Weights that follow a tree of 289 nodes against weights by words, without refinement; as one sum, and with the
    sums of every node kept apart for updates."""
    write_corpus(work / "weightings", documents, VOCABULARY, many_nodes(17 * 17, 2))
    frame = spark.read.parquet(str(work / "weightings"))
    calls: dict[str, Callable[[], Any]] = {
        "tokens": partial(fit_seconds, frame, VOCABULARY),
        "uniform": partial(fit_seconds, frame, VOCABULARY, weighting="uniform"),
        "uniform, nodes kept": partial(fit_seconds, frame, VOCABULARY, weighting="uniform", nodeSums="keep"),
    }
    calls["tokens"]()
    seconds = {name: min(times) for name, times in interleaved(calls, 2).items()}
    for name in ("uniform", "uniform, nodes kept"):
        yield {"what": f"weighting {name} (289 groups) against tokens", "target": "≈ 1" if name == "uniform" else "–",
               "ratio": seconds[name] / seconds["tokens"], "seconds": seconds[name],
               "other seconds": seconds["tokens"], "documents": documents}
