"""What the document tree is worth to the spectral step, on corpora drawn from the model.

    python benchmarks/levels.py [--part topics|errors|weights] [--groups 4 6 20 100 500] [--seeds 2]

``topics``: 6,000 documents of 80 words in groups of equal and of very different size, without refinement. The mean
error of topics (half the L1 distance) with everything automatic, beside one concentration for a flat tree, the true
concentrations at the root, and tensors per group with the documents' true concentration; and the concentrations of the
levels with their standard errors. ``errors``: how much the ratios that tell the levels apart scatter over many corpora
beside their standard errors, and how often the truth is within two of these. ``weights``: the error of the root's
moments under the three weightings. The steps are those of a fit, in one process and without Spark.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench_corpus import take
from common import RESULTS, context, markdown_table, merge_rows
from local_corpus import local_corpus
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit.basis_step import basis_weights, find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import level_report
from spectral_spark.fit.moment_step import collect_moments
from spectral_spark.fit.solve_step import solve_moments
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.level_concentrations import LevelRatios, level_ratios
from spectral_spark.solve.reconstruct import positive_words
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.tree.census import Census

WORDS, K, DOCUMENTS, LENGTH = 300, 12, 6_000, 80
CONCENTRATIONS = ((3.0, 1.0), (1.0, 5.0), (10.0, 1.0))
FLAT = 0.3
SMOOTHED = 0.05                         # share of the mean that the spectral step mixes into its topics
WEIGHTED = {"8 equal": [300] * 8, "1900, 1500, 700, 300": [1900, 1500, 700, 300],
            "16 from 1,900 to 5": np.geomspace(1900, 5, 16).astype(int).tolist()}
WEIGHTINGS = ("uniform", "tokens", "ess")
TOPIC_COLUMNS = {
    "g": "g", "groups": "groups", "flat": f"flat, {FLAT}", "root": "true root", "per group": "per group",
    "auto": "automatic", "ratio": "automatic / best", "worst": "worst", "of_flat": "automatic / flat",
    "level": "g_1 found", "level_error": "standard error",
}
ERROR_COLUMNS = {
    "g": "g", "groups": "groups", "balanced": "equal groups", "corpora": "corpora", "ratio": "r_1", "bias": "bias",
    "scatter": "error", "claimed": "standard error", "covered": "within two", "near": "g_1 within 25%",
}


def sizes(groups: int, balanced: bool) -> list[int]:
    """Documents per group; the largest group of an unbalanced corpus is sixteen times the smallest."""
    share = np.ones(groups) if balanced else np.geomspace(16.0, 1.0, groups)
    return np.maximum(DOCUMENTS * share / share.sum(), 3).astype(int).tolist()


def topic_rows(groups: Sequence[int], seeds: range) -> Iterator[dict[str, Any]]:
    """A row per drawn corpus."""
    for number in groups:
        for g in CONCENTRATIONS:
            for balanced in (True, False):
                for seed in seeds:
                    drawn = simulate_hdp((WORDS, K), sizes(number, balanced), g, LENGTH, seed=seed)
                    row = {"groups": number, "g": f"{g[0]:g}, {g[1]:g}", "balanced": balanced, "seed": seed}
                    yield row | topic_errors(drawn, g)


def topic_errors(drawn: SimulatedCorpus, g: tuple[float, float]) -> dict[str, Any]:
    """Errors of the topics of one corpus, everything automatic and with what it can choose from."""
    settings, run = FitSettings(k=K, refine_passes=0, count_cap=0), FitRun()
    order = np.random.default_rng(0).permutation(drawn.batch.n_documents)
    corpus = local_corpus(drawn.tree, take(drawn.batch, order))
    began = time.process_time()
    basis = find_basis(corpus, basis_weights(corpus, settings), settings, "", run)
    moments = collect_moments(corpus, basis, settings, run, "drawn")
    solved = solve_moments(moments, settings, corpus, run)
    seconds = time.process_time() - began
    others = {"flat": solve_state(moments, K, "polar", FLAT), "root": solve_state(moments, K, "polar", list(g))}
    if moments.groups is not None:
        others["per group"] = solve_state(moments, K, "polar", g[-1:], per_group=True)
    errors = {name: recovery(other.topics, drawn.topics).error for name, other in others.items()}
    errors = {"auto": recovery(unsmoothed(solved.solution.topics, moments), drawn.topics).error} | errors
    best = min(value for name, value in errors.items() if name != "auto")
    levels = level_report(settings, moments, solved.solution, solved.topics)
    return errors | {
        "ratio": errors["auto"] / best, "of_flat": errors["auto"] / errors["flat"],
        "chosen": solved.topics.report["concentrations_chosen"],
        "scores": solved.topics.report["concentration_scores"],
        "found": list(solved.solution.concentrations or ()), "seconds": seconds,
        "level": levels.get("concentrations"), "level_error": levels.get("errors"),
    }


def unsmoothed(topics: np.ndarray, moments: MomentState) -> np.ndarray:
    """The topics before they were mixed with the corpus mean."""
    return (topics - SMOOTHED * positive_words(moments.mean_words())[:, None]) / (1.0 - SMOOTHED)


def error_rows(groups: Sequence[int], seeds: int) -> Iterator[dict[str, Any]]:
    """Standard errors of the ratios of the levels beside their scatter; the basis is that of the true topics."""
    for number in groups:
        for g in CONCENTRATIONS:
            for balanced in (True, False):
                drawn = (simulate_hdp((WORDS, K), sizes(number, balanced), g, LENGTH, seed=100 + seed)
                         for seed in range(seeds))
                found = [ratios for corpus in drawn if (ratios := ratios_of(corpus)) and ratios.errors is not None]
                truth = (g[1] + 1.0) / (g[0] + g[1] + 1.0)
                off = np.array([ratios.ratios[0] - truth for ratios in found])
                claimed = np.array([ratios.errors[0] for ratios in found if ratios.errors is not None])
                levels = np.array([ratios.concentrations(g[1])[0] for ratios in found])
                yield {
                    "groups": number, "g": f"{g[0]:g}, {g[1]:g}", "balanced": balanced, "corpora": seeds,
                    "ratio": truth, "bias": float(off.mean()), "scatter": float(np.sqrt((off**2).mean())),
                    "claimed": float(np.sqrt((claimed**2).mean())),
                    "covered": float((np.abs(off) < 2.0 * claimed).mean()),
                    "near": float((np.abs(levels / g[0] - 1.0) < 0.25).mean()),
                }


def ratios_of(drawn: SimulatedCorpus) -> LevelRatios | None:
    """What pairs of documents say about the levels of one corpus."""
    basis = Basis(np.ones(WORDS), np.linalg.qr(drawn.topics)[0], "drawn")
    census = Census.count(drawn.tree, drawn.batch.nodes, drawn.batch.lengths)
    plan = MomentPlan.make(basis, census, "tokens", groups="auto")
    even = np.arange(drawn.batch.n_documents) % 2 == 0
    state = plan.finish(*(sums(plan, selected_documents(drawn.batch, part)) for part in (even, ~even)))
    pairs = state.pairs()
    return None if pairs is None else level_ratios(pairs, K)


def weight_rows(seeds: int) -> Iterator[dict[str, Any]]:
    """Errors of the root's first and second moment, root mean squares over corpora, relative to the better of two."""
    for name, groups in WEIGHTED.items():
        for g1 in (1.0, 10.0, 100.0):
            squares = {weighting: np.zeros(2) for weighting in WEIGHTINGS}
            for seed in range(seeds):
                drawn = simulate_hdp((WORDS, K), groups, [g1, 1.0], LENGTH, seed=100 + seed)
                for weighting in WEIGHTINGS:
                    squares[weighting] += moment_errors(drawn, (g1, 1.0), weighting)
            roots = {weighting: np.sqrt(total / seeds) for weighting, total in squares.items()}
            best = np.minimum(roots["uniform"], roots["tokens"])
            yield {"groups": name, "g1": g1, "corpora": seeds} | {
                f"{weighting} {moment}": float(roots[weighting][at]) for weighting in WEIGHTINGS
                for at, moment in enumerate(("M1", "M2"))
            } | {"M1": float(roots["ess"][0] / best[0]), "M2": float(roots["ess"][1] / best[1])}


