"""A million commit messages of six projects: seconds of the steps and held-out loss of several fits, in one session.

    python benchmarks/histories.py --histories CORPUS [--documents 250000 --k 100 --fits "default,short"]
    python benchmarks/histories.py --histories CORPUS --fits "tomotopy, 200 sweeps,MLlib online, one pass"

Every fit is a row of its own in results/histories.json, and replaces the one that was there. CORPUS is made from
SPECTRAL_DATA/histories where it is absent (tree of project and directory, 20,000 words, 1,000 documents of every
project held out). The loss is document completion in nats per word, once with the priors of the tree as the fit has
learnt them, and once with one prior for all documents, its total the best of a few. Peers, which know no tree, are
given priors of its nodes: the mean proportions of the training documents under their topics, shrunk to the parent's,
with the best total of a few. Topics of a peer are kept in --work, so that they can be scored again.
"""

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_corpus
import numpy as np
import peer_models
from common import RESULTS, MemoryWatch, context, git_revision, load_average, markdown_table, merge_rows
from ibp_data import data_root
from peer_models import Snapshot
from pyspark.sql import functions as F
from score import node_proportions
from spark_models import SparkBench

from spectral_spark.cli.run import main as command_line
from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS, ScoredTopics, completion_loss

FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"exploreSweeps": 40},
    "long": {"exploreSweeps": 480},
    "and two passes of EM": {"refinePasses": 2},
    "no sampling, two passes of EM": {"exploreSweeps": 0},
    "third moments of all documents": {"solver": "polar"},
}
PEERS = {"tomotopy": ("tomotopy LDA, tuned", 200), "MLlib online": ("MLlib LDA online", 20)}
TOTALS = (1.5, 2.5, 4.0, 7.0)
STEPS = ("census", "range", "moments", "solve", "refine", "total")


def made(corpus: Path, *more: str) -> Path:
    """The corpus of the histories; ingested if it is not there, with further flags."""
    if not corpus.exists():
        words = ["ingest", "--source", "table", "--format", "parquet", "--input", str(data_root() / "histories"),
                 "--text-col", "text", "--id-col", "id", "--path-cols", "project,area", "--vocab-size", "20000",
                 "--holdout", "1000/group", "--drop-duplicates", "--output", str(corpus), *more]
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
    load = load_average()
    with MemoryWatch() as memory:
        model = bench.fit_ours(k, FITS[name].get("refinePasses", "auto"), 0, slice_of(bench, documents),
                               **{key: value for key, value in FITS[name].items() if key != "refinePasses"})
    sampled = {step["name"]: step["seconds"] for step in model.summary.passes if step["name"].startswith("sampling")}
    return {"fit": name, "k": k, "documents": model.summary.documents, **losses(bench, model), **sampled,
            **{step: model.summary.seconds.get(step) for step in STEPS}, "load": load, "topics": model.k,
            "GiB": memory.peak_bytes / 2**30, "sweeps": model.summary.refinement.get("sweeps"),
            "sweeps of all words": model.summary.refinement.get("corpus_sweeps")}


def slice_of(bench: SparkBench, documents: int | None) -> Any:
    """The training documents, or so many of them."""
    return bench.train if documents is None else bench.train.orderBy(F.xxhash64("doc_id")).limit(documents)


