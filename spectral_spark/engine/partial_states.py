"""States on their way from the executors to the driver: as rows of row blocks, and back."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from spectral_spark.engine.kept_rows import keep_rows
from spectral_spark.engine.spark_connect import is_connect
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.engine.sparse_rows import gathered, whole
from spectral_spark.engine.tree_sum import State, TreeSum

PART_BYTES = 4 << 20
FETCH_BYTES = 64 << 20          # the JVM holds about four copies of what it hands over
MESSAGE_BYTES = 24 << 20        # under Spark Connect all of it may come in one message, which must stay below 128 MB
ROW_SCHEMA = "level int, position int, name string, part int, shape array<int>, data binary"
_ARROW_SCHEMA = pa.schema([
    ("level", pa.int32()), ("position", pa.int32()), ("name", pa.string()), ("part", pa.int32()),
    ("shape", pa.list_(pa.int32())), ("data", pa.large_binary()),
])


def encode(level: int, position: int, state: State) -> Iterator[pa.RecordBatch]:
    """A state as rows of at most PART_BYTES each."""
    for name, array in sorted(state.items()):
        array = np.ascontiguousarray(array, np.float64)
        flat, step = array.reshape(-1), _numbers_per_part(array.shape)
        for part, start in enumerate(range(0, max(len(flat), 1), step)):
            piece = flat[start : start + step]
            data = pa.Array.from_buffers(
                pa.large_binary(), 1, [None, pa.py_buffer(np.array([0, piece.nbytes], np.int64)), pa.py_buffer(piece)]
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array([level], pa.int32()), pa.array([position], pa.int32()), pa.array([name]),
                 pa.array([part], pa.int32()), pa.array([list(array.shape)], pa.list_(pa.int32())), data],
                schema=_ARROW_SCHEMA,
            )


def _numbers_per_part(shape: Sequence[int]) -> int:
    """How many numbers of an array travel together: whole rows if they fit, a part of a row if it is longer."""
    most, width = PART_BYTES // 8, max(1, math.prod(shape[1:]))
    return most // width * width if width <= most else most


def sum_by_row_blocks(partials: DataFrame, reducers: int, state_bytes: int, top: int) -> TreeSum:
    """Sum row blocks on the executors, each block in the fixed order; the driver sees every block at most twice."""
    kept = keep_rows(
        partials.repartition(reducers, "name", "part")
        .sortWithinPartitions("name", "part", "level", "position")
        .mapInArrow(_BlockAdder(top), ROW_SCHEMA),
        StorageLevel.DISK_ONLY,             # read once, and too large for a heap that also holds the documents
        "the sums of a pass",
    )
    summed = kept.frame
    try:
        if kept.again:                      # nothing is computed twice, at the price of memory on the driver
            return assemble([to_arrow(summed)], top)
        parts = summed.agg(F.max("part")).first()
        last = int(parts[0]) if parts is not None and parts[0] is not None else 0
        most = MESSAGE_BYTES if is_connect(summed.sparkSession) else FETCH_BYTES
        step = max(1, most * (last + 1) // max(state_bytes, 1))
        starts = range(0, last + 1, step)
        return assemble((to_arrow(summed.filter(F.col("part").between(at, at + step - 1))) for at in starts), top)
    finally:
        kept.release()


class _BlockAdder:
    """Runs on an executor: sums the pieces of each block as far as the fixed tree allows (they arrive sorted)."""

    def __init__(self, top: int) -> None:
        self._top = top

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        current: tuple[str, int] | None = None
        sums, shape = TreeSum(self._top), [0]
        for batch in batches:
            for row in range(batch.num_rows):
                at = (batch.column("name")[row].as_py(), batch.column("part")[row].as_py())
                if at != current:
                    if current is not None:
                        yield from _block_rows(current, shape, sums)
                    current, sums, shape = at, TreeSum(self._top), batch.column("shape")[row].as_py()
                data = np.frombuffer(batch.column("data")[row].as_buffer(), np.float64).copy()
                sums.push(batch.column("level")[row].as_py(), batch.column("position")[row].as_py(), {"data": data})
        if current is not None:
            yield from _block_rows(current, shape, sums)


def _block_rows(at: tuple[str, int], shape: list[int], sums: TreeSum) -> Iterator[pa.RecordBatch]:
    for level, position, state in sums.nodes():
        yield pa.RecordBatch.from_pydict(
            {"level": [level], "position": [position], "name": [at[0]], "part": [at[1]], "shape": [shape],
             "data": [whole(state)["data"].tobytes()]},
            schema=_ARROW_SCHEMA,
        )


def assemble(tables: Iterable[pa.Table], top: int) -> TreeSum:
    """Partial states from their rows: blocks of one array at one node are laid into one array."""
    states: dict[tuple[int, int], State] = {}
    for table in tables:
        for batch in table.to_batches():
            for row in range(batch.num_rows):
                node = (batch.column("level")[row].as_py(), batch.column("position")[row].as_py())
                name, part = batch.column("name")[row].as_py(), batch.column("part")[row].as_py()
                shape = tuple(batch.column("shape")[row].as_py())
                array = states.setdefault(node, {}).setdefault(name, np.zeros(shape))
                step = _numbers_per_part(shape)
                data = np.frombuffer(batch.column("data")[row].as_buffer(), np.float64)
                array.reshape(-1)[part * step : part * step + len(data)] = data
    sums = TreeSum(top)
    for (level, position), state in sorted(states.items(), key=lambda item: item[0]):
        sums.push(level, position, gathered(state))
    return sums
