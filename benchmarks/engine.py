"""The engine measured: against plain processes, the cost of fixed bits, shape of the tree, growth, many words, scoring.

    python benchmarks/engine.py [--only processes,bits,layers,shapes,weightings,…] [--documents 40000]

Everything that is compared runs in turn in one run; the table gives ratios. Results: results/engine.json and engine.md;
a run of some benchmarks replaces their rows there and leaves the others.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS, MemoryWatch, context, interleaved, markdown_table, merge_rows
from engine_trees import layers, shapes, weightings
from made_up import estimator, fit_seconds, write_corpus
from pyspark.sql import SparkSession
from threadpoolctl import threadpool_limits

from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.engine.corpus import take_census
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.executor_corpus import ExecutorCorpus
from spectral_spark.engine.pack_counts import CountDecoder, PackSettings, pack_counts
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.session import start_session
from spectral_spark.engine.tree_sum import State
from spectral_spark.moments.moment_kernel import MomentKernel
from spectral_spark.moments.range_finder import RangeKernel

COLUMNS = DocumentColumns(None, "terms", "counts", "path", "doc_id")


def packed_corpus(spark: SparkSession, path: Path, vocab_size: int) -> ExecutorCorpus:
    source = inspect_documents(spark.read.parquet(str(path)), COLUMNS, vocab_size=vocab_size)
    corpus = ExecutorCorpus(pack_counts(source, PackSettings(vocab_size, 2)), Progress())
    take_census(corpus, vocab_size)
    return corpus


# ---------------------------------------------------------------- the same kernel in plain processes
def _plain_part(job: tuple[str, Any, dict[str, np.ndarray], CountDecoder]) -> State:
    file, kernel, shared, decode = job
    with threadpool_limits(1):
        accumulator = kernel.start(shared)
        for batch in pq.ParquetFile(file).iter_batches(64):
            for row in range(batch.num_rows):
                accumulator.add(decode(batch, row))
        state: State = accumulator.arrays()
    return state


def plain_processes(pool: Any, files: list[str], kernel: Any, shared: dict[str, np.ndarray], decode: Any) -> float:
    """Documents summed by two plain processes over Parquet files of the same packed rows."""
    states = pool.map(_plain_part, [(file, kernel, shared, decode) for file in files], chunksize=1)
    total = states[0]
    for state in states[1:]:
        total = {name: total[name] + state[name] for name in total}
    return float(total["totals"].ravel()[1])


def against_processes(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    """Few documents show what a Spark job costs by itself, eight times as many the throughput."""
    for count in (documents, 8 * documents):
        yield from _against_processes(spark, work / f"processes{count}", count)


def _against_processes(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    d = 10_000
    write_corpus(work / "processes", documents, d)
    packed = packed_corpus(spark, work / "processes", d)
    files_at = work / "packed"
    packed.frame.filter("documents > 0").select("shard", *packed.data, "block").write.parquet(str(files_at))
    files = sorted(str(file) for file in files_at.glob("*.parquet"))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for p in (60, 110):
            basis, factor = np.random.default_rng(1).standard_normal((d, p)), np.ones(1)
            for name, kernel, shared in (
                ("range", RangeKernel(d, 2), {"probe": basis, "factor": factor}),
                ("moments", MomentKernel(d, 2), {"basis": basis, "factor": factor}),
            ):
                calls: dict[str, Callable[[], Any]] = {
                    "spark": partial(packed.sum, kernel, shared, name="bench"),
                    "plain": partial(plain_processes, pool, files, kernel, shared, packed.decode),
                }
                for call in calls.values():
                    call()
                seconds = {name: min(times) for name, times in interleaved(calls, 3).items()}
                yield {
                    "what": f"{name} pass, p = {p}, against two plain processes", "target": "≥ 0.7",
                    "ratio": seconds["plain"] / seconds["spark"], "seconds": seconds["spark"],
                    "other seconds": seconds["plain"], "documents": documents,
                }
    packed.close()


# ---------------------------------------------------------------- what fixed bits cost
class _PlainSum:
    """The same pass without logical shards: every partition sums as it comes, the driver adds."""

    def __init__(self, kernel: Any, shared: dict[str, np.ndarray], decode: Any) -> None:
        self.kernel, self.shared, self.decode = kernel, shared, decode

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with threadpool_limits(1):
            accumulator = self.kernel.start(self.shared)
            for batch in batches:
                for row in range(batch.num_rows):
                    accumulator.add(self.decode(batch, row))
            for name, array in accumulator.arrays().items():
                yield pa.RecordBatch.from_pydict({"name": [name], "data": [array.tobytes()]})


def fixed_bits(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    d, p = 10_000, 110
    if not (work / "processes").exists():
        write_corpus(work / "processes", documents, d)
    packed = packed_corpus(spark, work / "processes", d)
    kernel = MomentKernel(d, 2)
    shared = {"basis": np.random.default_rng(1).standard_normal((d, p)), "factor": np.ones(1)}

    def plain() -> None:
        rows = packed.frame.filter("documents > 0").select(*packed.data)
        parts = rows.mapInArrow(_PlainSum(kernel, shared, packed.decode), "name string, data binary").toArrow()
        sums: dict[str, np.ndarray] = {}
        for name, data in zip(parts["name"].to_pylist(), parts["data"], strict=True):
            values = np.frombuffer(data.as_buffer(), np.float64)
            sums[name] = sums[name] + values if name in sums else values

    def fixed() -> None:
        packed.sum(kernel, shared, name="bench")

    fixed()
    plain()
    seconds = {name: min(times) for name, times in interleaved({"fixed": fixed, "plain": plain}, 4).items()}
    yield {"what": "moment pass with fixed bits against the plain sum", "target": "–",
           "ratio": seconds["fixed"] / seconds["plain"], "seconds": seconds["fixed"], "other seconds": seconds["plain"],
           "documents": documents}
    packed.close()


def growth(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    d, base = 5_000, max(documents // 2, 1000)
    first = 0.0
    for factor in (1, 2, 4, 8):
        path = work / f"growth{factor}"
        write_corpus(path, base * factor, d)
        frame = spark.read.parquet(str(path))
        if factor == 1:
            fit_seconds(frame, d)
        with MemoryWatch() as memory:
            seconds = fit_seconds(frame, d)
        first = first or seconds
        driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield {"what": f"fit of {factor}× documents: time per document against 1×", "target": "≤ 1.0",
               "ratio": seconds / first / factor, "seconds": seconds, "other seconds": first,
               "documents": base * factor, "driver MiB": round(driver), "all processes MiB": memory.peak_bytes >> 20}
        shutil.rmtree(path)


def vocabulary(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    d = 1_000_000
    write_corpus(work / "vocabulary", documents, d)
    frame = spark.read.parquet(str(work / "vocabulary"))
    with MemoryWatch() as memory:
        seconds = fit_seconds(frame, d)
    driver = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield {"what": "fit over 1,000,000 words, k = 50: driver GiB (Python) / 4", "target": "≤ 1", "ratio": driver / 4,
           "seconds": seconds, "other seconds": None, "documents": documents, "driver MiB": round(driver * 1024),
           "all processes MiB": memory.peak_bytes >> 20}


def transforming(spark: SparkSession, work: Path, documents: int) -> Iterator[dict[str, Any]]:
    """Topic proportions of documents that a model has not seen, from Parquet, written nowhere."""
    d = 10_000
    write_corpus(work / "transform", documents, d, seed=1)
    frame = spark.read.parquet(str(work / "transform"))
    for k in (20, 50, 100):
        model = estimator(vocabSize=d, k=k).fit(frame.limit(5_000))
        score = model.transform(frame).write.format("noop").mode("overwrite").save
        seconds = min(interleaved({"transform": score}, 3)["transform"])
        yield {"what": f"transform, k = {k}", "target": "–", "documents per second": round(documents / seconds),
               "seconds": seconds, "documents": documents}


BENCHMARKS = {"processes": against_processes, "bits": fixed_bits, "layers": layers, "shapes": shapes,
              "weightings": weightings, "growth": growth,
              "vocabulary": vocabulary, "transform": transforming}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(BENCHMARKS), help="comma-separated: " + ", ".join(BENCHMARKS))
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="spectral-bench-"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    spark = start_session("engine benchmark", master="local[2]", settings={
        "spark.driver.memory": "3g", SETTING: "0",              # how work is spread is what is measured
    })
    rows: list[dict[str, Any]] = []
    facts = context()
    try:
        for name in options.only.split(","):
            for row in BENCHMARKS[name](spark, work, options.documents):
                rows.append({"benchmark": name, **row})
                print(row, file=sys.stderr)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    print(write_results(options.output, rows, facts))


def write_results(output: Path, rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """Put the rows beside those of benchmarks that did not run now; returns the table."""
    output.mkdir(parents=True, exist_ok=True)
    rows = [{**row, "revision": facts["revision"], "load": facts["load_at_start"]} for row in rows]
    whole = merge_rows(output / "engine.json", rows, ["benchmark"], machine=facts["machine"],
                       versions=facts["versions"], date=facts["date"])
    order = list(BENCHMARKS)
    columns = ["what", "target", "ratio", "seconds", "other seconds", "documents", "documents per second", "driver MiB",
               "all processes MiB", "revision", "load"]
    table = markdown_table(sorted(whole["rows"], key=lambda row: order.index(row["benchmark"])), columns)
    (output / "engine.md").write_text(table)
    return table


if __name__ == "__main__":
    main()
