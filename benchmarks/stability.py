"""Does the stability that a model prints for a topic predict whether the topic comes back from another seed?

    python benchmarks/stability.py --corpus CORPUS --k 20,50 --seeds 5
    python benchmarks/stability.py --drawn 30 --k 30,45 --seeds 5

Every model is compared with those of all other seeds: a topic comes back if its partner (matched one to one) is nearer
than 0.3 in half the L1 distance. Topics are sorted by the printed probability and cut into five classes; for each, the
mean of what was printed stands beside the share that came back. ``--output`` keeps drifts and returns, ``--refit`` fits
the two numbers of the curve to several such files and tells how well it does on each corpus when fitted to the others.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from scipy.optimize import minimize

from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS
from spectral_spark.fit import stability as curve
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_topics import fit_topics
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.ingest.corpus_store import open_corpus
from spectral_spark.ingest.simulate import random_topics, simulate_hdp
from spectral_spark.solve.topic_pairs import paired_topics


def drawn_documents(spark: SparkSession, k: int, seed: int = 0) -> tuple[DataFrame, int]:
    """6,000 documents of a tree with two levels and k true topics over 2,000 words."""
    corpus = simulate_hdp(random_topics(2000, k, seed, concentration=0.05), [[1500, 1500], [1500, 1500]],
                          (10.0, 20.0, 1.0), (20, 120), seed)
    batch, tree = corpus.batch, corpus.tree
    rows = [
        (str(i), list(tree.paths[batch.nodes[i]]), batch.terms[start:end].tolist(),
         batch.counts[start:end].astype(int).tolist())
        for i, (start, end) in enumerate(zip(batch.indptr[:-1], batch.indptr[1:], strict=True))
    ]
    kinds = "doc_id string, path array<string>, terms array<int>, counts array<int>"
    return spark.createDataFrame(rows, kinds).cache(), 2000


def returned(models: Sequence[FittedTopics]) -> Iterator[np.ndarray]:
    """For every model, the share of the others in which each of its topics comes back."""
    for number, model in enumerate(models):
        found = np.zeros(model.topics.shape[1])
        for other in (*models[:number], *models[number + 1 :]):
            rows, columns, distance = paired_topics(model.topics, other.topics)
            found[rows] += distance[rows, columns] < curve.SAME_TOPIC
        yield found / (len(models) - 1)


def relative_drift(model: FittedTopics) -> np.ndarray:
    """log (drift / reference) of every topic, from the probabilities that the model has."""
    assert model.stability is not None
    return np.asarray((np.log(model.stability / (1 - model.stability)) - curve.LEVEL) / curve.SLOPE)


def classes(printed: np.ndarray, back: np.ndarray, parts: int = 5) -> list[tuple[float, float]]:
    return [(round(float(printed[part].mean()), 2), round(float(back[part].mean()), 2))
            for part in np.array_split(np.argsort(printed, kind="stable"), parts)]


def measure(name: str, frame: DataFrame, words: int, k: int, seeds: int) -> dict[str, object]:
    models = [fit_topics(frame, CORPUS_COLUMNS, FitSettings(k=k, seed=seed), vocab_size=words) for seed in range(seeds)]
    printed = np.concatenate([model.stability for model in models if model.stability is not None])
    back = np.concatenate(list(returned(models)))
    return {
        "corpus": name, "k": k, "returned": round(float(back.mean()), 3), "printed": round(float(printed.mean()), 3),
        "brier": round(float(((printed - back) ** 2).mean()), 4), "without": round(float(back.var()), 4),
        "classes": classes(printed, back), "median_drift": [m.summary.refinement["median_drift"] for m in models],
        "relative": np.concatenate([relative_drift(model) for model in models]).tolist(), "back": back.tolist(),
    }


def fitted_curve(relative: np.ndarray, back: np.ndarray, weight: np.ndarray) -> np.ndarray:
    def loss(line: np.ndarray) -> float:
        logit = line[0] + line[1] * relative
        return float((weight * (np.logaddexp(0.0, logit) - back * logit)).sum())

    return np.asarray(minimize(loss, np.array([curve.LEVEL, curve.SLOPE])).x)


def refit(files: Sequence[str]) -> None:
    found = [json.loads(line) for name in files for line in Path(name).read_text().splitlines()]
    names = [row["corpus"] for row in found]
    arrays = [(np.array(row["relative"]), np.array(row["back"])) for row in found]

    def line(chosen: Sequence[int]) -> np.ndarray:
        weight = np.concatenate([np.full(len(arrays[at][1]), 1 / len(arrays[at][1])) for at in chosen])
        relative, back = (np.concatenate([arrays[at][part] for at in chosen]) for part in (0, 1))
        return fitted_curve(relative, back, weight)

    print("all corpora:", line(range(len(found))).round(3).tolist())
    for at, row in enumerate(found):
        level, slope = line([other for other in range(len(found)) if names[other] != names[at]])
        printed = 1 / (1 + np.exp(-(level + slope * arrays[at][0])))
        print(json.dumps({"corpus": row["corpus"], "k": row["k"], "classes": classes(printed, arrays[at][1]),
                          "curve of the others": [round(level, 2), round(slope, 2)]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus")
    parser.add_argument("--drawn", type=int, help="draw a corpus with so many true topics")
    parser.add_argument("--k", default="20,50")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output")
    parser.add_argument("--refit", nargs="+")
    given = parser.parse_args()
    if given.refit:
        refit(given.refit)
        return
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    if given.drawn:
        (frame, words), name = drawn_documents(spark, given.drawn), f"drawn, {given.drawn} topics"
    else:
        corpus = open_corpus(spark, given.corpus)
        frame, words, name = corpus.documents("train"), len(corpus.vocabulary), Path(given.corpus).name
    for k in map(int, given.k.split(",")):
        row = measure(name, frame, words, k, given.seeds)
        if given.output:
            with Path(given.output).open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(json.dumps({key: value for key, value in row.items() if key not in ("relative", "back")}), flush=True)


if __name__ == "__main__":
    main()
