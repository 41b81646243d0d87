"""All benchmarks, one after the other, each in a process of its own.

    make bench                                          # those that need no data
    make bench ARGS="--corpus out/enron/corpus"         # and those on a corpus that ingest made
    make bench ARGS="--only kernels,engine"
    make bench ARGS="--list"
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WITHOUT_DATA = {
    "kernels": "moment kernel beside the bare matrix product, solver times",
    "engine": "passes against plain processes, fixed bits, depth, growth, a million words",
    "capacity": "forecasts beside measurements",
    "recovery": "recovered topics on simulated corpora, per solver, per group, rank rules",
    "ibp_paper": "the feature models' experiments, with pictures",
    "ibp_scale": "feature models on millions of rows",
}
ON_A_CORPUS = {
    "peers": "ours beside MLlib, scikit-learn, gensim and tomotopy",
    "store": "updates: one per cent, and two hundred in a row",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {**WITHOUT_DATA, **ON_A_CORPUS}
    parser.add_argument("--only", help="comma-separated names")
    parser.add_argument("--corpus", help="a corpus as ingest makes it, for: " + ", ".join(ON_A_CORPUS))
    parser.add_argument("--list", action="store_true", help="name the benchmarks and stop")
    options = parser.parse_args()
    if options.list:
        print(*(f"{name:<10} {what}" for name, what in known.items()), sep="\n")
        return 0
    names = options.only.split(",") if options.only else [*WITHOUT_DATA, *(ON_A_CORPUS if options.corpus else ())]
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no benchmark '{unknown[0]}'; there are {', '.join(known)}")
    failed = []
    for name in names:
        if name in ON_A_CORPUS and not options.corpus:
            parser.error(f"'{name}' needs --corpus CORPUS, as ingest makes it")
        print(f"== {name}: {known[name]}", flush=True)
        arguments = ["--corpus", options.corpus] if name in ON_A_CORPUS else []
        if subprocess.run([sys.executable, HERE / f"{name}.py", *arguments], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
