"""A million commit messages of six projects: seconds of the steps and held-out loss of several fits, in one session.

    python benchmarks/histories.py --histories CORPUS [--documents 250000 --k 100 --fits "default,short"]

CORPUS is made from SPECTRAL_DATA/histories where it is absent (tree of project and directory, 20,000 words, 1,000
documents of every project held out). The loss is document completion in nats per word, once with the priors of the
tree as the fit has learnt them, and once with one prior for all documents, its total the best of a few.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, load_average, markdown_table, merge_rows
from ibp_data import data_root
from pyspark.sql import functions as F
from spark_models import SparkBench

from spectral_spark.cli.run import main as command_line
from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS, ScoredTopics, completion_loss

FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"exploreSweeps": 40},
    "long": {"exploreSweeps": 480},
    "and two passes of EM": {"refinePasses": 2},
    "no sampling, two passes of EM": {"exploreSweeps": 0},
}
TOTALS = (1.5, 2.5, 4.0, 7.0)
STEPS = ("census", "range", "moments", "solve", "refine", "total")


def made(corpus: Path) -> Path:
    """The corpus of the histories; ingested if it is not there."""
    if not corpus.exists():
        words = ["ingest", "--source", "table", "--format", "parquet", "--input", str(data_root() / "histories"),
                 "--text-col", "text", "--id-col", "id", "--path-cols", "project,area", "--vocab-size", "20000",
                 "--holdout", "1000/group", "--drop-duplicates", "--output", str(corpus)]
        if command_line(words):
            raise SystemExit("the histories could not be ingested")
    return corpus


def losses(bench: SparkBench, model: Any) -> dict[str, float]:
    """With the tree's priors, and with the corpus' proportions for all documents."""
    test, scored = bench.corpus.documents("test"), ScoredTopics.of_model(model.files)
    one = [ScoredTopics(scored.topics, scored.weights, [()], scored.weights[None] / scored.weights.sum(), total)
           for total in TOTALS]
    return {"tree": completion_loss(test, CORPUS_COLUMNS, scored),
            "one prior": min(completion_loss(test, CORPUS_COLUMNS, given) for given in one)}


def measured(bench: SparkBench, name: str, k: int, documents: int | None) -> dict[str, Any]:
    frame = bench.train if documents is None else bench.train.orderBy(F.xxhash64("doc_id")).limit(documents)
    load = load_average()
    model = bench.fit_ours(k, FITS[name].get("refinePasses", "auto"), 0, frame,
                           **{key: value for key, value in FITS[name].items() if key != "refinePasses"})
    sampled = {step["name"]: step["seconds"] for step in model.summary.passes if step["name"].startswith("sampling")}
    return {"fit": name, "k": k, "documents": model.summary.documents, **losses(bench, model), **sampled,
            **{step: model.summary.seconds.get(step) for step in STEPS}, "load": load,
            "sweeps": model.summary.refinement.get("sweeps"),
            "sweeps of all words": model.summary.refinement.get("corpus_sweeps")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", required=True, type=Path, metavar="CORPUS")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--documents", type=int, help="fit only so many of the documents")
    parser.add_argument("--fits", default="default,short,and two passes of EM", help=f"of {', '.join(FITS)}")
    arguments = parser.parse_args()
    bench = SparkBench(str(made(arguments.histories)))
    target = RESULTS / "histories.json"
    document: dict[str, Any] = {"rows": [], "about": {}}
    for name in arguments.fits.split(","):
        row = measured(bench, name, arguments.k, arguments.documents)
        print(row, file=sys.stderr, flush=True)
        document = merge_rows(target, [row], ("fit", "k", "documents"), about=context())
    about = document["about"]
    order = np.argsort([row["documents"] for row in document["rows"]], kind="stable")
    columns = ["fit", "k", "documents", "sweeps", "sweeps of all words", "tree", "one prior", *STEPS[:4], "sampling",
               "sampling all", "refine", "total", "load"]
    target.with_suffix(".md").write_text(
        f"Revision {about['revision']}, {about['machine']['cores']} cores, {about['date']}. Losses in nats per word; "
        "seconds of the steps (refine includes sampling), and the load of the machine at the start of each fit: above "
        "the number of cores, compare seconds only within a row.\n\n"
        + markdown_table([document["rows"][at] for at in order], columns)
    )


if __name__ == "__main__":
    main()
