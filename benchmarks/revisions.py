"""Fits of the histories by this revision and by another one, in turn: seconds and held-out loss of each.

    git worktree add DIRECTORY REVISION
    python benchmarks/revisions.py --histories CORPUS --other DIRECTORY [--fits "default,short" --k 100]

``default`` is fitted by both revisions, the other fits by this one alone; settings are those of histories.py. Each fit
is a process of its own with two cores, which fits a few documents first. The losses, with the priors of the tree and
with one prior for all documents, are computed by this revision from the saved models. Rows are added to
results/revisions.json.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import RESULTS, context, load_average, markdown_table, merge_rows, python, run_child
from histories import FITS, losses, made
from spark_models import SparkBench

from spectral_spark import SpectralHDPModel

RUN = """
import json, sys, time
from spectral_spark import SpectralHDP
from spectral_spark.engine.session import start_session
documents, model, report, words, k, settings = sys.argv[1:]
spark = start_session("revisions", master="local[2]", settings={"spark.driver.memory": "4g"})
spark.sparkContext.setLogLevel("ERROR")
frame = spark.read.parquet(documents).filter("split = 'train'")
common = dict(termsCol="terms", countsCol="counts", pathCol="path", idCol="doc_id", vocabSize=int(words))
SpectralHDP(k=10, **common).fit(frame.limit(1000))
started = time.perf_counter()
fitted = SpectralHDP(k=int(k), **common, **json.loads(settings)).fit(frame)
seconds = time.perf_counter() - started
fitted.write().overwrite().save(model)
with open(report, "w") as sink:
    json.dump({"seconds": seconds, "documents": fitted.summary.documents, **fitted.summary.seconds}, sink)
"""
STEPS = ("census", "range", "moments", "solve", "refine")


def fitted(tree: Path, arguments: argparse.Namespace, bench: SparkBench, settings: dict[str, Any]) -> dict[str, Any]:
    """One fit by the package in ``tree``."""
    with tempfile.TemporaryDirectory(prefix="revisions-") as scratch:
        script, report, log = (Path(scratch, name) for name in ("run.py", "report", "log"))
        load = load_average()
        script.write_text(RUN)
        usage = run_child(
            [python(), str(script), str(arguments.histories.resolve() / "documents"), f"{scratch}/model", str(report),
             str(len(bench.corpus.vocabulary)), str(arguments.k), json.dumps(settings)],
            environment={"PYTHONPATH": str(tree)}, folder=tree, log=log)
        if usage.returncode:
            print(log.read_text(), file=sys.stderr)
            raise SystemExit(f"the fit by '{tree}' failed")
        found = json.loads(report.read_text())
        return found | losses(bench, SpectralHDPModel.load(f"{scratch}/model")) | {"load": load}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", required=True, type=Path, metavar="CORPUS")
    parser.add_argument("--other", type=Path, help="a working tree of another revision")
    parser.add_argument("--fits", default="default", help=f"of {', '.join(FITS)}")
    parser.add_argument("--k", type=int, default=100)
    arguments = parser.parse_args()
    bench = SparkBench(str(made(arguments.histories)))
    here = Path(__file__).resolve().parent.parent
    turns = [("this", here, name) for name in arguments.fits.split(",")]
    if arguments.other:
        turns.insert(0, ("other", arguments.other.resolve(), "default"))
    for which, tree, name in turns:
        row = {"revision": which, "fit": name, "k": arguments.k} | fitted(tree, arguments, bench, FITS[name])
        print(row, file=sys.stderr, flush=True)
        document = merge_rows(RESULTS / "revisions.json", [row], ("revision", "fit", "k", "documents"),
                              about=context())
        columns = ["revision", "fit", "k", "documents", "tree", "one prior", "seconds", *STEPS, "load"]
        (RESULTS / "revisions.md").write_text(markdown_table(document["rows"], columns))


if __name__ == "__main__":
    main()
