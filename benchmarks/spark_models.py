"""Ours and MLlib's LDA in one Spark session, handing out topics at every budget."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import MemoryWatch
from peer_models import Clock, Snapshot, columns, shares
from snapshots import Tree

Emit = Callable[[str, Snapshot, Tree | None, int], None]


class SparkBench:
    """A session with the training documents of a corpus, warmed up on a few of them.

    Attributes
    ----------
    start_seconds, warm_seconds : to start Spark, and to fit the first (small) model in it.
    """

    def __init__(self, corpus_path: str, cores: int = 2) -> None:
        from spectral_spark.engine.session import start_session
        from spectral_spark.ingest.corpus_store import open_corpus

        started = time.perf_counter()
        self.spark: Any = start_session("peers", master=f"local[{cores}]", settings={
            "spark.driver.memory": "4g",
            # give memory back after a collection, so that one fit's peak does not stand in the next one's
            "spark.driver.extraJavaOptions": "-XX:MaxHeapFreeRatio=30 -XX:MinHeapFreeRatio=10",
        })
        self.spark.sparkContext.setLogLevel("ERROR")
        self.corpus = open_corpus(self.spark, corpus_path)
        self.train = self.corpus.documents("train")
        self.start_seconds = time.perf_counter() - started
        started = time.perf_counter()
        self.fit_ours(10, 1, 0, self.train.limit(1000))
        self.warm_seconds = time.perf_counter() - started

    def fit_ours(self, k: int, passes: int, seed: int, frame: Any = None, **settings: Any) -> Any:
        """A fitted SpectralHDPModel."""
        from spectral_spark import SpectralHDP

        estimator = SpectralHDP(
            k=k, termsCol="terms", countsCol="counts", idCol="doc_id", vocabulary=list(self.corpus.vocabulary),
            refinePasses=passes, seed=seed, **settings,
        )
        return estimator.fit(self.train if frame is None else frame)

    def ours(self, name: str, k: int, budgets: Sequence[int], seed: int, emit: Emit, **settings: Any) -> None:
        """A fit from scratch for each number of refinement passes; time includes reading the corpus from disk."""
        for passes in budgets:
            with self._measured() as (clock, memory):
                model = self.fit_ours(k, passes, seed, **settings)
            tree = Tree(tuple(map(tuple, model.nodes.paths)), model.nodes.proportions)
            own = {"seconds": model.summary.seconds, "document_concentration": model.documentConcentration}
            emit(name, Snapshot(f"{passes} passes", clock.seconds, model.topicsMatrix(), model.weights, own), tree,
                 memory.peak_bytes)

    def mllib(self, optimizer: str, k: int, budgets: Sequence[int], seed: int, emit: Emit) -> None:
        """pyspark.ml LDA with its defaults and a learnt document prior; budgets are iterations."""
        from pyspark.ml.clustering import LDA

        preparing = Clock()
        with preparing.running():
            vectors = self.vectors("train").cache()
            vectors.count()
        test = self.vectors("test").cache()
        for iterations in budgets:
            with self._measured() as (clock, memory):
                model = LDA(k=k, optimizer=optimizer, maxIter=iterations, seed=seed).fit(vectors)
                matrix = model.topicsMatrix().toArray()
            alpha = np.asarray(model.estimatedDocConcentration())
            own = {"log perplexity bound on the test documents": float(model.logPerplexity(test))}
            # EM returns expected counts; their posterior mode under its topic concentration of 1.1 adds 0.1
            topics = columns(matrix + 0.1 if optimizer == "em" else matrix)
            weights = shares(matrix.sum(axis=0) if optimizer == "em" else alpha)
            emit(f"MLlib LDA {optimizer}", Snapshot(f"{iterations} iterations", clock.seconds, topics, weights, own,
                                                    preparing.seconds), None, memory.peak_bytes)
        vectors.unpersist()

    def vectors(self, split: str) -> Any:
        """The documents as pyspark.ml vectors."""
        from pyspark.ml.linalg import SparseVector, VectorUDT
        from pyspark.sql import functions as F

        size = len(self.corpus.vocabulary)

        def vector(terms: Any, counts: Any) -> SparseVector:
            return SparseVector(size, sorted(zip(terms, map(float, counts), strict=True)))

        function = F.udf(vector, VectorUDT())
        return self.corpus.documents(split).select("doc_id", function("terms", "counts").alias("features"))

    @contextmanager
    def _measured(self) -> Iterator[tuple[Clock, MemoryWatch]]:
        self.spark.sparkContext._jvm.System.gc()
        clock = Clock()
        with MemoryWatch() as memory, clock.running():
            yield clock, memory
