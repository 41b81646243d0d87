"""Fits corpora in the Spark that runs this script, and writes a hash of each model's topics. ``platforms.py`` calls it:

    spark-submit platform_fit.py JOBS.json

JOBS.json is a list of objects: ``corpus`` (a local directory), ``place`` (where checkpoints and model go, and a copy of
the corpus if that is remote), ``flags`` of ``fit``, ``revision`` of the package, and ``answer``, the file of what
was found, without its suffix.
"""

import hashlib
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy


def main() -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    jobs = json.loads(Path(sys.argv[1]).read_text())
    for job in jobs:
        started = time.perf_counter()
        topics = fit(session, job)
        found = {
            "hash": hashlib.sha256(topics.tobytes()).hexdigest()[:16], "topics": topics.shape[1],
            "spark": session.version, "numpy": np.__version__, "scipy": scipy.__version__, "numba": version("numba"),
            "python": platform.python_version(), "seconds": round(time.perf_counter() - started, 1),
            "revision": job["revision"],
        }
        np.save(f"{job['answer']}.npy", topics)
        Path(f"{job['answer']}.json").write_text(json.dumps(found, indent=2) + "\n")
    session.stop()


def fit(session: Any, job: dict[str, Any]) -> np.ndarray:
    """The topics of a fit with corpus, checkpoints and model at ``place``."""
    from spectral_spark import SpectralHDPModel
    from spectral_spark.cli.run import main as run
    from spectral_spark.files.paths import is_remote

    place = job["place"]
    corpus = copied(session, job["corpus"], f"{place}/corpus") if is_remote(place) else job["corpus"]
    words = ["fit", "--corpus", corpus, "--model", f"{place}/model", "--checkpoint-dir", f"{place}/checkpoints",
             "--overwrite", "--quiet", *job["flags"]]
    if code := run(words, session):
        sys.exit(code)
    topics = SpectralHDPModel.load(f"{place}/model").topicsMatrix()
    return np.ascontiguousarray(getattr(topics, "toArray", lambda: topics)())


def copied(session: Any, source: str, target: str) -> str:
    """Copy a local directory to where Spark's Hadoop can reach it, as ``hadoop fs -put`` does."""
    jvm = session._jvm
    place = jvm.org.apache.hadoop.fs.Path(target)
    files = place.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    files.mkdirs(place)
    for folder, _, names in os.walk(source):
        inside = os.path.relpath(folder, source)
        for name in names:
            if not name.endswith(".crc"):
                local = jvm.org.apache.hadoop.fs.Path(f"file://{os.path.abspath(folder)}/{name}")
                there = f"{target}/{name}" if inside == "." else f"{target}/{inside}/{name}"
                files.copyFromLocalFile(False, True, local, jvm.org.apache.hadoop.fs.Path(there))
    return target


if __name__ == "__main__":
    main()
