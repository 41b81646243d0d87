"""How close recovered topics come to the true ones on simulated corpora: solvers, tensors per group, number of topics.

    python benchmarks/recovery.py [--part solvers|groups|rank|all] [--seeds 2] [--reference FILE.py]

Error is the mean over topics of half the L1 distance to the matched true topic. Everything runs in one process.
``--reference`` runs another implementation (see ``other_solution.py``) on the same draws.
"""

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import other_solution
from common import RESULTS, context, markdown_table, write_json

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.engine.sparse_rows import whole
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ingest.simulate import SimulatedCorpus, random_topics, simulate_hdp
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    word_scale,
)
from spectral_spark.solve import SOLVERS, node_proportions
from spectral_spark.solve.rank import RULES
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.tree.census import Census
from spectral_spark.tree.weights import node_weights

BATCH = 1024
PARTS = ("solvers", "groups", "rank")


@dataclass(frozen=True)
class Setting:
    """A corpus to draw: ``groups`` 0 is a 2-layer tree."""

    name: str
    documents: int
    words: int
    k: int
    concentrations: tuple[float, ...]
    groups: int = 0
    lengths: tuple[int, int] = (80, 120)
    topic_concentration: float = 0.05


SOLVER_SETTINGS = (
    Setting("k=50", 20_000, 2_000, 50, (1.0,)),
    Setting("k=50, g=10", 20_000, 2_000, 50, (10.0,)),
    Setting("k=100", 40_000, 3_000, 100, (1.0,)),
    Setting("k=100, g=5", 40_000, 3_000, 100, (5.0,)),
)
GROUP_SETTINGS = (
    Setting("4 groups, g=10,1", 20_000, 1_000, 20, (10.0, 1.0), 4),
    Setting("4 groups, g=2,1", 20_000, 1_000, 20, (2.0, 1.0), 4),
    Setting("20 groups, g=5,1", 20_000, 1_000, 20, (5.0, 1.0), 20),
    Setting("500 groups, g=5,1", 20_000, 1_000, 20, (5.0, 1.0), 500),
)

RANK_SETTINGS = tuple(
    Setting(f"k={k}, g={g:g}, topics {sharpness:g}", 10_000, 1_500, k, (g,), topic_concentration=sharpness)
    for k in (10, 20, 35, 50) for g in (1.0, 5.0) for sharpness in (0.05, 0.1, 0.2)
)

# Errors of the NumPy reference (formulas §9 and §6) on corpora of its own. Only k, g and the groups are on record, not
# its words, lengths and draws, and for groups not even g: a size to compare with, no ratio to take.
REFERENCE_SOLVERS = {
    "k=50": {"polar": 0.0666, "power": 0.0679, "als": 0.0679, "sketch": 0.0666},
    "k=50, g=10": {"polar": 0.1481, "power": 0.1588, "als": 0.1579},
    "k=100": {"polar": 0.0726, "power": 0.0757, "als": 0.0756},
    "k=100, g=5": {"polar": 0.1086, "power": 0.1154, "als": 0.1151},
}
REFERENCE_GROUPS = {
    "4 groups, g=10,1": ".143 → .089", "4 groups, g=2,1": ".361 → .160", "20 groups, g=5,1": ".080 → .038",
    "500 groups, g=5,1": ".041 → .036",
}


def draw(setting: Setting, seed: int) -> SimulatedCorpus:
    """The corpus of a setting."""
    topics = random_topics(setting.words, setting.k, seed, concentration=setting.topic_concentration)
    each = setting.documents // max(setting.groups, 1)
    tree = [each] * setting.groups if setting.groups else setting.documents
    weights = np.random.default_rng([seed, 7]).dirichlet(np.full(setting.k, 5.0))
    return simulate_hdp(topics, tree, setting.concentrations, setting.lengths, seed, root_weights=weights)


def collect(corpus: SimulatedCorpus, p: int, groups: str = "none", seed: int = 0) -> MomentState:
    """Basis and moments in this process: three range passes and one moment pass."""
    documents = corpus.batch
    census = Census.count(corpus.tree, documents.nodes, documents.lengths)
    factor = node_weights(census, "ess").factor
    kernel, probe = RangeKernel(documents.vocab_size, None, False), first_probe(documents.vocab_size, p - 1, seed)
    for step in range(3):
        sums = _pass(kernel, {"probe": probe, "factor": factor}, documents)
        mean, image = mean_words(sums), apply_second_moment(sums, probe)
        scale = word_scale(mean, 0.5)
        if step < 2:
            probe = next_probe(image, scale)
    basis = finish_basis(image, scale, mean)
    plan = MomentPlan.make(basis, census, "ess", groups=groups)
    one = np.arange(documents.n_documents) % 2 == 0
    halves = [_pass(plan.kernel, plan.shared, selected_documents(documents, half)) for half in (one, ~one)]
    return plan.finish(*halves)


