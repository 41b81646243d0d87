"""The documents that show a topic best, found in one pass over a DataFrame of any size."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from threadpoolctl import threadpool_limits

from spectral_spark.answers.exemplars import CANDIDATES, OVERSAMPLED, Exemplar, best_candidates, candidate_rows, thinned
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.engine.documents import DocumentColumns, document_columns
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.ml.inference import Proportions, path_prefixes

LEAST_WORDS = 5            # documents with fewer known words show nothing
_SCHEMA = "node int, topic int, share double, content long, id string, words long, sketch binary"


class PartitionCandidates:
    """Runs on an executor: documents of one partition → its candidates for every topic and node."""

    def __init__(self, model: Proportions, ancestors: np.ndarray, most: int, least_words: int) -> None:
        self.model, self.ancestors, self.most, self.least_words = model, ancestors, most, least_words

    def of(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        best = CANDIDATES.empty_table()
        for batch in batches:
            best = best_candidates(pa.concat_tables([best, self._candidates(batch)]), self.most)
        yield from best.to_batches()

    def _candidates(self, rows: pa.RecordBatch) -> pa.Table:
        documents, good = self.model.batch(rows["terms"], rows["counts"], self.model.nodes(rows["prefixes"]))
        with threadpool_limits(1):
            shares = self.model.model.of(documents)
        levels = [column[documents.nodes] for column in self.ancestors]
        enough = good & (documents.lengths >= self.least_words)
        return candidate_rows(rows["id"].to_pylist(), documents, shares, levels, self.most, enough)


def find_exemplars(
    frame: DataFrame, columns: DocumentColumns, names: Column, model: Proportions, ancestors: np.ndarray, n: int,
    least_words: int = LEAST_WORDS,
) -> list[Exemplar]:
    """The ``n`` documents with the largest share of every topic, at every node that is asked for.

    Parameters
    ----------
    names : column of the documents' ids.
    ancestors : int array of shape (levels, nodes): for every node its ancestor on each level that is asked for, −1 for
        none.
    least_words : documents with fewer known words are passed over.
    """
    work = PartitionCandidates(model, ancestors, OVERSAMPLED * n, least_words)
    handle, most = hold(frame, work), work.most

    def candidates(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return handle().of(batches)

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = [pa.Table.from_batches([batch]).cast(CANDIDATES) for batch in batches]
        if tables:
            yield from best_candidates(pa.concat_tables(tables), most).to_batches()

    terms, counts, path = document_columns(frame, columns)
    documents = frame.select(
        names.cast("string").alias("id"), terms.alias("terms"), counts.alias("counts"),
        path_prefixes(path).alias("prefixes"),
    )
    found = documents.mapInArrow(candidates, _SCHEMA).repartition("node", "topic").mapInArrow(merged, _SCHEMA)
    return thinned(to_arrow(found).cast(CANDIDATES), n)


def ancestors_of(paths: tuple[tuple[str, ...], ...], depth: int, below: tuple[str, ...] = ()) -> np.ndarray:
    """For every node its ancestors from the node ``below`` down to ``depth`` levels further; −1 for none."""
    index = {path: node for node, path in enumerate(paths)}
    first = len(below)
    table = np.full((depth + 1, len(paths)), -1, np.int64)
    for node, path in enumerate(paths):
        for level in range(depth + 1):
            if path[:first] == below and len(path) >= first + level:
                table[level, node] = index[path[: first + level]]
    return table

