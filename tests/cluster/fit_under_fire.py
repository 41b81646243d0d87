"""Fits a simulated corpus, adds a second one, and writes hashes of both models; on request kills what runs it, in the
middle of named passes ("fold in" is one of the update).

    spark-submit fit_under_fire.py ANSWER [executor=PASS] [worker=PASS] [driver=PASS] [checkpoints=DIR] [entries=N]
                                   [inside=BYTES]

All passes run on executors, unless corpora with at most N entries are worked on by the driver. Under Spark Connect,
arrays of more than ``inside`` bytes are sent as files.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.engine import uploaded_value
from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.fit import fit_settings, gibbs_step
from spectral_spark.ingest.simulate import simulate_hdp

SAMPLE_WORDS = 100_000              # the corpus has three times as many words: all of them are swept by executors


class Saboteur(Progress):
    """Kills one process of a kind a moment after a pass has started, once per order."""

    def __init__(self, orders: dict[str, str]) -> None:
        self.orders, self.killed = orders, []

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        for kind, where in list(self.orders.items()):
            if name.startswith(where):
                del self.orders[kind]
                moment = 0.05 if kind == "driver" else 0.3      # the shortest pass takes a tenth of a second
                threading.Timer(moment, self._kill, [kind]).start()
        with super().watch(spark, name, round, rounds):
            yield

    def _kill(self, kind: str) -> None:
        if kind == "driver":
            os.kill(os.getpid(), signal.SIGKILL)
        application = SparkSession.active().sparkContext.applicationId
        pattern = {"executor": f"CoarseGrainedExecutorBackend.*{application}", "worker": "pyspark.daemon"}[kind]
        found = subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True, check=False).stdout.split()
        mine = [int(process) for process in found if int(process) != os.getpid()]
        if kind == "worker":
            mine = [process for process in mine if _of_application(process, application)]
        for process in mine[:1]:
            os.kill(process, signal.SIGKILL)
            self.killed.append(kind)


def _of_application(process: int, application: str) -> bool:
    """Whether an executor of the application is among a process's ancestors."""
    while process > 1:
        try:
            with open(f"/proc/{process}/cmdline") as line, open(f"/proc/{process}/stat") as stat:
                if application in line.read():
                    return True
                process = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def main() -> None:
    answer, *words = sys.argv[1:]
    orders = dict(word.split("=", 1) for word in words)
    checkpoints = orders.pop("checkpoints", None)
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set(SETTING, orders.pop("entries", "0"))
    uploaded_value.INSIDE_BYTES = int(orders.pop("inside", uploaded_value.INSIDE_BYTES))
    frame, arriving = (frame_from_arrow(spark, table).repartition(6) for table in corpora())
    fit_settings.SAMPLE_WORDS = gibbs_step.SAMPLE_WORDS = SAMPLE_WORDS
    saboteur = Saboteur(orders)
    hdp = SpectralHDP(
        k=6, refinePasses=1, exploreSweeps=40, termsCol="terms", countsCol="counts", idCol="doc_id", vocabSize=400,
        checkpointDir=checkpoints,
    ).setProgress(saboteur)
    model = hdp.fit(frame)
    found = {"hash": digest(model), "passes": passes(model)}
    write(answer, found)
    updated = model.setProgress(saboteur).update(arriving, checkpointDir=checkpoints)
    found |= {"updated": digest(updated), "later_passes": passes(updated), "killed": saboteur.killed}
    write(answer, found)


def corpora() -> Iterator[pa.Table]:
    """The first corpus, and a smaller one with the same topics."""
    table = simulate_hdp((400, 6), [3500, 3500], [8.0, 0.5], (30, 90), seed=4).table()
    late = np.arange(len(table)) % 7 == 0
    yield from (table.filter(pa.array(part)) for part in (~late, late))


def write(path: str, found: dict[str, Any]) -> None:
    with open(path, "w") as sink:
        json.dump(found, sink)


def passes(model: SpectralHDPModel) -> list[str]:
    return [step["name"] for step in model.summary.passes]


def digest(model: SpectralHDPModel) -> str:
    return hashlib.sha256(model.topicsMatrix().tobytes() + model.nodes.proportions.tobytes()).hexdigest()


if __name__ == "__main__":
    main()
