"""Made-up corpora for benchmarks of speed: word frequencies like those of text, any document tree."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP

WORDS = 89                   # distinct words per document
Tree = Callable[[np.random.Generator, int, int], list[list[str]]]        # (generator, first document, how many) → paths


def even_tree(layers: int) -> Tree:
    """Four children per node."""

    def paths(rng: np.random.Generator, first: int, count: int) -> list[list[str]]:
        digits = rng.integers(0, 4, (count, max(layers - 2, 0)))
        return [[f"n{digit}" for digit in row] for row in digits]

    return paths


def crowded_tree(nodes: int, share: float = 0.9) -> Tree:
    """One level of nodes, one of which has this share of the documents."""

    def paths(rng: np.random.Generator, first: int, count: int) -> list[list[str]]:
        other = rng.integers(1, nodes, count) * (rng.random(count) >= share)
        return [[f"n{node}"] for node in other]

    return paths


def many_nodes(nodes: int, depth: int) -> Tree:
    """As many leaves as asked for, documents dealt out to them in turn, at this depth."""
    width = int(np.ceil(nodes ** (1.0 / depth)))

    def paths(rng: np.random.Generator, first: int, count: int) -> list[list[str]]:
        leaf = np.arange(first, first + count) % nodes
        digits = [leaf // width**level % width if level + 1 < depth else leaf // width**level
                  for level in range(depth)]
        return [[f"n{digit}" for digit in row] for row in np.stack(digits, axis=1)]

    return paths


def write_corpus(
    path: Path, documents: int, vocab_size: int, tree: Tree | None = None, files: int = 4, seed: int = 0
) -> None:
    """Documents in the columns of the corpus format."""
    rng = np.random.default_rng(seed)
    tree = tree or even_tree(2)
    frequency = 1.0 / (np.arange(vocab_size) + 20.0)
    cumulative = np.cumsum(frequency / frequency.sum())
    path.mkdir(parents=True, exist_ok=True)
    each = documents // files
    for number in range(files):
        lengths = np.maximum(3, rng.poisson(WORDS, each))
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        terms = np.searchsorted(cumulative, rng.random(starts[-1])).clip(0, vocab_size - 1).astype(np.int32)
        counts = rng.integers(1, 3, len(terms)).astype(np.int32)
        table = pa.table({
            "doc_id": [f"{number}-{i}" for i in range(each)],
            "path": pa.array(tree(rng, number * each, each), pa.list_(pa.string())),
            "terms": pa.ListArray.from_arrays(starts, terms),
            "counts": pa.ListArray.from_arrays(starts, counts),
        })
        pq.write_table(table, path / f"part-{number}.parquet")


def estimator(**values: Any) -> SpectralHDP:
    """Fifty topics without refinement, where nothing else is said."""
    given = {"k": 50, "refinePasses": 0, "concentrations": [0.3], "termsCol": "terms", "countsCol": "counts",
             "pathCol": "path", "idCol": "doc_id", **values}
    return SpectralHDP(**given)


def fit_seconds(frame: DataFrame, vocab_size: int, **values: Any) -> float:
    """Seconds of one fit."""
    started = time.perf_counter()
    estimator(vocabSize=vocab_size, **values).fit(frame)
    return time.perf_counter() - started
