"""The forecast against what fits really take, and what it says of large corpora.

    python benchmarks/capacity.py [--documents 5000,20000,60000]

Fits made-up corpora of several sizes in local[2] and prints forecast and measurement side by side, then the table of
docs/guides/capacity.md: a million, a hundred million and a billion documents on clusters of stated sizes.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import RESULTS, context, markdown_table, write_json
from made_up import WORDS, estimator, write_corpus

from spectral_spark.engine.session import start_session
from spectral_spark.fit.forecast import Forecast, forecast
from spectral_spark.fit.kernel_costs import CorpusSize, KernelCosts, measure_kernels

VOCABULARY = 5_000
CLUSTERS = ((1_000_000, 10_000, 16, 4), (100_000_000, 100_000, 256, 64), (1_000_000_000, 100_000, 1024, 256))


def size_of(documents: int, vocab_size: int = VOCABULARY) -> CorpusSize:
    return CorpusSize(documents, int(documents * WORDS / 0.75), vocab_size)


def measured(counts: list[int]) -> list[dict[str, Any]]:
    """Fits of several sizes beside their forecast; a first fit warms everything up."""
    work = Path(tempfile.mkdtemp(prefix="spectral-capacity-"))
    spark = start_session("capacity benchmark", master="local[2]", settings={"spark.driver.memory": "3g"})
    rows = []
    try:
        hdp = estimator(vocabSize=VOCABULARY, k=50, refinePasses=1, concentrations="auto")
        for number, documents in enumerate([counts[0], *counts]):
            path = work / str(number)
            write_corpus(path, documents, VOCABULARY)
            frame = spark.read.parquet(str(path))
            started = time.perf_counter()
            summary = hdp.fit(frame).summary
            seconds = time.perf_counter() - started
            if number == 0:
                continue
            predicted = forecast(size_of(documents), hdp.fitSettings(), 2)
            rows.append({"documents": documents, "forecast s": predicted.seconds, "measured s": seconds,
                         "ratio": predicted.seconds / seconds, "passes": summary.passes,
                         "steps": {step.name: round(step.seconds, 3) for step in predicted.passes}})
            print(rows[-1], file=sys.stderr)
    finally:
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)
    return rows


def large() -> list[dict[str, Any]]:
    """What the forecast says of corpora that do not fit here."""
    rows = []
    for documents, vocab_size, cores, executors in CLUSTERS:
        size = size_of(documents, vocab_size)
        settings = estimator(k=50, refinePasses=1, concentrations="auto").fitSettings()
        costs: KernelCosts = measure_kernels(size, settings)
        found: Forecast = forecast(size, settings, cores, executors=executors, costs=costs)
        rows.append({
            "documents": f"{documents:,}", "words": f"{vocab_size:,}",
            "cluster": f"{executors} × {cores // executors} cores",
            "minutes": found.seconds / 60, "driver GiB": found.memory.driver / 2**30,
            "worker GiB": found.memory.worker / 2**30, "bottleneck": found.bottleneck,
        })
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", default="5000,20000,60000")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    facts, rows = context(), measured([int(count) for count in options.documents.split(",")])
    scale = large()
    write_json(options.output / "capacity.json", {**facts, "rows": rows, "large": scale})
    text = (
        f"Revision {facts['revision']}, load {facts['load_at_start']}\n\n"
        + markdown_table(rows, ["documents", "forecast s", "measured s", "ratio"]) + "\n"
        + markdown_table(scale, ["documents", "words", "cluster", "minutes", "driver GiB", "worker GiB", "bottleneck"])
    )
    (options.output / "capacity.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
