"""Solver times on whitened tensors of 50, 100 and 200 topics, side by side on one BLAS thread.

CPU seconds, the best of several turns: wall seconds on an idle machine, and still comparable on a busy one.

    python benchmarks/solvers.py [--sizes 50 100 200] [--repeats 3]

``python benchmarks/kernels.py`` calls ``solver_rows`` and prints these beside the kernels.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from common import RESULTS, context, markdown_table, merge_rows

from spectral_spark.solve import SOLVERS, solve_tensor
from spectral_spark.solve.symmetric_tensor import symmetrised

COLUMNS = {
    "k": "k", "solver": "solver", "seconds": "CPU seconds", "times_polar": "× polar", "iterations": "tensor products",
    "converged": "converged", "residual": "residual",
}
SKETCH_ONCE_ABOVE = 100


def whitened_tensor(k: int, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    """A tensor as a corpus gives it: eigenvalues κ/√π for Dirichlet π, and noise of a relative size ``noise``."""
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.full(k, 5.0)) ** -0.5
    vectors = np.linalg.qr(rng.standard_normal((k, k)))[0]
    tensor = ((vectors[:, None] * vectors).reshape(k * k, k) @ (vectors * values).T).reshape(k, k, k)
    disturbance = symmetrised(rng.standard_normal((k, k, k)))
    return tensor + noise * np.linalg.norm(tensor) / np.linalg.norm(disturbance) * disturbance


def solver_rows(sizes: Sequence[int] = (50, 100, 200), repeats: int = 3) -> list[dict[str, Any]]:
    """One row per size and solver. Sketching loses by so much that beyond 100 topics it is timed once only."""
    rows = []
    for k in sizes:
        tensor = whitened_tensor(k)
        found: dict[str, Any] = {}
        seconds: dict[str, list[float]] = {name: [] for name in SOLVERS}
        for turn in range(repeats):
            for name in SOLVERS:
                if turn and name == "sketch" and k > SKETCH_ONCE_ABOVE:
                    continue
                start = time.process_time()
                found[name] = solve_tensor(tensor, name)
                seconds[name].append(time.process_time() - start)
        for name in SOLVERS:
            best = min(seconds[name])
            rows.append({
                "k": k, "solver": name, "seconds": best, "times_polar": best / min(seconds["polar"]),
                "all_seconds": seconds[name], "iterations": found[name].iterations,
                "converged": found[name].converged, "residual": found[name].residual,
            })
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    rows = solver_rows(arguments.sizes, arguments.repeats)
    merge_rows(RESULTS / "solvers.json", rows, ["k", "solver"], context=context())
    table = markdown_table(rows, COLUMNS)
    (RESULTS / "solvers.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
