"""How many topics ``k="auto"`` finds in drawn corpora with 10 to 300 of them, with the settings that a fit has.

    python benchmarks/rank.py [--topics 10 20 35 50 75 100 150 200 250 300] [--concentrations 1] [--seed 0]

The basis grows as in a fit (``fit/rank_step.py``); the number of topics comes from the second moments in it.
Everything runs in one process. Rows are added to ``results/rank.json``.
"""

import argparse
import time
from typing import Any

from common import RESULTS, context, markdown_table, merge_rows
from local_corpus import local_corpus
from recovery import Setting, draw
from threadpoolctl import threadpool_limits

from spectral_spark.fit.basis_step import basis_weights
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.moment_step import collect_moments
from spectral_spark.fit.rank_step import basis_for_rank, topics_above_noise

TOPICS = (10, 20, 35, 50, 75, 100, 150, 200, 250, 300)
WITHIN = 0.05


def measured(topics: int, concentration: float, seed: int) -> dict[str, Any]:
    """Automatic k on one drawn corpus."""
    documents = max(10_000, 200 * topics)
    setting = Setting(f"k={topics}", documents, max(2_000, 15 * topics), topics, (concentration,))
    drawn, settings, run = draw(setting, seed), FitSettings(k="auto"), FitRun()
    corpus = local_corpus(drawn.tree, drawn.batch)
    began = time.process_time()
    basis = basis_for_rank(corpus, basis_weights(corpus, settings), settings, "", run, "drawn")
    found = topics_above_noise(collect_moments(corpus, basis, settings, run, "drawn", third=False), settings)
    return {
        "topics": topics, "documents": documents, "words": setting.words, "g": concentration, "seed": seed,
        "found": found, "columns": basis.size, "range passes": sum(p["name"].startswith("range") for p in run.passes),
        "seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, nargs="+", default=TOPICS)
    parser.add_argument("--concentrations", type=float, nargs="+", default=[1.0])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for concentration in arguments.concentrations:
            for topics in arguments.topics:
                rows.append(measured(topics, concentration, arguments.seed))
                print(rows[-1], flush=True)
    keys = ["topics", "g", "seed"]
    everything = merge_rows(RESULTS / "rank.json", rows, keys, context=context())["rows"]
    everything.sort(key=lambda row: tuple(row[key] for key in ("g", "seed", "topics")))
    near = sum(abs(row["found"] - row["topics"]) <= WITHIN * row["topics"] for row in everything)
    table = markdown_table(everything, list(rows[0]))
    (RESULTS / "rank.md").write_text(f"{table}\n{near} of {len(everything)} within {WITHIN:.0%}.\n")


if __name__ == "__main__":
    main()