def peer(arguments: argparse.Namespace, bench: SparkBench, name: str) -> dict[str, Any]:
    """A peer after the number of sweeps, or iterations, at the end of its name: "tomotopy, 200 sweeps"."""
    kind, budget = name.split(", ")
    label, usual = PEERS[kind]
    number = int(budget.split()[0]) if budget.split()[0].isdigit() else usual
    work = arguments.work / f"{arguments.documents or 'all'}"
    if not (work / "corpus.npz").exists():
        whole = bench_corpus.prepare(bench.spark, str(arguments.histories))
        if arguments.documents:
            rows = np.sort(np.argsort(whole.train.keys, kind="stable")[: arguments.documents])
            whole = replace(whole, train=bench_corpus.take(whole.train, rows))
        bench_corpus.save(whole, work / "corpus.npz")
    corpus = bench_corpus.load(work / "corpus.npz")
    saved = work / f"{kind.replace(' ', '-')}-{arguments.k}-{number}.npz"
    if not saved.exists():
        found = trained(bench, corpus, label, arguments.k, number)
        np.savez(saved, topics=found.topics, weights=found.weights, seconds=found.seconds, load=load_average())
    with np.load(saved) as topics:
        return {"fit": name, "k": arguments.k, "documents": corpus.train.n_documents, "total": float(topics["seconds"]),
                "load": float(topics["load"]), **peer_losses(bench, corpus, topics["topics"], topics["weights"])}


def trained(bench: SparkBench, corpus: bench_corpus.BenchCorpus, label: str, k: int, budget: int) -> Snapshot:
    """The topics of a peer. One pass of MLlib's online method is twenty iterations, each of a twentieth."""
    found: list[Snapshot] = []
    if label.startswith("MLlib"):
        bench.mllib("online", k, [budget], 0, lambda _name, snapshot, _tree, _peak: found.append(snapshot))
    else:
        function, _ = peer_models.PEERS[label]
        function(corpus.train, corpus.test, k, [budget], 0, found.append)
    return found[0]


def peer_losses(
    bench: SparkBench, corpus: bench_corpus.BenchCorpus, topics: np.ndarray, weights: np.ndarray
) -> dict[str, float]:
    test, nodes = bench.corpus.documents("test"), node_proportions(corpus, topics, weights)
    tree = [ScoredTopics(topics, weights, corpus.paths, nodes, total) for total in TOTALS]
    one = [ScoredTopics(topics, weights, [()], weights[None] / weights.sum(), total) for total in TOTALS]
    return {"tree": min(completion_loss(test, CORPUS_COLUMNS, given) for given in tree),
            "one prior": min(completion_loss(test, CORPUS_COLUMNS, given) for given in one)}


def names(given: str) -> list[str]:
    """Names of fits; a comma inside the name of a peer is followed by a space."""
    return [name for name in re.split(r",(?! )", given) if name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", required=True, type=Path, metavar="CORPUS")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--documents", type=int, help="fit only so many of the documents")
    parser.add_argument("--fits", default="default,short,and two passes of EM",
                        help=f"of {', '.join(FITS)}; or peers: {', '.join(PEERS)}, each with a number of sweeps")
    parser.add_argument("--work", type=Path, default=Path("/tmp/spectral-histories"), help="keeps the topics of peers")
    arguments = parser.parse_args()
    bench = SparkBench(str(made(arguments.histories)))
    target = RESULTS / "histories.json"
    for name in names(arguments.fits):
        if name in FITS:
            row = measured(bench, name, arguments.k, arguments.documents)
        else:
            row = peer(arguments, bench, name)
        print(row, file=sys.stderr, flush=True)
        write_table(merge_rows(target, [row | {"revision": git_revision()}], ("fit", "k", "documents"),
                               about=context()))


def write_table(document: dict[str, Any]) -> None:
    about, rows = document["about"], document["rows"]
    order = sorted(range(len(rows)), key=lambda at: (rows[at]["documents"], rows[at]["k"], rows[at]["tree"]))
    columns = ["fit", "k", "topics", "documents", "sweeps", "sweeps of all words", "tree", "one prior", *STEPS[:4],
               "sampling", "sampling all", "refine", "total", "GiB", "load", "revision"]
    (RESULTS / "histories.md").write_text(
        f"{about['machine']['cores']} cores, last change {about['date']}. Losses in nats per word; seconds of the "
        "steps (refine includes sampling; the total of a peer is its training alone), memory of all processes, and the "
        "load at the start of each fit: above the number of cores, compare seconds only within a row.\n\n"
        + markdown_table([rows[at] for at in order], columns)
    )


if __name__ == "__main__":
    main()
