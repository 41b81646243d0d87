"""Topic proportions of documents in any DataFrame, as one vectorised Arrow function."""

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.arrow import flat_lists, with_arrow_column
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.engine.documents import DocumentColumns, document_columns
from spectral_spark.refine.fixed_topics import FixedTopics, usable_counts


class Proportions:
    """Runs on an executor: word ids, counts and hashes of a path's prefixes → proportions.

    Parameters
    ----------
    model : topics and the proportions of the tree's nodes.
    node_hashes, node_ids : sorted hashes of the nodes' paths, and the nodes they stand for.
    """

    def __init__(self, model: FixedTopics, node_hashes: np.ndarray, node_ids: np.ndarray) -> None:
        self.model, self.node_hashes, self.node_ids = model, node_hashes, node_ids

    def __call__(self, terms: pa.Array, counts: pa.Array, prefixes: pa.Array) -> pa.Array:
        """Lists of k numbers, null for bad counts."""
        batch, good = self.batch(terms, counts, self.nodes(prefixes))
        n, k = len(terms), self.model.topics.shape[1]
        with threadpool_limits(1):
            theta = self.model.of(batch)
        offsets = np.arange(0, (n + 1) * k, k, dtype=np.int32)
        return pa.ListArray.from_arrays(offsets, pa.array(theta.ravel()), mask=pa.array(~good))

    def batch(
        self, terms: pa.Array, counts: pa.Array, nodes: np.ndarray, keys: np.ndarray | None = None
    ) -> tuple[CountBatch, np.ndarray]:
        """The known words of the documents, and which documents have counts that can be used."""
        batch, good = usable_counts(
            *flat_lists(terms, np.int64), *flat_lists(counts, np.float64), nodes, len(self.model.topics), keys
        )
        return batch, good & ~terms.is_null().to_numpy(zero_copy_only=False)

    def nodes(self, prefixes: pa.Array) -> np.ndarray:
        """The deepest known node on each document's path; the root where none is known."""
        hashes, starts = flat_lists(prefixes, np.int64)
        at = np.minimum(np.searchsorted(self.node_hashes, hashes), len(self.node_hashes) - 1)
        known = np.flatnonzero(self.node_hashes[at] == hashes)
        nodes = np.zeros(len(prefixes), np.int32)
        owner = np.repeat(np.arange(len(prefixes)), np.diff(starts))
        nodes[owner[known]] = self.node_ids[at[known]]      # prefixes come from short to long: the longest stays
        return nodes


def add_proportions(frame: DataFrame, columns: DocumentColumns, output: str, proportions: Proportions) -> DataFrame:
    """The frame with a column of proportions, array<double>; null where counts are missing, negative or not numbers."""
    handle = hold(frame, proportions)

    def run(terms: pa.Array, counts: pa.Array, prefixes: pa.Array, *_: pa.Array) -> pa.Array:
        return handle()(terms, counts, prefixes)

    terms, counts, path = document_columns(frame, columns)
    return with_arrow_column(frame, output, run, [terms, counts, path_prefixes(path)])


def path_prefixes(path: Column) -> Column:
    """Hashes of a path's prefixes, from the root's down to the whole path's."""
    known = F.coalesce(path, F.array().cast("array<string>"))
    return F.transform(
        F.sequence(F.lit(0), F.size(known)), lambda level: F.xxhash64(F.slice(known, F.lit(1), level))
    )
