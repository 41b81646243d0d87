"""Two executors of one core each against one: how much faster is a fit, and how many bytes does every pass shuffle?

    python benchmarks/executors.py --histories CORPUS [--documents 250000] [--k 100] [--only 1,2]

Each number of executors is a row of its own, fitted in ``local-cluster`` by a process of its own; the ratio is taken
between the rows of the same documents and k in results/executors.json. Each executor is pinned to a core of its own,
with its Python workers: what Spark calls one core is several threads, which would use all cores. The documents stay on
the executors (``spark.spectral.driverEntries`` 0), and so do the sweeps over all words; a first small fit starts the
Python workers.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from common import RESULTS, context, git_revision, load_average, markdown_table, merge_rows, python
from fit_watch import PassShuffles, ProcessPeaks
from growth import VOCABULARY, part_of

STEPS = ("census", "range", "moments", "solve", "refine", "check", "total")


def fitted(path: Path, documents: int | None, k: int, executors: int, work: Path) -> dict[str, Any]:
    from spectral_spark import SpectralHDP
    from spectral_spark.engine.choose_corpus import SETTING
    from spectral_spark.engine.session import start_session

    spark = start_session("executors", master=f"local-cluster[{executors},1,3072]", settings={
        "spark.driver.memory": "3g", "spark.executor.memory": "2g", SETTING: "0",
    })
    spark.sparkContext.setLogLevel("ERROR")
    frame = part_of(spark, path, documents, work)
    settings: dict[str, Any] = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id",
                                "vocabSize": VOCABULARY}
    SpectralHDP(k=10, **settings).fit(frame.limit(2000))
    pin_executors()
    load, started = load_average(), time.perf_counter()
    with ProcessPeaks() as peaks, PassShuffles(spark) as shuffles:
        model = SpectralHDP(k=k, **settings).fit(frame)
    seconds = time.perf_counter() - started
    summary = model.summary
    sampled = {step["name"]: step["seconds"] for step in summary.passes if step["name"].startswith("sampling")}
    return {"executors": executors, "documents": summary.documents, "k": k, "seconds": seconds, "load": load,
            **peaks.mebibytes(), **sampled, **{step: summary.seconds.get(step) for step in STEPS},
            "shuffled MiB": {name: round(size / 2**20, 2) for name, size in shuffles.bytes.items()},
            "sum of the topics": float((model.topicsMatrix() ** 2).sum()), "revision": git_revision()}


def pin_executors() -> None:
    """Every executor, with all its threads and Python workers, to one core. Workers start from a daemon of theirs and
    stay on its core; a process or thread may end while it is looked at."""
    below = psutil.Process().children(recursive=True)
    executors = [one for one in below if "CoarseGrainedExecutorBackend" in command_of(one)]
    cores = sorted(os.sched_getaffinity(0))
    for number, executor in enumerate(executors):
        for process in (executor, *executor.children(recursive=True)):
            with suppress(psutil.Error):
                for thread in process.threads():
                    with suppress(ProcessLookupError):
                        os.sched_setaffinity(thread.id, {cores[number % len(cores)]})


def command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def report(document: dict[str, Any]) -> str:
    rows = sorted(document["rows"], key=lambda row: (row["k"], row["documents"], row["executors"]))
    columns = ["executors", "documents", "k", "seconds", "speed", *STEPS[:5], "sampling", "sampling all",
               "driver MiB", "largest JVM MiB", "largest worker MiB", "load", "revision"]
    for row in rows:
        alone = [one["seconds"] for one in rows if one["executors"] == 1
                 and (one["documents"], one["k"]) == (row["documents"], row["k"])]
        row["speed"] = alone[0] / row["seconds"] if alone else None
    passes = list(dict.fromkeys(name for row in rows for name in row["shuffled MiB"]))
    shuffled = [{"pass": name, **{str(at): row["shuffled MiB"].get(name) for at, row in enumerate(rows)}}
                for name in passes]
    headings = {"pass": "MiB shuffled in"} | {
        str(at): f"{row['executors']} executors, {row['documents']:,} documents, k = {row['k']}"
        for at, row in enumerate(rows)
    }
    return markdown_table(rows, columns) + "\n" + markdown_table(shuffled, headings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", required=True, type=Path, metavar="CORPUS")
    parser.add_argument("--documents", type=int, default=0, help="fit only so many of the documents")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--only", default="1,2", help="numbers of executors")
    parser.add_argument("--work", type=Path, default=Path("/tmp/spectral-growth"), help="keeps parts of the documents")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        found = fitted(arguments.histories, arguments.documents or None, arguments.k, arguments.child, arguments.work)
        print(json.dumps(found))
        return
    target = RESULTS / "executors.json"
    for executors in arguments.only.split(","):
        command = [python(), __file__, "--histories", str(arguments.histories), "--work", str(arguments.work),
                   "--documents", str(arguments.documents), "--k", str(arguments.k), "--child", executors]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = json.loads(done.stdout.strip().splitlines()[-1])
        print(row, file=sys.stderr, flush=True)
        document = merge_rows(target, [row], ("executors", "documents", "k"), about=context())
        target.with_suffix(".md").write_text(report(document))
        print(report(document))


if __name__ == "__main__":
    main()
