"""Codes, activity or reconstruction of rows in any DataFrame, as one vectorised Arrow function."""

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from threadpoolctl import threadpool_limits

from spectral_spark.engine.arrow import with_arrow_column
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.engine.rows import dense_matrix, refuse_other_width, vector_columns
from spectral_spark.errors import InputError
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.likelihood import RowReader, refuse_unreadable

OUTPUTS = ("codes", "both", "reconstruction")
"""Codes; codes followed by activity; or the row that the codes stand for."""


class RowFunction:
    """Runs on an executor: size, indices and values of vectors → one of ``OUTPUTS``, null where there is no vector."""

    def __init__(self, model: FeatureModel, output: str, missing: str) -> None:
        self._model, self._output, self._missing = model, output, missing

    def __call__(self, sizes: pa.Array, indices: pa.Array, values: pa.Array) -> pa.Array:
        there = values.is_valid().to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(there)
        refuse_other_width(sizes.take(rows).to_numpy(zero_copy_only=False), self._model.width)
        matrix = dense_matrix(indices.take(rows), values.take(rows), self._model.width, np.float64)
        refuse_unreadable(matrix, self._missing)
        with threadpool_limits(1):
            found = self._read(matrix)
        whole = np.zeros((len(there), found.shape[1]))
        whole[rows] = found
        offsets = np.arange(0, whole.size + 1, found.shape[1], dtype=np.int32)
        return pa.ListArray.from_arrays(offsets, pa.array(whole.ravel()), mask=pa.array(~there))

    def _read(self, matrix: np.ndarray) -> np.ndarray:
        read = RowReader(self._model).read(matrix)
        if self._output == "reconstruction":
            return self._model.reconstruct(read.codes)
        return read.codes if self._output == "codes" else np.hstack([read.codes, read.activity])


def add_rows(
    frame: DataFrame, features: str, name: str, model: FeatureModel, output: str, missing: str
) -> DataFrame:
    """The frame with one of ``OUTPUTS`` as a column of array<double>."""
    if output not in OUTPUTS:
        raise InputError(f"'{output}' is not one of {', '.join(OUTPUTS)}")
    handle = hold(frame, model)

    def run(sizes: pa.Array, indices: pa.Array, values: pa.Array, *_: pa.Array) -> pa.Array:
        return RowFunction(handle(), output, missing)(sizes, indices, values)

    size, indices, values = vector_columns(frame, features)
    return with_arrow_column(frame, name, run, [size, indices, values.cast("array<double>")])

