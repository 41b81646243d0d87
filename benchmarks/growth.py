"""Does a fit stay linear? Time per document and memory from 60,000 to a million real documents and ten million drawn.

    python benchmarks/growth.py --histories CORPUS [--only 60000,250000,all,10000000] [--k 100]

Every size is a row of its own, fitted by a process of its own; a row that is in results/growth.json for this k is
skipped unless --again is given, so that a run can be interrupted and continued. Beside the measurement stands the
forecast of ``fit --dry-run``, made on this machine before the fit; --k 50, 100 and 300 check it. Slopes are exponents
b of documents^b: 0 for time per document or memory that do not grow. The drawn documents have the lengths, the
vocabulary and the number of tree nodes of the real ones; they, and parts of the real ones, are written to --work once.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS, context, git_revision, load_average, markdown_table, merge_rows, python
from fit_watch import ProcessPeaks, read_documents, slope

DRAWN = "drawn"
VOCABULARY, TOPICS, NODES, TOPICS_PER_DOCUMENT, CHUNK = 20_000, 100, 290, 3, 250_000
GROWING = ("microseconds per document", "driver MiB", "largest worker MiB")
COLUMNS = ["documents", "kind", "k", "words", "seconds", "forecast", "forecast / measured",
           "microseconds per document", "driver MiB", "largest JVM MiB",
           "largest worker MiB", "census", "range", "moments", "solve", "refine", "load", "revision"]


def draw_documents(path: Path, documents: int, seed: int = 0) -> None:
    """Documents of three topics each and about 18 words, written in chunks; complete only with a file _SUCCESS."""
    if (path / "_SUCCESS").exists():
        return
    path.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(rng.gamma(0.05, size=(TOPICS, VOCABULARY)) + 1e-9, axis=1)
    cumulative /= cumulative[:, -1:]
    favourites = rng.integers(0, TOPICS, (NODES, 12))                      # topics of each node
    for number, first in enumerate(range(0, documents, CHUNK)):
        pq.write_table(_chunk(rng, first, min(CHUNK, documents - first), cumulative, favourites),
                       path / f"part-{number:05d}.parquet")
    (path / "_SUCCESS").touch()


def _chunk(
    rng: np.random.Generator, first: int, count: int, cumulative: np.ndarray, favourites: np.ndarray
) -> pa.Table:
    nodes = rng.integers(0, NODES, count)
    own = favourites[nodes[:, None], rng.integers(0, favourites.shape[1], (count, TOPICS_PER_DOCUMENT))]
    lengths = np.clip(np.rint(rng.lognormal(2.5, 0.8, count)), 3, 400).astype(np.int64)
    owner = np.repeat(np.arange(count), lengths)
    topics = own[owner, rng.integers(0, TOPICS_PER_DOCUMENT, len(owner))]
    words = np.empty(len(owner), np.int64)
    order, uniform = np.argsort(topics, kind="stable"), rng.random(len(owner))
    borders = np.searchsorted(topics[order], np.arange(TOPICS + 1))
    for topic in range(TOPICS):
        rows = order[borders[topic] : borders[topic + 1]]
        words[rows] = np.searchsorted(cumulative[topic], uniform[rows])
    cells, counts = np.unique(owner * VOCABULARY + np.minimum(words, VOCABULARY - 1), return_counts=True)
    starts = np.searchsorted(cells // VOCABULARY, np.arange(count + 1)).astype(np.int32)
    names = np.char.add("n", (nodes % 6).astype(str)), np.char.add("a", nodes.astype(str))
    paths = pa.ListArray.from_arrays(
        np.arange(0, 2 * count + 1, 2, dtype=np.int32), pa.array(np.stack(names, axis=1).ravel())
    )
    return pa.table({
        "doc_id": np.arange(first, first + count).astype(str), "path": paths,
        "terms": pa.ListArray.from_arrays(starts, pa.array((cells % VOCABULARY).astype(np.int32))),
        "counts": pa.ListArray.from_arrays(starts, pa.array(counts.astype(np.int32))),
    })


def fitted(path: Path, documents: int | None, k: int, work: Path) -> dict[str, Any]:
    """One fit with the default settings in local[2]; runs in a process of its own."""
    from spectral_spark import SpectralHDP
    from spectral_spark.engine.choose_corpus import driver_entries
    from spectral_spark.engine.session import start_session
    from spectral_spark.fit.forecast import forecast
    from spectral_spark.fit.kernel_costs import CorpusSize

    spark = start_session("growth", master="local[2]", settings={"spark.driver.memory": "4g"})
    spark.sparkContext.setLogLevel("ERROR")
    frame = part_of(spark, path, documents, work)
    hdp = SpectralHDP(k=k, termsCol="terms", countsCol="counts", pathCol="path", idCol="doc_id", vocabSize=VOCABULARY)
    words = int(frame.selectExpr("sum(aggregate(counts, 0L, (a, x) -> a + x))").first()[0])
    size = CorpusSize(frame.count(), words, VOCABULARY, frame.select("path").distinct().count())
    expected = forecast(size, hdp.fitSettings(), 2, driver_entries=driver_entries(spark))
    load, started = load_average(), time.perf_counter()
    with ProcessPeaks() as peaks:
        summary = hdp.fit(frame).summary
    seconds = time.perf_counter() - started
    steps = {step.name: round(step.seconds, 2) for step in expected.passes}
    return {"forecast": expected.seconds, "forecast / measured": expected.seconds / seconds, "forecast steps": steps,
            "forecast driver MiB": expected.memory.driver / 2**20, "passes": summary.passes,
            "documents": summary.documents, "words": summary.tokens, "k": k, "seconds": seconds, "load": load,
            "microseconds per document": 1e6 * seconds / summary.documents, **peaks.mebibytes(), **summary.seconds,
            "loss of the sample": summary.sample.get("loss"), "revision": git_revision()}


def part_of(spark: Any, path: Path, documents: int | None, work: Path) -> Any:
    """The training documents at a path, or so many of them, chosen by a hash and written to ``work`` once."""
    from pyspark.sql import functions as F

    frame = read_documents(spark, path)
    if documents is None or path.name == DRAWN:
        return frame
    part = work / f"{path.name}-{documents}"
    if not (part / "_SUCCESS").exists():
        frame.orderBy(F.xxhash64("doc_id")).limit(documents).write.mode("overwrite").parquet(str(part))
    return spark.read.parquet(str(part))


def row_of(arguments: argparse.Namespace, size: str) -> dict[str, Any]:
    """Fit one size in a child process. All beyond the histories is drawn."""
    drawn = size != "all" and int(size) > arguments.drawn_from
    path = arguments.work / size / DRAWN if drawn else arguments.histories
    if drawn:
        draw_documents(path, int(size))
    command = [python(), __file__, "--child", str(path), "--documents", "0" if size == "all" else size,
               "--k", str(arguments.k), "--work", str(arguments.work)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ})
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return {"size": size, "kind": "drawn" if drawn else "commit messages", **found}


def slope_text(rows: list[dict[str, Any]], of: str) -> str:
    """How a quantity grows from the first row that has it: small corpora are fitted on the driver, without workers."""
    having = [row for row in rows if row[of]]
    return f"{of} {slope(having, of):+.2f}" if len(having) > 1 else f"{of} –"


def report(document: dict[str, Any]) -> str:
    rows = sorted(document["rows"], key=lambda row: (row["k"], row["documents"]))
    lines = [markdown_table(rows, COLUMNS)]
    for k in sorted({row["k"] for row in rows}):
        mine = [row for row in rows if row["k"] == k]
        real = [row for row in mine if row["kind"] != "drawn"]
        for name, some in (("commit messages", real), ("all rows", mine)):
            if len(some) > 1:
                lines.append(f"k = {k}, slopes over {name}: {', '.join(map(slope_text, [some] * 3, GROWING))}\n")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, metavar="CORPUS")
    parser.add_argument("--only", default="60000,250000,all,10000000", help="sizes, separated by commas")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--again", action="store_true", help="fit sizes that have a row already")
    parser.add_argument("--drawn-from", type=int, default=2_000_000, help="larger sizes are drawn, not real")
    parser.add_argument("--work", type=Path, default=Path("/tmp/spectral-growth"))
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--documents", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(fitted(arguments.child, arguments.documents or None, arguments.k, arguments.work)))
        return
    if arguments.histories is None:
        parser.error("give --histories CORPUS, as benchmarks/histories.py makes it")
    target = RESULTS / "growth.json"
    known = json.loads(target.read_text())["rows"] if target.exists() else []
    for size in arguments.only.split(","):
        if not arguments.again and any(row["size"] == size and row["k"] == arguments.k for row in known):
            continue
        row = row_of(arguments, size)
        print(row, file=sys.stderr, flush=True)
        document = merge_rows(target, [row], ("size", "k"), about=context())
        target.with_suffix(".md").write_text(report(document))
    if target.exists():
        print(report(json.loads(target.read_text())))


if __name__ == "__main__":
    main()