def moment_errors(drawn: SimulatedCorpus, g: tuple[float, float], weighting: str) -> np.ndarray:
    """Squared errors of M1 and M2 in an orthonormal basis of the topics."""
    directions = np.linalg.qr(drawn.topics)[0]
    basis, batch = Basis(np.ones(WORDS), directions, "drawn"), drawn.batch
    census = Census.count(drawn.tree, batch.nodes, batch.lengths)
    plan = MomentPlan.make(basis, census, weighting, node_states=weighting != "tokens", third=False)
    even = np.arange(batch.n_documents) % 2 == 0
    found = plan.finish(*(sums(plan, selected_documents(batch, part)) for part in (even, ~even))).root()
    true = true_moments(directions.T @ drawn.topics, drawn.root_weights, g)
    return np.array([((found.first - true.first) ** 2).sum(), ((found.second - true.second) ** 2).sum()])


def sums(plan: MomentPlan, documents: CountBatch) -> dict[str, np.ndarray]:
    accumulator = plan.kernel.start(plan.shared)
    accumulator.add(documents)
    return dict(accumulator.arrays())  # type: ignore[arg-type]


def true_moments(topics: np.ndarray, weights: np.ndarray, g: tuple[float, float]) -> ProjectedMoments:
    """M1 and M2 of the root in a basis."""
    c, mean = hdp_coefficients(g), topics @ weights
    return ProjectedMoments(mean, c.c2 * np.outer(mean, mean) + c.c3 * (topics * weights) @ topics.T, None)


