"""Small corpora on the driver beside the same fits on executors, in one session: seconds of the steps, and the bits.

    python benchmarks/driver.py --corpus CORPUS [--name NAME --k 50 --repeats 3]

Each fit is repeated and the fastest of each kind counts; the first ones of both kinds warm everything up and do not.
"""

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import Any

from common import RESULTS, context, load_average, markdown_table, write_json
from spark_models import SparkBench

from spectral_spark.engine.choose_corpus import DRIVER_ENTRIES, SETTING

PLACES = {"executors": 0, "driver": DRIVER_ENTRIES}
FITS: dict[str, dict[str, Any]] = {"1 pass, no sampling": {"exploreSweeps": 0}, "1 pass after sampling": {}}
STEPS = ("census", "range", "moments", "solve", "refine", "check", "total")


def measured(bench: SparkBench, k: int, repeats: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for fit, settings in FITS.items():
        found: dict[str, dict[str, Any]] = {}
        for turn in range(repeats + 1):
            for place, entries in PLACES.items():
                bench.spark.conf.set(SETTING, str(entries))
                started = time.perf_counter()
                model = bench.fit_ours(k, 1, 0, **settings)
                row = {"fit": fit, "where": place, "load": load_average(),
                       **{step: model.summary.seconds[step] for step in STEPS},
                       "bits": hashlib.sha256(model.topicsMatrix().tobytes()).hexdigest()[:12]}
                print(row, f"{time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
                if turn and (place not in found or row["total"] < found[place]["total"]):
                    found[place] = row
        rows += found.values()
        ratios = {step: found["executors"][step] / max(found["driver"][step], 1e-9) for step in STEPS}
        same = "same bits" if found["executors"]["bits"] == found["driver"]["bits"] else "OTHER BITS"
        rows.append({"fit": fit, "where": "ratio", **ratios, "bits": same})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--name", help="of the result files; default: the name of the corpus")
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    name = f"driver-{arguments.name or Path(arguments.corpus).name}"
    about = context()
    rows = measured(SparkBench(arguments.corpus), arguments.k, arguments.repeats)
    write_json(RESULTS / f"{name}.json", {"about": about, "k": arguments.k, "rows": rows})
    lines = [{key: value for key, value in row.items() if key != "load"} for row in rows]
    (RESULTS / f"{name}.md").write_text(
        f"Revision {about['revision']}, {about['machine']['cores']} cores, k = {arguments.k}, seconds of the fastest "
        f"of {arguments.repeats} fits.\n\n" + markdown_table(lines, ["fit", "where", *STEPS, "bits"])
    )


if __name__ == "__main__":
    main()
