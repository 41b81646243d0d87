"""Small corpora as DataFrames, and a kernel that counts, for the tests of the engine."""

from collections.abc import Mapping, Sequence

import numpy as np
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.choose_corpus import choose_corpus
from spectral_spark.engine.corpus import Corpus
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.progress import Progress

ARRAYS = DocumentColumns(None, "terms", "counts", "path", "doc_id")


def random_documents(n: int, d: int, seed: int = 0) -> list[tuple[str, list[str], list[int], list[int]]]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        terms = np.sort(rng.choice(d, size=int(rng.integers(3, min(12, d))), replace=False))
        path = [f"side{i % 2}", f"box{i % 5}"][: int(rng.integers(0, 3))]
        rows.append((f"doc{i}", path, terms.tolist(), rng.integers(1, 5, len(terms)).tolist()))
    return rows


def frame_of(spark: SparkSession, rows: Sequence[tuple]) -> DataFrame:
    return spark.createDataFrame(rows, "doc_id string, path array<string>, terms array<int>, counts array<int>")


def corpus_of(
    frame: DataFrame, d: int, *, columns: DocumentColumns = ARRAYS, shards: int | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Where the engine would work on the documents; not yet counted."""
    source = inspect_documents(frame, columns, vocab_size=d)
    packing = pack_counts(source, PackSettings(d), shards=shards)
    return choose_corpus(packing, source.entries, source.vocab_size, progress=progress)


def vectors_of(spark: SparkSession, rows: Sequence[tuple], d: int, dense_every: int = 3) -> DataFrame:
    """The same documents as sparse vectors, every third one dense."""
    data = []
    for i, (name, path, terms, counts) in enumerate(rows):
        sparse = Vectors.sparse(d, terms, [float(c) for c in counts])
        data.append((name, path, Vectors.dense(sparse.toArray()) if i % dense_every == 0 else sparse))
    return spark.createDataFrame(data, ["doc_id", "path", "features"])


class CountingKernel:
    """Sums that show every document, word and weight: first, second and word-by-probe moments."""

    def start(self, shared: Mapping[str, np.ndarray]) -> "CountingAccumulator":
        return CountingAccumulator(shared["probe"])


class CountingAccumulator:
    def __init__(self, probe: np.ndarray) -> None:
        self._probe = probe
        self._sums = {
            "documents": np.zeros(1), "words": np.zeros(len(probe)), "gram": np.zeros((probe.shape[1],) * 2),
            "product": np.zeros(probe.shape), "keys": np.zeros(1),
        }

    def add(self, batch: CountBatch) -> None:
        projected = batch.matrix @ self._probe
        self._sums["documents"] += batch.n_documents
        self._sums["words"] += np.asarray(batch.matrix.sum(axis=0)).ravel()
        self._sums["gram"] += projected.T @ projected
        self._sums["product"] += batch.matrix.T @ projected
        self._sums["keys"] += (batch.keys % 1000).sum()

    def arrays(self) -> dict[str, np.ndarray]:
        return self._sums


def dense_counts(rows: Sequence[tuple], d: int) -> np.ndarray:
    matrix = np.zeros((len(rows), d))
    for i, (_, _, terms, counts) in enumerate(rows):
        np.add.at(matrix[i], terms, counts)
    return matrix
