"""Documents that the driver already holds as a batch, such as the sample kept with a model, as a corpus."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
from pyspark.sql import SparkSession

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.corpus import CountedCorpus, PathCounts
from spectral_spark.engine.driver_corpus import DriverCorpus
from spectral_spark.engine.memory import driver_threads
from spectral_spark.engine.pack_counts import BLOCK_DOCUMENTS
from spectral_spark.engine.packing import Block, shard_count
from spectral_spark.engine.progress import Progress
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree, Path


class SampleCorpus(DriverCorpus):
    """A batch of documents cut into the shards and blocks that packing would have made."""

    def __init__(self, spark: SparkSession, documents: CountBatch, progress: Progress, threads: int) -> None:
        shards = shard_count(documents.n_documents)
        self.spark, self.progress, self.shards, self.rows = spark, progress, shards, documents.n_documents
        self.decode = _already_decoded
        self._threads, self._table = threads, None
        self._blocks = self.decode, list(_blocks(documents, shards))

    def count(self) -> PathCounts:
        raise TypeError("the documents of a sample are counted when it is opened")


def open_sample(
    spark: SparkSession, documents: CountBatch, paths: tuple[Path, ...], cap: int | None, progress: Progress
) -> CountedCorpus:
    """A sample, whose nodes are positions in ``paths``, with its census."""
    tree, place = DocumentTree.with_nodes(paths)
    placed = replace(documents, nodes=place[documents.nodes])
    lengths = placed.lengths if cap is None else replace(placed, counts=np.minimum(placed.counts, cap)).lengths
    powers = (np.bincount(placed.nodes, lengths**power, len(tree)) for power in (1, 2, 3))
    census = Census(tree, np.bincount(placed.nodes, minlength=len(tree)), *powers)
    corpus = SampleCorpus(spark, placed, progress, driver_threads(spark))
    return CountedCorpus(corpus, census, int(placed.counts.sum()), {}, placed.vocab_size)


def _blocks(documents: CountBatch, shards: int) -> list[tuple[int, int, Block]]:
    """(shard, number, block), by the rules of ``pack_counts``: shards by key, sorted by key, equal blocks."""
    half = max(shards // 2, 1)
    keys = documents.keys
    shard = (keys % 2 % shards * half + (keys >> 1) % half).astype(np.int64)
    order = np.lexsort((keys, shard))
    found = list[tuple[int, int, Block]]()
    for number in np.unique(shard):
        mine = order[shard[order] == number]
        for block, start in enumerate(range(0, len(mine), BLOCK_DOCUMENTS)):
            rows = mine[start : start + BLOCK_DOCUMENTS]
            found.append((int(number), block, cache(partial(_taken, documents, rows))))
    return found


def _taken(documents: CountBatch, rows: np.ndarray) -> CountBatch:
    """These documents, in this order."""
    sizes = np.diff(documents.indptr)[rows]
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    entries = np.arange(indptr[-1]) + np.repeat(documents.indptr[rows] - indptr[:-1], sizes)
    return CountBatch(
        indptr.astype(np.int32), documents.terms[entries], documents.counts[entries], documents.nodes[rows],
        documents.keys[rows], documents.vocab_size,
    )


def _already_decoded(*_: object) -> CountBatch:
    raise TypeError("the documents of a sample are decoded already")
