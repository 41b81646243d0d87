"""A pass: map packed documents through a kernel into additive states, and sum the states in a fixed order."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel
from threadpoolctl import threadpool_limits

from spectral_spark.data.kernel import Accumulator, Kernel
from spectral_spark.engine.packed import Decoder, PackedCorpus, parallelism_of
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.sparse_rows import Partial, flattened, gathered, thinned, whole
from spectral_spark.engine.tree_sum import State, TreeSum
from spectral_spark.errors import InputError

PART_BYTES = 4 << 20
DIRECT_BYTES = 192 << 20
FETCH_BYTES = 64 << 20          # the JVM holds about four copies of what it hands over
_PARTIAL = "level int, position int, name string, part int, shape array<int>, data binary"
_ARROW_PARTIAL = pa.schema([
    ("level", pa.int32()), ("position", pa.int32()), ("name", pa.string()), ("part", pa.int32()),
    ("shape", pa.list_(pa.int32())), ("data", pa.large_binary()),
])


@dataclass(frozen=True)
class PassRecord:
    """What the run report keeps of a pass."""

    name: str
    seconds: float
    documents: int


def run_pass(
    packed: PackedCorpus,
    kernel: Kernel,
    shared: Mapping[str, np.ndarray],
    *,
    name: str,
    round: int = 0,
    rounds: int = 1,
    state_bytes: int = 0,
    progress: Progress | None = None,
    may_be_empty: bool = False,
) -> State:
    """The sum of the kernel's states over all documents, or over one ``rounds``-th of their blocks.

    Parameters
    ----------
    packed : the working copy of the corpus.
    kernel, shared : what runs on the executors, and the arrays it needs there.
    name : shown in the Spark UI and on the progress line.
    state_bytes : size of one state where the caller knows it; large states are summed by row blocks on the executors.
    may_be_empty : a round without documents gives no arrays instead of an error.
    """
    top = packed.depth
    total = _sum(packed, kernel, shared, name, round, rounds, state_bytes, progress, top).finish(packed.depth)
    if total is None and may_be_empty:
        return {}
    if total is None:
        raise InputError(f"{name}: no documents to work on; all were dropped or the selection is empty")
    return total


def run_halves(
    packed: PackedCorpus,
    kernel: Kernel,
    shared: Mapping[str, np.ndarray],
    *,
    name: str,
    round: int = 0,
    rounds: int = 1,
    state_bytes: int = 0,
    progress: Progress | None = None,
) -> tuple[State, State]:
    """The same as :func:`run_pass`, as the sums of two half samples (the two halves of the logical shards)."""
    top = packed.depth - 1
    first, second = _sum(packed, kernel, shared, name, round, rounds, state_bytes, progress, top).halves(packed.depth)
    if first is None and second is None:
        raise InputError(f"{name}: no documents to work on; all were dropped")
    known = first if first is not None else second
    assert known is not None
    empty = {key: np.zeros_like(array) for key, array in known.items()}
    return first if first is not None else empty, second if second is not None else empty


def _sum(
    packed: PackedCorpus, kernel: Kernel, shared: Mapping[str, np.ndarray], name: str, round: int, rounds: int,
    state_bytes: int, progress: Progress | None, top: int,
) -> TreeSum:
    """States merged up to level ``top`` of the fixed tree."""
    progress = progress or Progress()
    if packed.nearby is not None:
        with progress.watch(packed.frame.sparkSession, name, round, rounds):
            return packed.nearby.sum(kernel, shared, packed.decode, round, rounds, top)
    rows = packed.frame.filter(F.col("documents") > 0).select("shard", *packed.columns, "block")
    if rounds > 1:
        rows = rows.filter(F.pmod(F.col("block") + F.col("shard"), F.lit(rounds)) == round)
    with _Shared(packed.frame, shared) as handle, progress.watch(packed.frame.sparkSession, name, round, rounds):
        direct = state_bytes * min(packed.shards, 2 * parallelism_of(packed.frame)) <= DIRECT_BYTES
        partials = rows.mapInArrow(_Mapper(kernel, packed.decode, handle, top, thin=direct), _PARTIAL)
        if direct:
            return _assemble([partials.toArrow()], top)
        return _scatter(partials, parallelism_of(packed.frame), state_bytes, top)


class _Shared:
    """Arrays for the executors: a broadcast that is destroyed after the pass, or a closure under Spark Connect."""

    def __init__(self, frame: DataFrame, arrays: Mapping[str, np.ndarray]) -> None:
        context = getattr(frame.sparkSession, "_sc", None)
        self._broadcast: Any = context.broadcast(dict(arrays)) if context is not None else None
        self._arrays = {} if self._broadcast is not None else dict(arrays)

    def value(self) -> Mapping[str, np.ndarray]:
        if self._broadcast is None:
            return self._arrays
        arrays: Mapping[str, np.ndarray] = self._broadcast.value
        return arrays

    def __enter__(self) -> "_Shared":
        return self

    def __exit__(self, *_: object) -> None:
        if self._broadcast is not None:
            self._broadcast.destroy()


class _Mapper:
    """Runs on an executor: rows sorted by (shard, block) in; the states of what could be added up there out."""

    def __init__(self, kernel: Kernel, decode: Decoder, shared: _Shared, top: int, *, thin: bool) -> None:
        self._kernel, self._decode, self._shared, self._top, self._thin = kernel, decode, shared, top, thin

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with threadpool_limits(1):
            sums, shard, accumulator = TreeSum(self._top), -1, None
            for batch in batches:
                ids = batch.column("shard").to_numpy()
                for row in range(batch.num_rows):
                    if ids[row] != shard:
                        if accumulator is not None:
                            sums.push(0, shard, self._state(accumulator))
                        shard = int(ids[row])
                        accumulator = self._kernel.start(self._shared.value())
                    assert accumulator is not None
                    accumulator.add(self._decode(batch, row))
            if accumulator is not None:
                sums.push(0, shard, self._state(accumulator))
            del accumulator
            for level, position, state in sums.nodes():
                yield from _encode(level, position, flattened(state))

    def _state(self, accumulator: Accumulator) -> Partial:
        arrays = accumulator.arrays()
        return thinned(arrays) if self._thin else dict(arrays)          # row blocks add up only where all have them


def _encode(level: int, position: int, state: State) -> Iterator[pa.RecordBatch]:
    """A state as rows of at most PART_BYTES, whole rows of each array."""
    for name, array in sorted(state.items()):
        array = np.ascontiguousarray(array, np.float64)
        flat = array.reshape(array.shape[0], math.prod(array.shape[1:]))
        step = max(1, PART_BYTES // max(8, flat.shape[1] * 8))
        for part, start in enumerate(range(0, max(flat.shape[0], 1), step)):
            piece = flat[start : start + step]
            data = pa.Array.from_buffers(
                pa.large_binary(), 1, [None, pa.py_buffer(np.array([0, piece.nbytes], np.int64)), pa.py_buffer(piece)]
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array([level], pa.int32()), pa.array([position], pa.int32()), pa.array([name]),
                 pa.array([part], pa.int32()), pa.array([list(array.shape)], pa.list_(pa.int32())), data],
                schema=_ARROW_PARTIAL,
            )


def _scatter(partials: DataFrame, reducers: int, state_bytes: int, top: int) -> TreeSum:
    """Sum row blocks on the executors, each block in the fixed order; the driver sees every block at most twice."""
    summed = (
        partials.repartition(reducers, "name", "part")
        .sortWithinPartitions("name", "part", "level", "position")
        .mapInArrow(_BlockAdder(top), _PARTIAL)
    ).persist(StorageLevel.DISK_ONLY)       # read once, and too large for a heap that also holds the documents
    try:
        parts = summed.agg(F.max("part")).first()
        last = int(parts[0]) if parts is not None and parts[0] is not None else 0
        step = max(1, FETCH_BYTES * (last + 1) // max(state_bytes, 1))
        starts = range(0, last + 1, step)
        return _assemble((summed.filter(F.col("part").between(at, at + step - 1)).toArrow() for at in starts), top)
    finally:
        summed.unpersist()


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
            schema=_ARROW_PARTIAL,
        )


def _assemble(tables: Iterable[pa.Table], top: int) -> TreeSum:
    """Partial states from their rows: blocks of one array at one node are laid into one array."""
    states: dict[tuple[int, int], State] = {}
    for table in tables:
        for batch in table.to_batches():
            for row in range(batch.num_rows):
                node = (batch.column("level")[row].as_py(), batch.column("position")[row].as_py())
                name, part = batch.column("name")[row].as_py(), batch.column("part")[row].as_py()
                shape = tuple(batch.column("shape")[row].as_py())
                array = states.setdefault(node, {}).setdefault(name, np.zeros(shape))
                width = array[0].size if array.ndim > 1 and array.shape[0] else 1
                step = max(1, PART_BYTES // max(8, width * 8)) * width
                data = np.frombuffer(batch.column("data")[row].as_buffer(), np.float64)
                array.reshape(-1)[part * step : part * step + len(data)] = data
    sums = TreeSum(top)
    for (level, position), state in sorted(states.items(), key=lambda item: item[0]):
        sums.push(level, position, gathered(state))
    return sums


class PassLog:
    """Times of the passes of one run, for the run report."""

    def __init__(self) -> None:
        self.records: list[PassRecord] = []

    def timed(self, name: str, documents: int, started: float) -> None:
        self.records.append(PassRecord(name, round(time.perf_counter() - started, 3), documents))
