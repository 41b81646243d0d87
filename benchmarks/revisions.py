"""Fits of one corpus by this revision and by another one, in turn: seconds and held-out loss of each.

    git worktree add DIRECTORY REVISION
    python benchmarks/revisions.py --histories CORPUS --other DIRECTORY [--fits "default,short" --k 100]
    python benchmarks/revisions.py --corpus out/enron/corpus --name enron --k 50 --seeds 5 --other DIRECTORY

``default`` is fitted by both revisions, the other fits by this one alone; settings are those of histories.py. The fits
of a row are a process of their own with two cores, which fits a few documents first. The losses, with the priors of the
tree and with one prior for all documents, are computed by this revision from the saved models; with several seeds a row
has their means, and the lowest and highest loss with the tree. Rows are added to results/revisions.json.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, load_average, markdown_table, merge_rows, python, run_child
from histories import FITS, losses, made
from spark_models import SparkBench

from spectral_spark import SpectralHDPModel

RUN = """
import json, sys, time
from spectral_spark import SpectralHDP
from spectral_spark.engine.session import start_session
documents, models, report, words, k, seeds, settings = sys.argv[1:]
spark = start_session("revisions", master="local[2]", settings={"spark.driver.memory": "4g"})
spark.sparkContext.setLogLevel("ERROR")
frame = spark.read.parquet(documents).filter("split = 'train'")
common = dict(termsCol="terms", countsCol="counts", pathCol="path", idCol="doc_id", vocabSize=int(words))
SpectralHDP(k=10, **common).fit(frame.limit(1000))
fits = []
for seed in range(int(seeds)):
    started = time.perf_counter()
    fitted = SpectralHDP(k=int(k), seed=seed, **common, **json.loads(settings)).fit(frame)
    seconds = time.perf_counter() - started
    fitted.write().overwrite().save(f"{models}/{seed}")
    fits.append({"seconds": seconds, "documents": fitted.summary.documents, **fitted.summary.seconds})
with open(report, "w") as sink:
    json.dump(fits, sink)
"""
STEPS = ("census", "range", "moments", "solve", "refine")


def fitted(tree: Path, arguments: argparse.Namespace, bench: SparkBench, settings: dict[str, Any]) -> dict[str, Any]:
    """Fits by the package in ``tree``, one for each seed."""
    with tempfile.TemporaryDirectory(prefix="revisions-") as scratch:
        script, report, log = (Path(scratch, name) for name in ("run.py", "report", "log"))
        load = load_average()
        script.write_text(RUN)
        usage = run_child(
            [python(), str(script), str(arguments.corpus.resolve() / "documents"), scratch, str(report),
             str(len(bench.corpus.vocabulary)), str(arguments.k), str(arguments.seeds), json.dumps(settings)],
            environment={"PYTHONPATH": str(tree)}, folder=tree, log=log)
        if usage.returncode:
            print(log.read_text(), file=sys.stderr)
            raise SystemExit(f"the fit by '{tree}' failed")
        fits = json.loads(report.read_text())
        lost = [losses(bench, SpectralHDPModel.load(f"{scratch}/{seed}")) for seed in range(arguments.seeds)]
        tree_losses = [found["tree"] for found in lost]
        return {
            **{name: float(np.mean([fit[name] for fit in fits])) for name in fits[0]},
            "documents": fits[0]["documents"],
            **{name: float(np.mean([found[name] for found in lost])) for name in lost[0]},
            "lowest": min(tree_losses), "highest": max(tree_losses), "load": load,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    corpus = parser.add_mutually_exclusive_group(required=True)
    corpus.add_argument("--histories", type=Path, metavar="CORPUS", help="made where it is absent")
    corpus.add_argument("--corpus", type=Path, help="any other corpus")
    parser.add_argument("--name", default="histories", help="of the corpus, in the table")
    parser.add_argument("--other", type=Path, help="a working tree of another revision")
    parser.add_argument("--fits", default="default", help=f"of {', '.join(FITS)}")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1, help="the first so many seeds, from 0")
    arguments = parser.parse_args()
    arguments.corpus = arguments.corpus or made(arguments.histories)
    bench = SparkBench(str(arguments.corpus))
    here = Path(__file__).resolve().parent.parent
    turns = [("this", here, name) for name in arguments.fits.split(",")]
    if arguments.other:
        turns.insert(0, ("other", arguments.other.resolve(), "default"))
    for which, tree, name in turns:
        row = {"revision": which, "corpus": arguments.name, "fit": name, "k": arguments.k, "seeds": arguments.seeds}
        row |= fitted(tree, arguments, bench, FITS[name])
        print(row, file=sys.stderr, flush=True)
        document = merge_rows(RESULTS / "revisions.json", [row],
                              ("revision", "corpus", "fit", "k", "documents", "seeds"), about=context())
        columns = ["revision", "corpus", "fit", "k", "documents", "seeds", "tree", "lowest", "highest", "one prior",
                   "seconds", *STEPS, "load"]
        (RESULTS / "revisions.md").write_text(markdown_table(document["rows"], columns))


if __name__ == "__main__":
    main()
