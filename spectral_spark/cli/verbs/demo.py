"""``spectral-spark demo``: every verb on a built-in corpus whose topics are known."""

import shlex
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spectral_spark.cli.checks import output_is_free
from spectral_spark.cli.flags import Flag, seed_number, setting_flag, whole_number
from spectral_spark.cli.terminal import duration, number
from spectral_spark.cli.verb import OVERWRITE, Verb
from spectral_spark.data.settings import HDP
from spectral_spark.files.formats import (
    CORPUS_KIND,
    DEMO_FOLDER_KIND,
    DEMO_NOTES_KIND,
    EVALUATION_KIND,
    MODEL_KIND,
    REPORT_KIND,
    SCORES_KIND,
)
from spectral_spark.files.paths import exists, output_target

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.files.model_files import TopicModelFiles
    from spectral_spark.ingest.demo_corpus import DemoCorpus

OUTPUT, DOCUMENTS = "out/demo", 5000
PARTS = {
    "notes.jsonl": DEMO_NOTES_KIND, "notes": DEMO_FOLDER_KIND, "today": DEMO_FOLDER_KIND, "corpus": CORPUS_KIND,
    "model": MODEL_KIND, "scores": SCORES_KIND, "evaluation.json": EVALUATION_KIND, "report.html": REPORT_KIND,
}


def plan(settings: Namespace) -> list[str]:
    output = settings.output or OUTPUT
    output_target(output)
    for part, kind in PARTS.items():
        output_is_free(f"{output}/{part}", settings.overwrite, kind=kind)
    return [
        f"simulate {number(settings.documents or DOCUMENTS)} notes from the towns of a small country, about 12 topics",
        *("run: spectral-spark " + shlex.join(words) for words in commands(output, settings)),
        "lay the topics found beside the true ones",
        "memory: the default of a local Spark; the corpus is a few MiB",
    ]


def commands(output: str, settings: Namespace) -> list[list[str]]:
    """The demo as command lines."""
    corpus, model = f"{output}/corpus", f"{output}/model"
    held_out = (settings.documents or DOCUMENTS) // 10
    steps = [
        ["ingest", "--source", "table", "--input", f"{output}/notes.jsonl", "--text-col", "text", "--path-cols",
         "region,town", "--id-col", "id", "--holdout", str(held_out), "--output", corpus],
        ["fit", "--corpus", corpus, "--model", model, "--k", str(settings.k or "auto")],
        ["score", "--corpus", corpus, "--model", model, "--output", f"{output}/scores"],
        ["evaluate", "--corpus", corpus, "--model", model, "--output", f"{output}/evaluation.json"],
        ["report", "--model", model, "--evaluation", f"{output}/evaluation.json", "--title",
         "Notes from a small country", "--output", f"{output}/report.html"],
    ]
    made = [corpus, model, f"{output}/scores", f"{output}/evaluation.json", f"{output}/report.html"]
    return [[*step, "--overwrite"] if exists(path) else step for step, path in zip(steps, made, strict=True)]


def run(run: "CommandRun", settings: Namespace) -> None:
    from spectral_spark.files.model_files import read_model_files
    from spectral_spark.ingest.demo_corpus import SEED, simulate_demo, write_demo, write_sample_folders

    output = settings.output or OUTPUT
    seed = SEED if settings.seed is None else settings.seed
    Path(output).mkdir(parents=True, exist_ok=True)
    with run.terminal.doing("simulating"):
        truth = simulate_demo(settings.documents or DOCUMENTS, seed)
        write_demo(truth, Path(output, "notes.jsonl"), seed)
        write_sample_folders(Path(output, "notes"), Path(output, "today"), seed=seed)
    for words in commands(output, settings):
        run.terminal.say("", f"$ spectral-spark {shlex.join(words)}")
        run.step(words)
    found = read_model_files(f"{output}/model")
    run.terminal.say(
        "", *compare(truth, found), "",
        f"the demo took {duration(run.seconds)}; all of it is in {output}",
        "what to try next:",
        f"  open the report in a browser: {output}/report.html",
        f"  fit a folder of text files:   spectral-spark ingest --source folders --input {output}/notes"
        " --output out/notes/corpus --holdout 100",
        "                                spectral-spark fit --corpus out/notes/corpus --model out/notes/model",
        "  the other verbs:              spectral-spark --help",
    )


