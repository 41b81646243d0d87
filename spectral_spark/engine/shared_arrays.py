"""Arrays on their way from the driver to the executors, and how many cores are there."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from spectral_spark.engine.uploaded_value import UploadedValue


class SharedArrays:
    """Arrays for the executors: a broadcast that is destroyed after the pass; under Spark Connect they are sent inside
    the function or, if they are large, as a file (see ``engine.uploaded_value``)."""

    def __init__(self, spark: SparkSession, arrays: Mapping[str, np.ndarray]) -> None:
        context = getattr(spark, "_sc", None)
        self._broadcast: Any = context.broadcast(dict(arrays)) if context is not None else None
        self._uploaded: UploadedValue[dict[str, np.ndarray]] | None = None
        if context is None:
            self._uploaded = UploadedValue(spark, dict(arrays))

    def value(self) -> Mapping[str, np.ndarray]:
        if self._uploaded is not None:
            return self._uploaded()
        arrays: Mapping[str, np.ndarray] = self._broadcast.value
        return arrays

    def close(self) -> None:
        if self._broadcast is not None:
            self._broadcast.destroy()

    def __enter__(self) -> "SharedArrays":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def parallelism(spark: SparkSession) -> int:
    """Cores that the session can use at once; a guess of 8 where the client cannot ask (Spark Connect)."""
    context = getattr(spark, "_sc", None)
    return int(context.defaultParallelism) if context is not None else 8
