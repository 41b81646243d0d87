"""The moment kernel beside the bare matrix product it could at best be, one BLAS thread; solver times follow.

    python benchmarks/kernels.py [--sizes 32 64 128] [--documents 4096] [--repeats 5] [--no-solvers]

The bare product is what formulas §2 name: p(p+1)/2 pairs × documents, times documents × p, in blocks of 1,024 documents
that are already in memory. The kernel forms the pairs itself, projects the words, and keeps everything that is by word
and by node besides; it may still be faster, because it computes each distinct entry of the symmetric tensor once.
Seconds are those of the processor: on a busy machine the wall clock measures the neighbours.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import solvers
from common import RESULTS, context, load_average, markdown_table, write_json
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.ingest.simulate import simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.range_finder import RangeKernel, first_probe
from spectral_spark.moments.symmetric_packing import pair_count
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

WORDS, LENGTH, BLOCK, GROUPS = 10_000, 100, 1024, 100
COLUMNS = {
    "p": "p", "kernel": "kernel", "documents_per_second": "documents/s", "seconds": "processor seconds, best",
    "times_bare": "× bare product",
}


def batches(documents: int) -> tuple[list[CountBatch], DocumentTree]:
    """A simulated corpus in batches of 1,024 documents, its documents spread over 100 groups."""
    corpus = simulate_hdp((WORDS, 50), [documents // GROUPS + 1] * GROUPS, [5.0, 1.0], LENGTH, seed=0)
    order = np.argsort(corpus.batch.keys, kind="stable")[:documents]
    parts = []
    for start in range(0, documents, BLOCK):
        chosen = np.zeros(corpus.batch.n_documents, dtype=bool)
        chosen[order[start : start + BLOCK]] = True
        parts.append(selected_documents(corpus.batch, chosen))
    return parts, corpus.tree


def moment_rows(sizes: Sequence[int], documents: int, repeats: int) -> list[dict[str, Any]]:
    """Seconds of the bare product and of every kind of pass, run in turn."""
    parts, tree = batches(documents)
    rows = []
    for p in sizes:
        with threadpool_limits(1):
            seconds = processor_seconds(_passes(p, parts, tree), repeats)
        bare = min(seconds["bare product"])
        for name, taken in seconds.items():
            best = min(taken)
            per_pass = documents if name != "contract the words (once)" else None
            rows.append({
                "p": p, "kernel": name, "seconds": best, "times_bare": best / bare, "all_seconds": taken,
                "documents_per_second": per_pass / best if per_pass else None, "load": load_average(),
            })
    return rows


def processor_seconds(functions: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Processor seconds of each function, run in turn, after one run that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for repeat in range(repeats + 1):
        for name, function in functions.items():
            start = time.process_time()
            function()
            if repeat:
                seconds[name].append(time.process_time() - start)
    return seconds


def _passes(p: int, parts: list[CountBatch], tree: DocumentTree) -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(p)
    basis = Basis(np.ones(WORDS), np.linalg.qr(rng.standard_normal((WORDS, p)))[0])
    nodes = np.concatenate([part.nodes for part in parts])
    census = Census.count(tree, nodes, np.concatenate([part.lengths for part in parts]))
    plans = {
        "moments": MomentPlan.make(basis, census),
        f"moments, statistics of {GROUPS} groups": MomentPlan.make(basis, census, groups="plug-in"),
        f"moments, distinct documents of {GROUPS} groups": MomentPlan.make(basis, census, groups="distinct"),
    }
    wide = _many_nodes(100_000)
    spread = [_moved(part, rng.integers(1, len(wide), part.n_documents)) for part in parts]
    wide_census = Census.count(wide, np.concatenate([part.nodes for part in spread]), np.full(len(nodes), LENGTH))
    wide_plan = MomentPlan.make(basis, wide_census)
    probe, factor = first_probe(WORDS, p, 0), np.ones(len(tree))
    sums = _collect(plans["moments"], parts)
    runs: dict[str, Callable[[], Any]] = {"bare product": _bare_product(p, len(parts), rng)}
    for name, plan in plans.items():
        runs[name] = lambda plan=plan: _collect(plan, parts)  # type: ignore[misc]
    runs["moments, 100,000 nodes"] = lambda: _collect(wide_plan, spread)
    runs["range (one application of M2)"] = lambda: _run(RangeKernel(WORDS), {"probe": probe, "factor": factor}, parts)
    runs["contract the words (once)"] = lambda: LeafMoments.from_sums(sums, basis.projection)
    return runs


def _bare_product(p: int, blocks: int, rng: np.random.Generator) -> Callable[[], None]:
    pairs, y = rng.standard_normal((pair_count(p), BLOCK)), rng.standard_normal((BLOCK, p))
    out = np.empty((pair_count(p), p))

    def run() -> None:
        for _ in range(blocks):
            np.matmul(pairs, y, out=out)

    return run


def _collect(plan: MomentPlan, parts: list[CountBatch]) -> dict[str, np.ndarray]:
    return _run(plan.kernel, plan.shared, parts)


def _run(kernel: Any, shared: Any, parts: list[CountBatch]) -> dict[str, np.ndarray]:
    accumulator = kernel.start(shared)
    for part in parts:
        accumulator.add(part)
    arrays: dict[str, np.ndarray] = accumulator.arrays()
    return arrays


def _many_nodes(count: int) -> DocumentTree:
    return DocumentTree.from_paths([(f"{node:06}",) for node in range(count)])


def _moved(part: CountBatch, nodes: np.ndarray) -> CountBatch:
    return CountBatch(part.indptr, part.terms, part.counts, nodes.astype(np.int32), part.keys, part.vocab_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--documents", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--no-solvers", action="store_true", help="the kernels only")
    arguments = parser.parse_args()
    about = context()
    rows = moment_rows(arguments.sizes, arguments.documents, arguments.repeats)
    _report(about, rows, [])
    if not arguments.no_solvers:
        _report(about, rows, solvers.solver_rows())


def _report(about: Mapping[str, Any], rows: list[dict[str, Any]], solver_rows: list[dict[str, Any]]) -> None:
    write_json(RESULTS / "kernels.json", {"context": about, "rows": rows, "solvers": solver_rows})
    tables = [markdown_table(rows, COLUMNS)]
    if solver_rows:
        tables.append(markdown_table(solver_rows, solvers.COLUMNS))
    (RESULTS / "kernels.md").write_text("\n".join(tables))
    print(tables[-1])


if __name__ == "__main__":
    main()
