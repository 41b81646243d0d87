"""Shares of topics by project and month, with intervals, beside plain scoring: time and memory on the same documents.

    python benchmarks/answers_time.py --histories CORPUS [--model MODEL --rounds 2]

CORPUS is made from SPECTRAL_DATA/histories where it is absent, with the column ``month``. MODEL is fitted where it is
absent, to --documents of them: the time of both depends on the number of topics, little on how good they are. In every
round, all documents are scored and written as ``spectral-spark score`` does, then explained by month within one
project, and by every combination of project and month. Memory is the peak of each process while documents are
explained. Seconds of processors are those of all processes; on a busy machine only they can be compared.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from common import RESULTS, context, load_average, markdown_table, write_json
from fit_watch import ProcessPeaks
from histories import made
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark import SpectralHDPModel
from spectral_spark.cli.opened import opened
from spectral_spark.cli.verbs.score import scores
from spectral_spark.engine.arrow import write_parquet
from spectral_spark.engine.session import start_session
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.files.formats import SCORES_KIND, SCORES_VERSION

QUESTIONS: dict[str, dict[str, Any]] = {
    "by month within one project": {"by": "month", "within": "qemu"},
    "by project and month": {"by": ["project", "month"]},
}


def made_model(spark: SparkSession, corpus: Path, model: Path, k: int, documents: int) -> Path:
    """A model of the corpus, fitted to so many documents if it is not there."""
    if not model.exists():
        from spectral_spark import SpectralHDP
        from spectral_spark.ingest.corpus_store import open_corpus

        opened_corpus = open_corpus(spark, str(corpus))
        some = opened_corpus.documents("train").orderBy(F.xxhash64("doc_id")).limit(documents)
        SpectralHDP(
            k=k, termsCol="terms", countsCol="counts", idCol="doc_id", vocabulary=list(opened_corpus.vocabulary),
            exploreSweeps=40,
        ).fit(some).save(str(model))
    return model


def scored(model: SpectralHDPModel, documents: DataFrame) -> int:
    labels = [f"topic {topic}" for topic in range(model.k)]
    with tempfile.TemporaryDirectory() as place:
        return write_parquet(scores(model, documents, model.words or (), labels), f"{place}/scores", SCORES_KIND,
                             SCORES_VERSION, overwrite=False)


def explained(model: SpectralHDPModel, documents: DataFrame, question: dict[str, Any]) -> pa.Table:
    return to_arrow(model.explain(documents, **question))


class ProcessorSeconds(ProcessPeaks):
    """Memory peaks, and seconds that all processors spent on this process, its JVM and its Python workers; sampled."""

    def __init__(self, interval: float = 0.5) -> None:
        super().__init__(interval)
        self._first, self._last = dict[int, float](), dict[int, float]()

    def __enter__(self) -> "ProcessorSeconds":
        self._first = self._look()
        super().__enter__()
        threading.Thread(target=self._follow, daemon=True).start()
        return self

    @property
    def used(self) -> float:
        self._last |= self._look()
        return sum(seconds - self._first.get(process, 0.0) for process, seconds in self._last.items())

    def _follow(self) -> None:
        while not self._done.wait(self._interval):          # processes that end are counted up to here
            self._last |= self._look()

    def _look(self) -> dict[int, float]:
        found = {}
        for process in (me := psutil.Process(), *me.children(recursive=True)):
            with suppress(psutil.Error):
                times = process.cpu_times()
                found[process.pid] = times.user + times.system
        return found


def timed(call: Callable[[], Any]) -> tuple[float, ProcessorSeconds, Any]:
    """Seconds on the clock, what was used, and the result."""
    started = time.perf_counter()
    with ProcessorSeconds() as watch:
        result = call()
    return time.perf_counter() - started, watch, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", required=True, type=Path, metavar="CORPUS")
    parser.add_argument("--model", type=Path, help="default: beside the corpus")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--documents", type=int, default=100_000, help="to fit a model to, if there is none")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    made(given.histories, "--keep-cols", "month")
    spark = start_session("answers", master="local[2]", settings={"spark.driver.memory": "2g"})
    path = given.model or given.histories.with_name(f"{given.histories.name}-model")
    model, documents = opened(spark, str(given.histories),
                              str(made_model(spark, given.histories, path, given.k, given.documents)), kept=True)
    documents = documents.withColumn("project", F.col("path")[0])
    rows = []
    for number in range(given.rounds):
        seconds, scoring, count = timed(partial(scored, model, documents))
        used = scoring.used
        for name, question in QUESTIONS.items():
            took, watch, table = timed(partial(explained, model, documents, question))
            worked = watch.used
            rows.append({
                "round": number + 1, "question": name, "groups": table.num_rows // model.k, "topics": model.k,
                "documents": count, "score seconds": seconds, "explain seconds": took, "ratio": took / seconds,
                "score processor seconds": used, "explain processor seconds": worked, "their ratio": worked / used,
                **watch.mebibytes(), "load": load_average(),
            })
            print(rows[-1], flush=True)
    write_json(RESULTS / "answers_time.json", {"context": context(), "rows": rows})
    (RESULTS / "answers_time.md").write_text(markdown_table(rows, list(rows[0])))


if __name__ == "__main__":
    main()
