"""The moment store measured: the cost of adding one per cent, and two hundred updates in a row.

    python benchmarks/store.py --corpus CORPUS [--updates 200]

The corpus is one that ``ingest`` made. An update is compared with the passes of a full fit in the same session.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, markdown_table, write_json
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark import SpectralHDPModel
from spectral_spark.cli.verbs.fit import estimator
from spectral_spark.engine.session import start_session
from spectral_spark.ingest.corpus_store import open_corpus


def one_per_cent(train: DataFrame, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """A full fit's passes, and the passes of adding one per cent to it."""
    part = F.pmod(F.xxhash64("doc_id"), F.lit(100))
    hdp = estimator(words, k=50, refinePasses=2)
    model = hdp.fit(train.filter(part != 0))
    updated = model.update(train.filter(part == 0))
    rows = []
    for name, made in (("full fit", model), ("update with 1%", updated)):
        passes = made.summary.passes
        work = [step["documents"] for step in passes]
        rows.append({"what": name, "documents": made.summary.documents, "document passes": sum(work),
                     "pass seconds": sum(step["seconds"] for step in passes), "seconds": made.summary.seconds["total"]})
    whole, small = rows
    rows.append({"what": "update / fit", "document passes": small["document passes"] / whole["document passes"],
                 "pass seconds": small["pass seconds"] / whole["pass seconds"],
                 "seconds": small["seconds"] / whole["seconds"]})
    return rows


def many_updates(train: DataFrame, words: tuple[str, ...], count: int, work: Path) -> list[dict[str, Any]]:
    """Time and size of updates in a row, each saved and loaded again as a nightly job would."""
    part = F.pmod(F.xxhash64("doc_id"), F.lit(2 * count))
    cached = train.withColumn("part", part).cache()
    model = estimator(words, k=20, refinePasses=1).fit(cached.filter(F.col("part") >= count).drop("part"))
    seconds, sizes = [], []
    for number in range(count):
        started = time.perf_counter()
        model = model.update(cached.filter(F.col("part") == number).drop("part"))
        path = work / f"model-{number}"
        model.save(str(path))
        model = SpectralHDPModel.load(str(path))
        seconds.append(time.perf_counter() - started)
        sizes.append(sum(file.stat().st_size for file in path.rglob("*") if file.is_file()))
        shutil.rmtree(path)
        if number % 20 == 19:
            print(f"update {number + 1}: {np.mean(seconds[-20:]):.2f} s, {sizes[-1] / 2**20:.2f} MiB", file=sys.stderr)
    edge = max(1, count // 5)
    return [{"what": f"{count} updates: last fifth / first fifth", "seconds": float(np.median(seconds[-edge:]) /
             np.median(seconds[:edge])), "size": sizes[-1] / sizes[0], "median seconds": float(np.median(seconds)),
             "MiB": sizes[-1] / 2**20, "documents": model.summary.documents}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    work = Path(tempfile.mkdtemp(prefix="spectral-store-"))
    spark = start_session("store benchmark", master="local[2]", settings={"spark.driver.memory": "3g"})
    facts = context()
    try:
        corpus = open_corpus(spark, options.corpus)
        train = corpus.documents("train")
        rows = one_per_cent(train, corpus.vocabulary)
        print(rows, file=sys.stderr)
        rows += many_updates(train, corpus.vocabulary, options.updates, work)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    write_json(options.output / "store.json", {**facts, "rows": rows})
    table = markdown_table(rows, ["what", "documents", "document passes", "pass seconds", "seconds", "size", "MiB"])
    (options.output / "store.md").write_text(f"Revision {facts['revision']}, load {facts['load_at_start']}\n\n{table}")
    print(table)


if __name__ == "__main__":
    main()
