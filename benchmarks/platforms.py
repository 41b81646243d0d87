"""The same corpora fitted on every platform that this machine can be: one table of hashes of the topics.

    python benchmarks/platforms.py --amazon out/amazon/corpus --enron out/slice/corpus
    python benchmarks/platforms.py --amazon … --enron … --only yarn-client yarn-cluster      # some of the platforms
    python benchmarks/platforms.py --table                                                   # what there is so far

The demo's corpus is made here; the others are corpora that ``ingest`` made of the Amazon reviews (``conf/amazon.toml``)
and of the slice of 5,000 mails that the tests use (every 26th of the archive):

    python -c "from tests.jobs.corpora import enron_slice; from pathlib import Path; \\
        enron_slice(Path('data/enron_mail.tar.gz'), Path('out'))"
    spectral-spark ingest --source enron --input out/enron_slice.tar.gz --output out/slice/corpus \\
        --vocab-size 3000 --min-documents 5 --holdout 100/group

A cell that was run stays as it is until ``--again``, so parts can be run one after the other. What cannot be run here
says why. Environments and jars are kept in ``--cache``. Clusters and stores are started on loopback by the helpers of
the tests; every pass on a cluster runs on its executors.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, package_revision
from platform_list import PLATFORMS, ROOT, NotRun, Setting, clean_environment, newest

sys.path.insert(0, str(ROOT))                               # clusters and stores are those of the tests

REFERENCE = "spark-4.3"
FLAGS = {
    "demo": ["--k", "auto"],
    "amazon": ["--k", "50", "--layers", "all", "--group-balance", "1.0", "--refine-passes", "4"],
    "enron": ["--k", "50", "--layers", "all", "--group-balance", "1.0", "--refine-passes", "2"],
}


def demo_corpus(setting: Setting) -> Path:
    """The demo's corpus, made once."""
    corpus = setting.cache / "demo" / "corpus"
    if not corpus.exists():
        code = ("import sys; from spectral_spark.cli.run import main; from pathlib import Path; "
                "from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo; place = Path(sys.argv[1]); "
                "place.mkdir(parents=True, exist_ok=True); write_demo(simulate_demo(5000), place / 'notes.jsonl'); "
                "sys.exit(main(['ingest', '--source', 'table', '--input', str(place / 'notes.jsonl'), '--text-col', "
                "'text', '--path-cols', 'region,town', '--id-col', 'id', '--holdout', '500', '--output', "
                "str(place / 'corpus'), '--quiet']))")
        subprocess.run([str(newest(setting)), "-c", code, str(corpus.parent)], check=True, env=clean_environment())
    return corpus


def run_platform(name: str, corpora: dict[str, Path], answers: Path, setting: Setting) -> None:
    """Fit the corpora that have no answer yet, all in one application."""
    missing = {corpus: path for corpus, path in corpora.items() if not (answers / f"{name}-{corpus}.json").exists()}
    if not missing:
        return
    print(f"{name}: {', '.join(missing)}", flush=True)
    try:
        with PLATFORMS[name].start(setting) as started:
            jobs = [{"corpus": str(path), "place": f"{started.place}/{corpus}", "flags": FLAGS[corpus],
                     "answer": str(answers / f"{name}-{corpus}"), "revision": package_revision()}
                    for corpus, path in missing.items()]
            listed = setting.scratch / "jobs.json"
            listed.write_text(json.dumps(jobs))
            done = subprocess.run([*started.command, str(listed)], env=started.environment, capture_output=True,
                                  text=True, timeout=setting.seconds, check=False)
        why = "" if done.returncode == 0 else _last_words(done.stderr)
    except (NotRun, RuntimeError, subprocess.SubprocessError) as error:
        why = str(error).splitlines()[0][:200]
    (answers / f"{name}.reason").write_text(why)
    if why:
        print(f"  not run: {why}", flush=True)