def rendered(document: dict[str, Any]) -> str:
    """The tables for people."""
    about, text = document["about"], ["# The tree in the spectral step\n"]
    text.append(f"Revision {about['revision']}, {about['date']}. `python benchmarks/levels.py`.\n")
    rows = [row for row in document["rows"] if row["part"] == "topics"]
    if rows:
        text += [f"Mean topic error on drawn corpora, k = {K}, {DOCUMENTS:,} documents of {LENGTH} words, over equal "
                 "and unequal groups and seeds. Ratios are automatic against the best of the three, on average and at "
                 "worst.\n", markdown_table(averaged(rows), TOPIC_COLUMNS), ""]
    rows = [row for row in document["rows"] if row["part"] == "errors"]
    if rows:
        text += ["The ratio r_1 that tells g_1 (formulas §14), over many corpora: root mean squared error, what the "
                 "standard errors claim, how often the truth is within two of them, and how often g_1 is within 25%, "
                 "given the documents' concentration.\n", markdown_table(rows, ERROR_COLUMNS), ""]
    rows = [row for row in document["rows"] if row["part"] == "weights"]
    if rows:
        text += ["Root mean squared error of the root's moments under `weighting=ess`, relative to the better of "
                 f"`uniform` and pooling; {rows[0]['corpora']} corpora each.\n",
                 markdown_table(rows, {"groups": "groups", "g1": "g_1", "M1": "M1", "M2": "M2"})]
    return "\n".join(text)


def averaged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per concentrations and number of groups."""
    lines = []
    for key in dict.fromkeys((row["g"], row["groups"]) for row in rows):
        mine = [row for row in rows if (row["g"], row["groups"]) == key]
        line: dict[str, Any] = {"g": key[0], "groups": key[1]}
        for name in ("flat", "root", "per group", "auto", "ratio", "of_flat"):
            known = [row[name] for row in mine if row.get(name) is not None]
            line[name] = float(np.mean(known)) if known else None
        line["worst"] = max(row["ratio"] for row in mine)
        levels = [row["level"][0] for row in mine if row["level"]]
        errors = [row["level_error"][0] for row in mine if row["level_error"]]
        line["level"] = f"{min(levels):.3g} – {max(levels):.3g}" if levels else None
        line["level_error"] = f"{min(errors):.2g} – {max(errors):.2g}" if errors else None
        lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["topics", "errors", "weights", "all"], default="all")
    parser.add_argument("--groups", type=int, nargs="+", default=[4, 6, 20, 100, 500])
    parser.add_argument("--seeds", type=int, default=2, help="corpora of each kind; 6 times for weights, 15 for errors")
    parser.add_argument("--first-seed", type=int, default=1, help="of the corpora for topics")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    with threadpool_limits(1):
        if arguments.part in ("topics", "all"):
            for row in topic_rows(arguments.groups, seeds):
                print({name: row[name] for name in row if name != "scores"}, file=sys.stderr, flush=True)
                rows.append({"part": "topics", **row})
                save(rows, arguments.results)
        if arguments.part in ("errors", "all"):
            for row in error_rows(arguments.groups, 15 * arguments.seeds):
                rows.append({"part": "errors", **row})
                save(rows, arguments.results)
        if arguments.part in ("weights", "all"):
            rows += [{"part": "weights", **row} for row in weight_rows(6 * arguments.seeds)]
            save(rows, arguments.results)


def save(rows: list[dict[str, Any]], results: Path) -> None:
    """Add rows to the tables."""
    keys = ("part", "groups", "g", "g1", "balanced", "seed")
    whole = [dict.fromkeys(keys) | row for row in rows]
    document = merge_rows(results / "levels.json", whole, keys, about=context())
    (results / "levels.md").write_text(rendered(document))


if __name__ == "__main__":
    main()