def compare(truth: "DemoCorpus", found: "TopicModelFiles") -> list[str]:
    """Found topics beside the true ones, and the tree's proportions beside the true ones."""
    from spectral_spark.evaluate.recovery import recovery
    from spectral_spark.report.payload import observed_shares

    vocabulary = found.vocabulary or ()
    matched = recovery(found.topics, truth.topics_in(vocabulary))
    heading = f"  {'true topic':<11} {'share':>6} {'found':>6} {'error':>6}  first words found"
    count = found.topics.shape[1]
    lines = [f"{len(truth.names)} true topics, {count} found; shares are averages over documents:", heading]
    drawn = truth.simulated.document_proportions.mean(axis=0)
    shares = observed_shares(found.nodes)[0]
    for name, share, topic, error in zip(truth.names, drawn, matched.match, matched.errors, strict=True):
        if topic < 0:
            lines.append(f"  {name:<11} {share:>6.1%} {'–':>6} {'–':>6}  not found")
            continue
        words = " ".join(vocabulary[i] for i in np.argsort(-found.topics[:, topic])[:7])
        lines.append(f"  {name:<11} {share:>6.1%} {shares[topic]:>6.1%} {error:>6.3f}  {words}")
    lines.append(f"  mean error {matched.error:.3f} (half the L1 distance: 0 is equal, 1 is disjoint)")
    return [*lines, "", *_tree_lines(truth, found, matched.match)]


def _tree_lines(truth: "DemoCorpus", found: "TopicModelFiles", match: np.ndarray) -> list[str]:
    """Each place with its largest topics, found share and, in brackets, the true one."""
    from spectral_spark.report.payload import observed_shares

    lines = ["largest topics of each place, average share of its documents as found (and as simulated):"]
    real = _simulated_shares(truth)
    rows = zip(found.nodes.paths, found.nodes.documents, observed_shares(found.nodes), strict=True)
    for path, documents, shares in rows:
        by_name = np.where(match >= 0, shares[match], 0.0)
        largest = np.argsort(-by_name)[:3]
        text = ", ".join(f"{truth.names[i]} {by_name[i]:.0%} ({real[path][i]:.0%})" for i in largest)
        place = "  " * len(path) + (path[-1] if path else "the country")
        lines.append(f"  {place:<18} {number(documents):>6}  {text}")
    return lines


def _simulated_shares(truth: "DemoCorpus") -> dict[tuple[str, ...], np.ndarray]:
    """The average topic shares of the simulated documents at or below every node."""
    simulated = truth.simulated
    below: dict[tuple[str, ...], list[int]] = {}
    for document, node in enumerate(simulated.batch.nodes):
        path = simulated.tree.paths[node]
        for level in range(len(path) + 1):
            below.setdefault(path[:level], []).append(document)
    return {path: simulated.document_proportions[documents].mean(axis=0) for path, documents in below.items()}


VERB = Verb(
    name="demo",
    summary="all of it on a built-in corpus, in under two minutes",
    description=(
        "Simulate a small corpus of readable words from twelve known topics and a three-level tree, then ingest, fit,\n"
        "score, evaluate and report it, and lay what was found beside the truth. Prints each command it runs."
    ),
    example="spectral-spark demo --output out/demo",
    flags=(
        Flag("output", f"directory for everything (default {OUTPUT})", metavar="DIR"),
        Flag("documents", f"size of the corpus (default {DOCUMENTS})", whole_number(200), "N"),
        setting_flag(HDP["k"]),
        Flag("seed", "another seed gives another corpus", seed_number, "N"),
        OVERWRITE,
    ),
    plan=plan,
    run=run,
)
