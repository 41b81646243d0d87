"""Ours against MLlib, scikit-learn, gensim and tomotopy: the same documents, vocabulary, evaluator and machine.

    python benchmarks/peers.py --corpus CORPUS                       # everything, k = 50 and 100
    python benchmarks/peers.py --corpus CORPUS --only tomotopy --k 50

Each peer runs in a process of its own (memory and time are its own); ours and MLlib share one Spark session. Results
are merged into ``results/peers-CORPUS.json``, from which the table and the plot are made. ``--only`` takes parts of
names.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import bench_corpus
import numpy as np
import peer_models
import snapshots
from common import ONE_THREAD, RESULTS, context, load_average, markdown_table, merge_rows, python, run_child
from score import difference, score

SPARK = {
    "ours": (0, 1, 2, 4), "ours, 300 sweeps": (2, 4), "ours, no sampling": (1, 2, 4), "ours, 30 sweeps": (1,),
    "ours, groups alike": (1, 2, 4), "ours, groups alike, 30 sweeps": (1,), "ours, groups alike, 300 sweeps": (2, 4),
    "MLlib LDA online": (20, 60, 240), "MLlib LDA em": (20,),
}
OURS: dict[str, dict[str, Any]] = {
    "ours": {}, "ours, 300 sweeps": {"exploreSweeps": 300}, "ours, no sampling": {"exploreSweeps": 0},
    "ours, 30 sweeps": {"exploreSweeps": 30}, "ours, groups alike": {"groupBalance": 1.0},
    "ours, groups alike, 30 sweeps": {"groupBalance": 1.0, "exploreSweeps": 30},
    "ours, groups alike, 300 sweeps": {"groupBalance": 1.0, "exploreSweeps": 300},
}
PACKAGES = ("spectral-spark", "pyspark", "numpy", "scipy", "numba", "scikit-learn", "gensim", "tomotopy")


def main() -> None:
    settings = arguments()
    if settings.child:
        child(settings)
        return
    name = settings.name or Path(settings.corpus).name
    work = Path(settings.work) / name
    corpus = prepared(settings, work)
    for k in settings.k:
        for group in wanted(settings.only):
            fit(settings, work, group, k)
    rows = score_all(corpus, work, settings)
    about = {
        "corpus": name, "train_documents": corpus.train.n_documents, "test_documents": corpus.test.n_documents,
        "terms": len(corpus.vocabulary), "train_tokens": float(corpus.train.counts.sum()), "nodes": len(corpus.paths),
        **context(PACKAGES),
    }
    target = settings.results / f"peers-{name}.json"
    document = merge_rows(target, rows, ("name", "k", "budget"), about=about)
    write_table(document, target.with_suffix(".md"))
    plot(document, target.with_suffix(".png"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, help="a corpus written by ingest, with test documents")
    parser.add_argument("--k", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--only", nargs="+", default=[], help="parts of names, for example: tomotopy ours")
    parser.add_argument("--budgets", type=int, nargs="+", help="instead of the default ones")
    parser.add_argument("--work", default="/tmp/spectral-peers", help="where topics are kept between steps")
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON, the table and the plot go")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--score-only", action="store_true", help="score again what was fitted before")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds a group may take")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def wanted(only: list[str]) -> list[tuple[str, ...]]:
    """Names grouped by process: each library peer alone, Spark's together."""
    def chosen(name: str) -> bool:
        return not only or any(part.lower() in name.lower() for part in only)

    spark = tuple(name for name in SPARK if chosen(name))
    return [*([spark] if spark else []), *((name,) for name in peer_models.PEERS if chosen(name))]


def prepared(settings: argparse.Namespace, work: Path) -> bench_corpus.BenchCorpus:
    """The corpus as arrays, made once by a process of its own."""
    target = work / "corpus.npz"
    if not target.exists():
        usage = run_child(child_command(settings, "prepare", work, 0), log=log_of(work, "prepare"))
        if usage.returncode:
            sys.exit(f"preparing the corpus failed; see {log_of(work, 'prepare')}")
    return bench_corpus.load(target)


def fit(settings: argparse.Namespace, work: Path, group: tuple[str, ...], k: int) -> None:
    """Run one process; a peer that fails is reported and does not stop the others."""
    if settings.score_only:
        return
    label = "+".join(group)
    print(f"{label}, k = {k} (load {load_average()})", file=sys.stderr, flush=True)
    command = child_command(settings, "|".join(group), work, k)
    usage = run_child(command, environment=ONE_THREAD, log=log_of(work, label), timeout=settings.timeout)
    if usage.returncode:
        print(f"  failed ({usage.returncode}); see {log_of(work, label)}", file=sys.stderr)
    for path in (work / "topics").glob("*.json"):
        facts = json.loads(path.read_text())
        if facts["name"] in group and facts["k"] == k:
            facts |= {"process_seconds": usage.seconds}
            facts.setdefault("peak_bytes", usage.peak_bytes)
            facts["peak_bytes"] = facts["peak_bytes"] or usage.peak_bytes
            path.write_text(json.dumps(facts))


