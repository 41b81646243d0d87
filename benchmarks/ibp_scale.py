"""Millions of rows: how the time of a fit grows, and how close the moment pass is to its matrix products.

    python benchmarks/ibp_scale.py [--rows 1000000,2000000,5000000,10000000] [--columns 100]
                                   [--part kernel|growth|all] [--scratch DIR] [--master local[2]]
    python benchmarks/ibp_scale.py --part growth --rows 1000,2000 --columns 100000        # wide rows

``kernel`` compares the moment kernel with the bare products of the same rows (whitening, then pairs × rows times rows ×
pairs), interleaved, in processor time of one core. ``growth`` writes simulated rows as Parquet and fits them on Spark.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import RESULTS, context, markdown_table, write_json
from threadpoolctl import threadpool_limits

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.ibp.cumulants import CumulantKernel

BATCH, FEATURES = 2048, 10
NOISE = 0.5


def simulated(keys: np.ndarray, columns: int) -> np.ndarray:
    """Rows of binary features as float32, the same for the same keys."""
    truth = np.random.default_rng(1).standard_normal((FEATURES, columns)) * (
        np.random.default_rng(2).random((FEATURES, columns)) < 0.3
    )
    rng = np.random.default_rng(int(keys[0]))
    codes = (rng.random((len(keys), FEATURES)) < np.linspace(0.1, 0.6, FEATURES)).astype(np.float32)
    return codes @ truth.astype(np.float32) + NOISE * rng.standard_normal((len(keys), columns), np.float32)


def kernel_rows(columns: int, repeats: int = 25) -> list[dict[str, Any]]:
    """Microseconds per row of the kernel and of the bare products, for several k."""
    rows = []
    for k in (5, 10, 20, 30, 40):
        rng = np.random.default_rng(0)
        values, whitening = rng.standard_normal((BATCH, columns)), rng.standard_normal((columns, k))
        accumulator = CumulantKernel().start({"mean": values.mean(axis=0), "whitening": whitening})
        batch = DenseBatch(values, np.arange(BATCH))
        pairs = rng.standard_normal((k * (k + 1) // 2, BATCH))
        pairs_of_rows = np.ascontiguousarray(pairs.T)
        jobs: dict[str, Callable[[], object]] = {
            "kernel": partial(accumulator.add, batch),
            "whiten": partial(np.matmul, values, whitening),
            "pairs": partial(np.matmul, pairs, pairs_of_rows),
        }
        micro = {name: 1e6 * seconds / BATCH for name, seconds in _processor_seconds(jobs, repeats).items()}
        bare = micro["whiten"] + micro["pairs"]
        rows.append({"k": k, "kernel µs/row": micro["kernel"], "bare products µs/row": bare,
                     "ratio": micro["kernel"] / bare})
    return rows


def _processor_seconds(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median processor seconds of each job, run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            started = time.process_time()
            job()
            seconds[name].append(time.process_time() - started)
    return {name: float(np.median(values)) for name, values in seconds.items()}


class Simulate:
    """Runs on an executor: ids in, ids and rows out, in blocks whose content depends on their first id alone."""

    def __init__(self, columns: int) -> None:
        self._columns = columns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys = batch.column("id").to_numpy()
            values = simulated(keys, self._columns)
            starts = np.arange(0, values.size + 1, self._columns, dtype=np.int32)
            lists = pa.ListArray.from_arrays(starts, pa.array(values.ravel()))
            yield pa.RecordBatch.from_arrays([batch.column("id"), lists], ["id", "x"])


def growth(spark: Any, sizes: list[int], columns: int, scratch: Path) -> list[dict[str, Any]]:
    """A fit for every size: seconds in all, per pass, and per million rows."""
    from pyspark import cloudpickle

    from spectral_spark import SpectralIBP
    from spectral_spark.engine.batch_size import small_batches

    cloudpickle.register_pickle_by_value(__import__(__name__))
    rows = []
    for size in sizes:
        path = str(scratch / f"rows-{size}.parquet")
        parts = max(2, size // 250_000)
        frame = spark.range(0, size, 1, parts).mapInArrow(Simulate(columns), "id long, x array<float>")
        with small_batches(spark, columns):
            frame.write.mode("overwrite").parquet(path)
            started = time.perf_counter()
            model = SpectralIBP(featuresCol="x", idCol="id", k="auto").fit(spark.read.parquet(path))
            seconds = time.perf_counter() - started
        passes = {one["name"]: one["seconds"] for one in model.summary.passes}
        rows.append({"rows": size, "seconds": seconds, "seconds per million rows": 1e6 * seconds / size, "k": model.k,
                     "σ found": model.noiseVariance**0.5, **{f"{name} s": value for name, value in passes.items()}})
        shutil.rmtree(path, ignore_errors=True)
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--rows", default="1000000,2000000,5000000,10000000")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--part", choices=["kernel", "growth", "all"], default="all")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="5g", help="heap of the JVM; ten million rows are 4 GB")
    arguments = parser.parse_args()
    if arguments.part in ("kernel", "all"):
        with threadpool_limits(1):
            _report("ibp_kernel", kernel_rows(arguments.columns), arguments.output)
    if arguments.part in ("growth", "all"):
        from spectral_spark.engine.session import new_log, start_session

        log = new_log()
        spark = start_session(
            "ibp scale", master=arguments.master, settings={"spark.driver.memory": arguments.memory}, log=log
        )
        try:
            with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
                sizes = [int(size) for size in arguments.rows.split(",")]
                rows = growth(spark, sizes, arguments.columns, Path(scratch))
        finally:
            spark.stop()
            log.unlink(missing_ok=True)
        _report("ibp_growth" if arguments.columns == 100 else f"ibp_growth_{arguments.columns}", rows, arguments.output)


def _report(name: str, rows: list[dict[str, Any]], output: Path) -> None:
    table = markdown_table(rows, list(rows[0]))
    write_json(output / f"{name}.json", {"context": context(), "rows": rows})
    (output / f"{name}.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
