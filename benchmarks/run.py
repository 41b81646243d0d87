"""All benchmarks, one after the other, each in a process of its own. Results go to benchmarks/results.

    make bench                                          # those that need no data
    make bench ARGS="--corpus out/enron/corpus"         # and those on a corpus that ingest made
    make bench ARGS="--only stages --config conf/enron.toml --input data/enron_mail.tar.gz"
    make bench ARGS="--list"                            # what there is, and what it needs
"""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common import RESULTS
from ibp_data import data_root

HERE = Path(__file__).parent

NEEDS = {
    "corpus": "a corpus as ingest makes it",
    "enron": "the Enron corpus as ingest makes it",
    "amazon": "the Amazon corpus as ingest makes it",
    "histories": "where the corpus of the histories is or shall be",
    "themes": "a file of seeds, such as benchmarks/themes/enron.toml",
    "config": "the TOML file of a run",
    "input": "the archive or folder that run reads",
    "other": "a working tree of another revision",
}


@dataclass(frozen=True)
class Benchmark:
    """One script of this folder.

    Attributes
    ----------
    name, what : the script without ``.py``, and what it measures.
    needs : flags that must be given, and are passed on.
    folder : where below the results it writes, for a script that has to be told.
    """

    name: str
    what: str
    needs: tuple[str, ...] = ()
    folder: str | None = None

    def calls(self, given: argparse.Namespace) -> list[list[str]]:
        """The arguments of each process to start."""
        words = [word for flag in self.needs for word in (f"--{flag}", getattr(given, flag))]
        if self.folder is not None:
            words += ["--output", str(RESULTS / self.folder)]
        if self.name == "ibp_paper" and not (data_root() / "ibp").is_dir():
            print(f"   without the parts blocks and genes: no data at {data_root() / 'ibp'} (set SPECTRAL_DATA)")
            return [[*words, "--part", part] for part in ("images", "variational", "factors")]
        return [words]


BENCHMARKS = {benchmark.name: benchmark for benchmark in (
    Benchmark("kernels", "moment kernel beside the bare matrix product, solver times"),
    Benchmark("solvers", "solver times on whitened tensors of up to 200 topics"),
    Benchmark("engine", "passes against plain processes, fixed bits, depth, growth, a million words"),
    Benchmark("capacity", "forecasts beside measurements"),
    Benchmark("recovery", "recovered topics on simulated corpora, per solver, per group, rank rules"),
    Benchmark("levels", "the document tree in the spectral step: concentrations of levels, tensors per group, weights"),
    Benchmark("rank", "automatic k on drawn corpora with 10 to 300 topics"),
    Benchmark("ibp_paper", "the feature models' experiments, with pictures; two of five need SPECTRAL_DATA/ibp",
              folder="ibp"),
    Benchmark("ibp_scale", "feature models on millions of rows", folder="ibp"),
    Benchmark("infer", "scoring without Spark beside tomotopy, gensim and transform"),
    Benchmark("interval_coverage", "how often intervals of shares and differences cover the truth"),
    Benchmark("peers", "ours beside MLlib, scikit-learn, gensim and tomotopy", ("corpus",)),
    Benchmark("driver", "small corpora on the driver beside executors, the same bits", ("corpus",)),
    Benchmark("store", "updates: one per cent, and two hundred in a row", ("corpus",)),
    Benchmark("nights", "a model updated every night beside one fit of everything", ("corpus", "input")),
    Benchmark("histories", "a million commit messages: seconds and losses of several fits", ("histories",)),
    Benchmark("answers_time", "shares by project and month with intervals beside scoring: time, memory",
              ("histories",)),
    Benchmark("refine", "the refinement's settings on validation documents", ("corpus",)),
    Benchmark("starts", "fits from spectral and random topics: loss, and how alike two seeds are", ("corpus",)),
    Benchmark("level_moments", "spectral topics of pairs and triples of different documents", ("corpus",)),
    Benchmark("paper_tables", "the paper's tables, its numbers beside ours", ("enron", "amazon")),
    Benchmark("platforms", "the same topics on every Spark, cluster and store; installs much", ("enron", "amazon")),
    Benchmark("pooling", "held-out loss by the size of a node: tree, no tree, separate fits", ("corpus",)),
    Benchmark("stability", "does a topic's printed stability predict whether it comes back", ("corpus",)),
    Benchmark("seeds", "themes of one's own: words kept, and what they cost", ("corpus", "themes")),
    Benchmark("growth", "time per document and memory up to ten million documents", ("histories",)),
    Benchmark("executors", "two executors of one core against one, bytes shuffled", ("histories",)),
    Benchmark("revisions", "fits of the histories by this revision and by another one", ("histories", "other")),
    Benchmark("ingest", "reading SPECTRAL_DATA/histories by this revision and by another one", ("other",)),
    Benchmark("stages", "a run from archive to report, the time of every stage", ("config", "input")),
)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="comma-separated names")
    for flag, what in NEEDS.items():
        users = ", ".join(name for name, benchmark in BENCHMARKS.items() if flag in benchmark.needs)
        parser.add_argument(f"--{flag}", help=f"{what}, for: {users}")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and what they need, and stop")
    given = parser.parse_args()
    if given.list:
        print(*map(line, BENCHMARKS.values()), sep="\n")
        return 0
    failed = [benchmark.name for benchmark in chosen(parser, given) if not succeeds(benchmark, given)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def line(benchmark: Benchmark) -> str:
    needs = f" (needs {' and '.join(f'--{flag}' for flag in benchmark.needs)})" if benchmark.needs else ""
    return f"{benchmark.name:<18} {benchmark.what}{needs}"


def chosen(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[Benchmark]:
    """Those that were named, or all whose needs are met."""
    if not given.only:
        return [benchmark for benchmark in BENCHMARKS.values() if not missing(benchmark, given)]
    for name in given.only.split(","):
        if name not in BENCHMARKS:
            parser.error(f"no benchmark '{name}'; there are {', '.join(BENCHMARKS)}")
        if lacking := missing(BENCHMARKS[name], given):
            parser.error(f"'{name}' needs --{lacking[0]}: {NEEDS[lacking[0]]}")
    return [BENCHMARKS[name] for name in given.only.split(",")]


def missing(benchmark: Benchmark, given: argparse.Namespace) -> list[str]:
    return [flag for flag in benchmark.needs if getattr(given, flag) is None]


def succeeds(benchmark: Benchmark, given: argparse.Namespace) -> bool:
    print(f"== {benchmark.name}: {benchmark.what}", flush=True)
    script = HERE / f"{benchmark.name}.py"
    codes = [subprocess.run([sys.executable, script, *words], check=False).returncode
             for words in benchmark.calls(given)]
    return not any(codes)


if __name__ == "__main__":
    sys.exit(main())