def _pass(kernel: Any, shared: Mapping[str, np.ndarray], documents: CountBatch) -> dict[str, np.ndarray]:
    accumulator = kernel.start(shared)
    numbers = np.arange(documents.n_documents)
    for start in range(0, documents.n_documents, BATCH):
        accumulator.add(selected_documents(documents, (numbers >= start) & (numbers < start + BATCH)))
    return whole(accumulator.arrays())


def solver_errors(setting: Setting, seed: int, other: ModuleType | None) -> list[dict[str, Any]]:
    """A row per solver."""
    corpus, rows, p = draw(setting, seed), [], setting.k + 20
    state = collect(corpus, p)
    theirs = other_solution.topics(other, corpus.batch, setting.k, p, setting.concentrations) if other else {}
    for solver in SOLVERS:
        start = time.process_time()
        found = solve_state(state, setting.k, solver, setting.concentrations)
        rows.append({
            "corpus": setting.name, "seed": seed, "solver": solver, "seconds": time.process_time() - start,
            "error": recovery(found.topics, corpus.topics).error, "converged": found.decomposition.converged,
            "same_draw": recovery(theirs[solver], corpus.topics).error if solver in theirs else None,
        })
    return rows


def group_errors(setting: Setting, seed: int) -> dict[str, Any]:
    """Error with moments averaged to the root, and with tensors per group, plug-in and over distinct documents."""
    corpus, row = draw(setting, seed), {"corpus": setting.name, "seed": seed}
    for kind in ("plug-in", "distinct"):
        state = collect(corpus, setting.k + 20, kind)
        if kind == "plug-in":
            root = solve_state(state, setting.k, concentrations=setting.concentrations)
            row["root"] = recovery(root.topics, corpus.topics).error
        grouped = solve_state(state, setting.k, concentrations=setting.concentrations, per_group=True)
        match = recovery(grouped.topics, corpus.topics)
        row[kind] = match.error
    nodes = node_proportions(state.node_means(), grouped)[1:, match.match]
    row["node_proportions"] = float(np.abs(nodes - corpus.node_proportions[1:]).sum(axis=1).mean() / 2)
    return row


def chosen_ranks(setting: Setting, seed: int) -> dict[str, Any]:
    """The number of topics each rule finds."""
    state = collect(draw(setting, seed), 2 * setting.k + 10)
    row: dict[str, Any] = {"corpus": setting.name, "seed": seed, "true": setting.k}
    for rule in RULES:
        row[rule] = solve_state(state, "auto", concentrations=setting.concentrations, rank_rule=rule).k
    return row


def measure(part: str, seeds: range, other: ModuleType | None) -> list[dict[str, Any]]:
    """The rows of one part of the benchmark."""
    if part == "solvers":
        return [row for setting in SOLVER_SETTINGS for seed in seeds for row in solver_errors(setting, seed, other)]
    if part == "groups":
        return [group_errors(setting, seed) for setting in GROUP_SETTINGS for seed in seeds]
    return [chosen_ranks(setting, 0) for setting in RANK_SETTINGS]


def table(part: str, rows: list[dict[str, Any]]) -> str:
    """The rows of one part for people, averaged over seeds."""
    if part == "solvers":
        columns = {"corpus": "corpus", "solver": "solver", "error": "error", "same_draw": "reference, same draws",
                   "reference": "reference, own corpora", "seconds": "CPU seconds"}
        means = _means(rows, ("corpus", "solver"))
        return markdown_table(
            [{**row, "reference": REFERENCE_SOLVERS.get(row["corpus"], {}).get(row["solver"])} for row in means],
            columns,
        )
    if part == "groups":
        columns = {"corpus": "corpus", "root": "root moments", "plug-in": "per group", "distinct": "distinct documents",
                   "reference": "reference, own corpora: root → per group",
                   "node_proportions": "error of node proportions"}
        means = _means(rows, ("corpus",))
        return markdown_table([{**row, "reference": REFERENCE_GROUPS.get(row["corpus"])} for row in means], columns)
    exact = {rule: f"{sum(row[rule] == row['true'] for row in rows)} of {len(rows)} exact" for rule in RULES}
    return markdown_table([*rows, {"corpus": "all", "true": None, **exact}], ["corpus", "true", *RULES])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--reference", type=Path, help="another implementation, to run on the same draws")
    arguments = parser.parse_args()
    other = other_solution.load(arguments.reference) if arguments.reference else None
    target = RESULTS / "recovery.json"
    result: dict[str, Any] = json.loads(target.read_text()) if target.exists() else {}
    for part in PARTS if arguments.part == "all" else (arguments.part,):
        result[part] = {"context": context(), "rows": measure(part, range(arguments.seeds), other)}
        write_json(target, result)
        print(table(part, result[part]["rows"]))
    known = [table(part, result[part]["rows"]) for part in PARTS if part in result]
    (RESULTS / "recovery.md").write_text("\n".join(known))


def _means(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Averages over seeds of every number."""
    merged: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        merged.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [
        {name: float(np.mean([row[name] for row in group])) if isinstance(group[0][name], float) else group[0][name]
         for name in group[0]}
        for group in merged.values()
    ]


if __name__ == "__main__":
    main()