def _last_words(said: str) -> str:
    lines = [line for line in said.strip().splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("spectral-spark:")]
    return (ours or lines or ["it ended without a word"])[-1 if not ours else 0][:200]


def table(answers: Path, corpora: Sequence[str]) -> list[str]:
    """The rows in Markdown: versions, and each corpus's hash, with the largest difference where it is another."""
    lines = [f"| platform | Spark | NumPy | {' | '.join(corpora)} |", f"|---|---|---|{'---|' * len(corpora)}"]
    for name, platform in PLATFORMS.items():
        found = {corpus: _answer(answers, name, corpus) for corpus in corpora}
        known = next((answer for answer in found.values() if answer), None)
        cells = [_cell(answers, name, corpus) for corpus in corpora]
        said = (known["spark"], known["numpy"]) if known else ("–", "–")
        lines.append(f"| {platform.what} | {said[0]} | {said[1]} | {' | '.join(cells)} |")
    return lines


def _answer(answers: Path, name: str, corpus: str) -> dict[str, Any] | None:
    file = answers / f"{name}-{corpus}.json"
    return json.loads(file.read_text()) if file.exists() else None


def _cell(answers: Path, name: str, corpus: str) -> str:
    found, reference = _answer(answers, name, corpus), _answer(answers, REFERENCE, corpus)
    if found is None:
        reason = answers / f"{name}.reason"
        said = reason.read_text() if reason.exists() else ""
        return f"not run{f': {said}' if said else ''}".replace("|", "/")
    if reference is None or found["hash"] == reference["hash"]:
        return f"`{found['hash']}`"
    mine, theirs = (np.load(answers / f"{platform}-{corpus}.npy") for platform in (name, REFERENCE))
    if mine.shape != theirs.shape:
        return f"`{found['hash']}`, {mine.shape[1]} topics instead of {theirs.shape[1]}"
    return f"`{found['hash']}`, differs by {np.abs(mine - theirs).max():.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--amazon", type=Path, help="corpus of the Amazon reviews")
    parser.add_argument("--enron", type=Path, help="corpus of the slice of 5,000 mails")
    parser.add_argument("--only", nargs="+", choices=PLATFORMS, help="these platforms alone")
    parser.add_argument("--corpora", nargs="+", choices=FLAGS, default=list(FLAGS), help="these corpora alone")
    parser.add_argument("--again", action="store_true", help="run also what was run before")
    parser.add_argument("--table", action="store_true", help="run nothing, print the table")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "platforms", help="environments, jars, answers")
    parser.add_argument("--seconds", type=int, default=1800, help="a platform is given up after this time")
    given = parser.parse_args()
    answers = given.cache.resolve() / "answers"
    answers.mkdir(parents=True, exist_ok=True)
    chosen = given.only or list(PLATFORMS)
    if given.again:
        for name in chosen:
            for file in answers.glob(f"{name}-*.json"):
                file.unlink()
    if not given.table:
        for name in chosen:
            with tempfile.TemporaryDirectory(prefix="spectral-platforms-") as scratch:
                setting = Setting(given.cache.resolve(), Path(scratch), given.seconds)
                paths = {"demo": demo_corpus(setting), "amazon": given.amazon, "enron": given.enron}
                corpora = {key: path.resolve() for key, path in paths.items() if path and key in given.corpora}
                run_platform(name, corpora, answers, setting)
    lines = table(answers, list(FLAGS))
    print("\n".join(lines))
    if any(answers.glob("*.json")):
        results = {f"{file.stem}": json.loads(file.read_text()) for file in sorted(answers.glob("*.json"))}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "platforms.json").write_text(json.dumps(context() | {"cells": results}, indent=2) + "\n")
        made = sorted({cell["revision"] for cell in results.values()})
        said = f"\n\nThe package is that of revision {' and '.join(made)}.\n"
        (RESULTS / "platforms.md").write_text("# Platforms\n\n" + "\n".join(lines) + said)


if __name__ == "__main__":
    main()
