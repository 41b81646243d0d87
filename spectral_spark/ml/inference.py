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
from spectral_spark.refine.fold_in import infer


class Proportions:
    """Runs on an executor: word ids, counts and hashes of a path's prefixes → proportions.

    Parameters
    ----------
    topics : array of shape (d, k), positive, columns sum to one.
    node_prior : array of shape (nodes, k).
    node_hashes, node_ids : sorted hashes of the nodes' paths, and the nodes they stand for.
    concentration : of documents around their node.
    """

    def __init__(
        self, topics: np.ndarray, node_prior: np.ndarray, node_hashes: np.ndarray, node_ids: np.ndarray,
        concentration: float, iterations: int = 50,
    ) -> None:
        self.topics, self.node_prior = topics, node_prior
        self.node_hashes, self.node_ids = node_hashes, node_ids
        self.concentration, self.iterations = concentration, iterations

    def __call__(self, terms: pa.Array, counts: pa.Array, prefixes: pa.Array) -> pa.Array:
        return self.of(terms, counts, self.nodes(prefixes))

    def of(self, terms: pa.Array, counts: pa.Array, nodes: np.ndarray) -> pa.Array:
        """Proportions of documents whose tree nodes are known: lists of k numbers, null for bad counts."""
        batch, good = self.batch(terms, counts, nodes, np.zeros(len(terms), np.int64))
        n, k = len(terms), self.topics.shape[1]
        with threadpool_limits(1):
            theta = infer(batch, self.topics, self.node_prior, self.concentration, self.iterations)
        offsets = np.arange(0, (n + 1) * k, k, dtype=np.int32)
        return pa.ListArray.from_arrays(offsets, pa.array(theta.ravel()), mask=pa.array(~good))

    def batch(
        self, terms: pa.Array, counts: pa.Array, nodes: np.ndarray, keys: np.ndarray
    ) -> tuple[CountBatch, np.ndarray]:
        """The known words of the documents, and which documents have counts that can be used."""
        term_values, starts = flat_lists(terms, np.int64)
        count_values, count_starts = flat_lists(counts, np.float64)
        n = len(terms)
        good = np.diff(starts) == np.diff(count_starts)
        if not good.all():
            keep = np.repeat(good, np.diff(starts)), np.repeat(good, np.diff(count_starts))
            term_values, count_values = term_values[keep[0]], count_values[keep[1]]
            starts = np.concatenate(([0], np.cumsum(np.where(good, np.diff(starts), 0))))
        owner = np.repeat(np.arange(n), np.diff(starts))
        good[owner[~((count_values >= 0) & np.isfinite(count_values))]] = False
        used = (count_values > 0) & (term_values >= 0) & (term_values < len(self.topics)) & good[owner]
        starts = np.concatenate(([0], np.cumsum(np.bincount(owner[used], minlength=n))))
        batch = CountBatch(
            starts.astype(np.int32), term_values[used].astype(np.int32), count_values[used], nodes, keys,
            len(self.topics),
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
