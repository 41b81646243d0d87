"""Documents of one vocabulary in the word ids of another."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, StructField, StructType

from spectral_spark.engine.arrow import flat_lists

UNSEEN = "unseen_tokens"


def translated(frame: DataFrame, words: Sequence[str], target: Sequence[str]) -> DataFrame:
    """The same documents with ``terms`` as ids of ``target``; words it lacks are left out and counted.

    The column ``unseen_tokens`` (double) says how many words of each document were left out.
    """
    place = {word: number for number, word in enumerate(target)}
    mapping = np.array([place.get(word, -1) for word in words], np.int64)
    schema = StructType([*frame.schema.fields, StructField(UNSEEN, DoubleType())])
    return frame.mapInArrow(_Translator(mapping), schema)


def in_vocabulary(frame: DataFrame, words: Sequence[str], target: Sequence[str] | None) -> DataFrame:
    """The documents in the ids of ``target``: translated, or as they are when the vocabularies are the same."""
    if target is None or tuple(words) == tuple(target):
        return frame
    return translated(frame, words, target).drop(UNSEEN)


class _Translator:
    """Runs on an executor."""

    def __init__(self, mapping: np.ndarray) -> None:
        self._mapping = mapping

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self._translate(batch)

    def _translate(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        terms, starts = flat_lists(batch.column("terms"), np.int64)
        counts, _ = flat_lists(batch.column("counts"), np.int64)
        inside = (terms >= 0) & (terms < len(self._mapping))
        ids = np.where(inside, self._mapping[np.where(inside, terms, 0)], -1) if len(self._mapping) else terms * 0 - 1
        owner = np.repeat(np.arange(batch.num_rows), np.diff(starts))
        known = ids >= 0
        unseen = np.bincount(owner[~known], counts[~known], batch.num_rows)
        kept = np.concatenate(([0], np.cumsum(np.bincount(owner[known], minlength=batch.num_rows)))).astype(np.int32)
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["terms"] = pa.ListArray.from_arrays(kept, pa.array(ids[known].astype(np.int32)))
        columns["counts"] = pa.ListArray.from_arrays(kept, pa.array(counts[known].astype(np.int32)))
        return pa.RecordBatch.from_arrays(
            [*columns.values(), pa.array(unseen, pa.float64())], names=[*columns, UNSEEN]
        )
