"""Seconds of an ingest of the histories, of this revision and of an older one, in turn and with the same settings.

    python benchmarks/ingest.py [--other DIRECTORY] [--input TABLES --repeats 1]

DIRECTORY is a working tree of another revision (``git worktree add DIRECTORY REVISION``). Both must write the same
corpus: their fingerprints are compared. Each run is a process of its own, with two cores.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import RESULTS, context, load_average, markdown_table, python, run_child, write_json
from ibp_data import data_root

SETTINGS = ["--source", "table", "--format", "parquet", "--text-col", "text", "--id-col", "id", "--path-cols",
            "project,area", "--vocab-size", "20000", "--holdout", "1000/group", "--drop-duplicates"]
COMPARED = ("read", "kept", "tokens", "fingerprint")


def measured(tree: Path, tables: str) -> dict[str, Any]:
    """One ingest by the package in ``tree``; seconds of the whole command, the start of Spark included."""
    with tempfile.TemporaryDirectory(prefix="ingest-") as scratch:
        load, corpus = load_average(), Path(scratch, "corpus")
        usage = run_child([python(), str(tree / "jobs" / "ingest.py"), "--input", tables, "--output", str(corpus),
                           *SETTINGS], environment={"PYTHONPATH": str(tree)}, folder=tree, log=Path(scratch, "log"))
        if usage.returncode:
            print(Path(scratch, "log").read_text(), file=sys.stderr)
            raise SystemExit(f"the ingest by '{tree}' failed")
        manifest = json.loads((corpus / "corpus.json").read_text())
    return {**{name: manifest[name] for name in COMPARED}, "seconds": usage.seconds,
            "documents a second": round(manifest["read"] / usage.seconds), "peak GB": usage.peak_bytes / 1e9,
            "load": load}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="a working tree of another revision")
    parser.add_argument("--input", help="Parquet tables as the histories are (default: SPECTRAL_DATA/histories)")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    tables = arguments.input or str(data_root() / "histories")
    trees = {"this": Path(__file__).resolve().parent.parent}
    if arguments.other:
        trees = {"other": arguments.other.resolve(), **trees}
    about, rows = context(), []
    for repeat in range(arguments.repeats):
        for name, tree in trees.items():
            rows.append({"revision": name, "run": repeat + 1, **measured(tree, tables)})
            print(rows[-1], file=sys.stderr, flush=True)
    if len({tuple(row[name] for name in COMPARED) for row in rows}) > 1:
        raise SystemExit("the corpora differ")
    report(rows, about, os.path.basename(tables.rstrip("/")))


def report(rows: list[dict[str, Any]], about: dict[str, Any], name: str) -> None:
    """Write the table and the numbers."""
    best = {which: min(row["seconds"] for row in rows if row["revision"] == which) for which in
            dict.fromkeys(row["revision"] for row in rows)}
    ratio = f" This revision is {best['other'] / best['this']:.2f} times as fast." if len(best) > 1 else ""
    write_json(RESULTS / f"ingest-{name}.json", {"about": about, "rows": rows, "finished": time.strftime("%F %T UTC")})
    columns = ["revision", "run", "read", "kept", "seconds", "documents a second", "peak GB", "load"]
    RESULTS.joinpath(f"ingest-{name}.md").write_text(
        f"Revision {about['revision']}, {about['machine']['cores']} cores, {about['date']}. Seconds of the whole "
        f"command; the corpora are the same.{ratio}\n\n" + markdown_table(rows, columns))


if __name__ == "__main__":
    main()