def child_command(settings: argparse.Namespace, what: str, work: Path, k: int) -> list[str]:
    command = [python(), __file__, "--corpus", settings.corpus, "--child", what, "--work", str(work), "--k", str(k)]
    command += ["--seed", str(settings.seed)]
    return command + (["--budgets", *map(str, settings.budgets)] if settings.budgets else [])


def log_of(work: Path, label: str) -> Path:
    work.mkdir(parents=True, exist_ok=True)
    return work / f"{label.replace(' ', '-').replace('+', '-')}.log"


def child(settings: argparse.Namespace) -> None:
    """What runs in the process of a group."""
    work, k = Path(settings.work), settings.k[0]
    if settings.child == "prepare":
        from spectral_spark.engine.session import start_session

        spark = start_session("prepare", master="local[2]")
        bench_corpus.save(bench_corpus.prepare(spark, settings.corpus), work / "corpus.npz")
        return
    names = settings.child.split("|")
    if names[0] in SPARK:
        spark_child(settings, work, names, k)
        return
    corpus = bench_corpus.load(work / "corpus.npz")
    function, budgets = peer_models.PEERS[names[0]]
    row = {"name": names[0], "k": k, "load": load_average(), "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}

    def emit(snapshot: peer_models.Snapshot) -> None:
        snapshots.write(work / "topics", row, snapshot)

    train = bench_corpus.groups_repeated(corpus) if names[0] in peer_models.GROUPS_REPEATED else corpus.train
    function(train, corpus.test, k, settings.budgets or budgets, settings.seed, emit)


def spark_child(settings: argparse.Namespace, work: Path, names: list[str], k: int) -> None:
    from spark_models import SparkBench

    bench = SparkBench(settings.corpus)
    facts = {"start_seconds": bench.start_seconds, "warm_seconds": bench.warm_seconds}

    def emit(name: str, snapshot: peer_models.Snapshot, tree: snapshots.Tree | None, peak: int) -> None:
        row = {"name": name, "k": k, "load": load_average(), "peak_bytes": peak, **facts}
        snapshots.write(work / "topics", row | {"date": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}, snapshot, tree)

    for name in names:
        budgets = settings.budgets or SPARK[name]
        if name in OURS:
            bench.ours(name, k, budgets, settings.seed, emit, **OURS[name])
        else:
            bench.mllib(name.rsplit(" ", 1)[1], k, budgets, settings.seed, emit)


def score_all(corpus: bench_corpus.BenchCorpus, work: Path, settings: argparse.Namespace) -> list[dict[str, Any]]:
    """Score what was fitted in this run (or all there is)."""
    names = {name for group in wanted(settings.only) for name in group}
    rows: list[dict[str, Any]] = []
    for facts, topics, weights, tree in snapshots.read(work / "topics"):
        if facts["k"] in settings.k and facts["name"] in names:
            prior = tree.for_corpus(corpus) if tree is not None else None
            rows.append({**facts, **score(corpus, topics, weights, prior), "has_tree": tree is not None})
            print(f"{facts['name']}, k = {facts['k']}, {facts['budget']}: {headline(rows[-1]):.4f}", file=sys.stderr)
    for k in settings.k:
        compare([row for row in rows if row["k"] == k])
    arrays = ("documents_flat", "documents_tree", "hidden")
    return [{name: value for name, value in row.items() if name not in arrays} for row in rows]


def compare(rows: list[dict[str, Any]]) -> None:
    """How far every loss is from the best peer's, with the standard error of that, if a peer is there."""
    peers = [row for row in rows if row["name"] not in OURS]
    if peers:
        best = min(peers, key=headline)
        for row in rows:
            one, other = (each[f"documents_{headline_name(each)}"] for each in (row, best))
            row["apart"], row["apart_error"] = difference(one, other, row["hidden"])


def headline(row: dict[str, Any]) -> float:
    """The loss that counts: with node priors for a model that has them, with one prior for all documents otherwise."""
    return float(row[f"loss_{headline_name(row)}"])


def headline_name(row: dict[str, Any]) -> str:
    return "tree" if row["has_tree"] and "loss_tree" in row else "flat"


def write_table(document: dict[str, Any], path: Path) -> None:
    about = document["about"]
    text = [
        f"# Peers on {about['corpus']}\n",
        f"{about['train_documents']:,} training documents, {about['train_tokens']:,.0f} tokens, {about['terms']:,} "
        f"words, {about['test_documents']:,} test documents, {about['nodes']} tree nodes. Revision "
        f"{about['revision']}, {about['machine'].get('processor')}, {about['machine']['cores']} cores, "
        f"{about['date']}. " + ", ".join(f"{name} {number}" for name, number in about["versions"].items()) + ".\n",
        "Loss: document completion, nats per hidden token, one evaluator for all; document prior and smoothing chosen "
        "for each on one half of the test documents and applied to the other. **loss** uses node priors for ours (it "
        "learns them) and one prior for all documents for peers (they know no tree); *flat* takes the node priors from "
        "ours, *tree* gives every peer's topics node priors made from the training documents. *To the best peer*: the "
        "loss less the lowest of a peer scored in the same run, with its standard error over test documents. Seconds: "
        "ours reads the "
        "corpus from disk, packs, fits; peers are timed inside their training calls, data already in memory. Start of "
        "Spark and first warm-up are apart. Load: 1-minute load of the machine before the fit (2 cores).\n",
    ]
    for k in sorted({row["k"] for row in document["rows"]}):
        rows = sorted((row for row in document["rows"] if row["k"] == k), key=headline)
        unigram = rows[0]["unigram_loss"]
        text += [f"\n## k = {k} (unigram {unigram:.3f})\n", markdown_table([table_row(row) for row in rows], COLUMNS)]
        text += [speed(rows)]
    path.write_text("\n".join(text))


COLUMNS = {
    "name": "model", "budget": "budget", "loss": "**loss**", "apart": "to the best peer", "loss_flat": "flat",
    "loss_tree": "tree",
    "npmi": "NPMI", "umass": "UMass", "diversity": "diversity", "topics": "topics", "seconds": "seconds",
    "prepare_seconds": "prepare s", "memory": "peak MB", "load": "load", "own": "own score",
}


def table_row(row: dict[str, Any]) -> dict[str, Any]:
    own = "; ".join(f"{name} {value:.3f}" for name, value in row["own"].items() if isinstance(value, float))
    apart = f"{row['apart']:+.3f} ± {row['apart_error']:.3f}" if row.get("apart") else None
    memory = round(row.get("peak_bytes", 0) / 1e6)
    return {**row, "loss": headline(row), "apart": apart, "memory": memory, "own": own or None}


def speed(rows: list[dict[str, Any]]) -> str:
    """Time to reach each peer's best loss, ours against theirs: with every document alike, then with groups alike."""
    lines = []
    for name in sorted({row["name"] for row in rows} - set(OURS)):
        peer = min((row for row in rows if row["name"] == name), key=headline)
        lines.append(f"- {name} at its best ({headline(peer):.3f}, {peer['seconds']:.0f} s): "
                     + "; ".join(passed(rows, peer, alike) for alike in (False, True)))
    return "\n".join(lines) + "\n"


def passed(rows: list[dict[str, Any]], peer: dict[str, Any], alike: bool) -> str:
    """The fastest of ours that is as good as a peer, among the fits with groups alike or among the others."""
    mine = [row for row in rows if row["name"] in OURS and ("groupBalance" in OURS[row["name"]]) == alike]
    reached = min((row for row in mine if headline(row) <= headline(peer)), key=lambda row: float(row["seconds"]),
                  default=None)
    if reached is None:
        return "not reached by ours" + (" with groups alike" if alike else "")
    return (f"passed by {reached['name']}, {reached['budget']} ({headline(reached):.3f}) in {reached['seconds']:.1f} s,"
            f" {peer['seconds'] / reached['seconds']:.1f}× less time")


def plot(document: dict[str, Any], path: Path) -> None:
    """Loss against training time, one panel per k; ours in blue, filled, every name with a mark of its own."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = sorted({row["name"] for row in document["rows"]}, key=lambda name: (name not in OURS, name))
    marks = dict(zip(names, "osD^v<>osD^v<>ph", strict=False))
    colours = pyplot.get_cmap("tab10")([1, 2, 3, 4, 5, 6, 7, 8, 9])
    peers = [name for name in names if name not in OURS]
    colour = {name: colours[number % len(colours)] for number, name in enumerate(peers)}
    ks = sorted({row["k"] for row in document["rows"]})
    figure, axes = pyplot.subplots(1, len(ks), figsize=(6 * len(ks) + 3, 5), squeeze=False)
    for axis, k in zip(axes[0], ks, strict=True):
        rows = [row for row in document["rows"] if row["k"] == k]
        for name in names:
            points = np.array(sorted((row["seconds"], headline(row)) for row in rows if row["name"] == name))
            if not len(points):
                continue
            ours = name in OURS
            axis.plot(
                points[:, 0], points[:, 1], marker=marks.get(name, "."), label=name, ms=7 if ours else 6,
                lw=2 if ours else 1.2, zorder=3 if ours else 2, color="tab:blue" if ours else colour[name],
                markerfacecolor="tab:blue" if ours else "white",
            )
        axis.set(xscale="log", xlabel="seconds of training", ylabel="loss, nats per word",
                 title=f"{document['about']['corpus']}, k = {k}")
        axis.grid(alpha=0.3)
    drawn = [zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes[0]]
    handles = {label: handle for panel in drawn for handle, label in panel}
    figure.legend(handles.values(), handles, loc="center right", fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0, 1 - 2.9 / (6 * len(ks) + 3), 1))
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
