"""Does pooling along the tree pay? Held-out loss by the size of a node: tree, no tree, and a separate fit per node.

    python benchmarks/pooling.py --corpus CORPUS --k 50 --level 2

Three ways to get topics and proportions for the documents of a group: one fit with the tree, one fit that ignores it
(``layers=2``), and a fit of the group's documents alone, with the best of a few numbers of topics on its test
documents, which favours the separate fits. Groups of a level are put into classes by their training documents, and a
few of each class, drawn at random, are fitted separately. All losses are document completion on the same held-out
documents.
"""

import argparse
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import SpectralError
from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS, ScoredTopics, open_scored
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_topics import fit_topics
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.ingest.corpus_store import Corpus, open_corpus
from spectral_spark.refine.completion import CompletionKernel, completion_inputs

CLASSES = (0, 100, 300, 1000, 3000, 10**9)
Path_ = tuple[str, ...]


def scored(fitted: FittedTopics) -> ScoredTopics:
    return ScoredTopics(fitted.topics, fitted.weights, fitted.nodes.paths, fitted.nodes.proportions,
                        fitted.document_concentration)


def losses(test: DataFrame, model: ScoredTopics, level: int) -> dict[Path_, np.ndarray]:
    """Sums of (loss, hidden words) of the test documents of every group of a level."""
    found: dict[Path_, np.ndarray] = {}
    with open_scored(test, CORPUS_COLUMNS, len(model.topics)) as corpus:
        tree, mean = corpus.census.tree, model.topics @ model.weights
        shared = completion_inputs(model.topics, model.node_priors(tree), model.concentration, mean / mean.sum())
        sums = corpus.packed.sum(CompletionKernel(0), shared, name="document completion")
    for node, path in enumerate(tree.paths):
        if len(path) >= level:
            row = np.array([sums["loss"][0, 0, node], sums["hidden"][node]])
            found[path[:level]] = found.get(path[:level], np.zeros(2)) + row
    return found


def below(frame: DataFrame, path: Path_) -> DataFrame:
    return frame.filter(F.slice("path", 1, len(path)) == F.array(*map(F.lit, path)))


def alone(corpus: Corpus, path: Path_, ks: list[int], settings: FitSettings) -> np.ndarray | None:
    """The best loss of fits to the documents of a group."""
    train, test = below(corpus.documents("train"), path).cache(), below(corpus.documents("test"), path).cache()
    best = None
    for k in ks:
        try:
            fitted = fit_topics(train, CORPUS_COLUMNS, replace(settings, k=k), vocab_size=len(corpus.vocabulary))
        except SpectralError:
            continue
        found = sum(losses(test, scored(fitted), len(path)).values(), np.zeros(2))
        best = found if best is None or found[0] < best[0] else best
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--groups", type=int, default=4, help="of each class, to be fitted separately")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    corpus, settings = open_corpus(spark, given.corpus), FitSettings(k=given.k, seed=given.seed)
    train, test, words = corpus.documents("train"), corpus.documents("test"), len(corpus.vocabulary)
    models = {name: fit_topics(train, CORPUS_COLUMNS, chosen, vocab_size=words)
              for name, chosen in (("tree", settings), ("none", replace(settings, layers=2)))}
    by_node = {name: losses(test, scored(model), given.level) for name, model in models.items()}
    nodes = models["tree"].nodes
    size = {path: int(count) for path, count in zip(nodes.paths, nodes.documents, strict=True)}
    draw = np.random.default_rng(given.seed)
    for least, most in pairwise(CLASSES):
        members = sorted(path for path in by_node["tree"] if least <= size.get(path, 0) < most)
        if not members:
            continue
        chosen = [members[at] for at in sorted(draw.permutation(len(members))[: given.groups])]
        row: dict[str, object] = {"corpus": Path(given.corpus).name, "documents": [least, most], "groups": len(members)}
        for name in models:
            both = sum((by_node[name][path] for path in members), np.zeros(2))
            row[name] = round(float(both[0] / both[1]), 4)
        tried = {path: alone(corpus, path, sorted({5, 10, 20, given.k}), settings) for path in chosen}
        separate = {path: found for path, found in tried.items() if found is not None}
        row["separately fitted"] = len(separate)
        for name, parts in (("separate", separate), ("tree, these", by_node["tree"]), ("none, these", by_node["none"])):
            both = sum((parts[path] for path in separate), np.zeros(2))
            row[name] = round(float(both[0] / both[1]), 4) if both[1] else None
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
