"""The whole of a corpus from its archive to the report, with the time of every stage.

    python benchmarks/stages.py --config conf/enron.toml --input data/enron_mail.tar.gz

Runs ingest, fit, score, evaluate and report as ``spectral-spark`` would, each in a process of its own, Spark's start
included, and writes results/stages-NAME.json and .md.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from common import RESULTS, context, markdown_table, python, run_child, write_json


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    work, facts, rows = Path(tempfile.mkdtemp(prefix="spectral-stages-")), context(), []
    corpus, model, evaluation = work / "corpus", work / "model", work / "evaluation.json"
    stages = {
        "ingest": ["--input", options.input, "--output", corpus],
        "fit": ["--corpus", corpus, "--model", model],
        "score": ["--corpus", corpus, "--model", model, "--output", work / "scores"],
        "evaluate": ["--corpus", corpus, "--model", model, "--output", evaluation],
        "report": ["--model", model, "--evaluation", evaluation, "--output", work / "report.html"],
    }
    try:
        for verb, flags in stages.items():
            command = [python(), "-c", "import sys; from spectral_spark.cli import main; sys.exit(main())", verb,
                       "--config", str(options.config), *map(str, flags)]
            log = work / f"{verb}.log"
            usage = run_child(command, log=log)
            print(log.read_text(), file=sys.stderr)
            rows.append({"stage": verb, "seconds": usage.seconds, "peak MiB": usage.peak_bytes >> 20,
                         "exit code": usage.returncode})
            if usage.returncode:
                return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    name = options.config.stem
    write_json(options.output / f"stages-{name}.json", {**facts, "rows": rows})
    table = markdown_table(rows, ["stage", "seconds", "peak MiB"])
    (options.output / f"stages-{name}.md").write_text(
        f"Revision {facts['revision']}, load {facts['load_at_start']}\n\n{table}"
    )
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
