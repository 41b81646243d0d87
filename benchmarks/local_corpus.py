"""Drawn documents as a corpus of the engine, in one process and without Spark, for benchmarks of single steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.sparse_rows import whole
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

BATCH = 1024


@dataclass(frozen=True, eq=False)
class LocalPacked:
    """What the steps before sampling ask of a corpus."""

    batches: tuple[CountBatch, ...]
    spark: Any = None
    shards: int = 8

    def sum(
        self, kernel: Any, shared: Mapping[str, np.ndarray], rounds: int = 1, **_: Any
    ) -> dict[str, np.ndarray]:
        """Over all documents, or over the first of several rounds."""
        return _summed(kernel, shared, self.batches[::rounds])

    def sum_halves(self, kernel: Any, shared: Mapping[str, np.ndarray], **_: Any) -> tuple[dict[str, np.ndarray], ...]:
        return tuple(_summed(kernel, shared, self.batches[half::2]) for half in (0, 1))


def local_corpus(tree: DocumentTree, documents: CountBatch) -> CountedCorpus:
    """The documents as a corpus whose census was taken."""
    numbers = np.arange(documents.n_documents)
    batches = tuple(
        selected_documents(documents, (numbers >= start) & (numbers < start + BATCH))
        for start in range(0, len(numbers), BATCH)
    )
    census = Census.count(tree, documents.nodes, documents.lengths)
    packed: Any = LocalPacked(batches)
    return CountedCorpus(packed, census, int(documents.counts.sum()), {}, documents.vocab_size)


def _summed(kernel: Any, shared: Mapping[str, np.ndarray], batches: tuple[CountBatch, ...]) -> dict[str, np.ndarray]:
    accumulator = kernel.start(shared)
    for batch in batches:
        accumulator.add(batch)
    return whole(accumulator.arrays())
