"""Peaks of memory of the driver, the JVMs and the Python workers while a fit runs, and bytes shuffled by each pass."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from common import process_memory


class ProcessPeaks:
    """The largest memory of this process, of one JVM and of one Python worker below it; bytes, sampled.

    Attributes
    ----------
    driver, jvm, worker : peaks so far.
    """

    def __init__(self, interval: float = 0.5) -> None:
        self.driver = self.jvm = self.worker = 0
        self._interval, self._done = interval, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(self._interval):
            self.driver = max(self.driver, process_memory(me.pid))
            for child in me.children(recursive=True):
                try:
                    size, java = process_memory(child.pid), "java" in child.name()
                except psutil.Error:
                    continue
                self.jvm, self.worker = (max(self.jvm, size), self.worker) if java else (
                    self.jvm, max(self.worker, size))

    def __enter__(self) -> "ProcessPeaks":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def mebibytes(self) -> dict[str, float]:
        return {"driver MiB": self.driver / 2**20, "largest JVM MiB": self.jvm / 2**20,
                "largest worker MiB": self.worker / 2**20}


def shuffled_bytes(spark: Any) -> int:
    """Bytes that all executors have written for shuffles so far."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(int(executors.apply(number).totalShuffleWrite()) for number in range(executors.size()))


class PassShuffles:
    """Notes after every pass of a fit how much was shuffled in it; used as a context around ``fit``."""

    def __init__(self, spark: Any) -> None:
        self._spark, self.bytes = spark, dict[str, int]()

    def __enter__(self) -> "PassShuffles":
        from spectral_spark.fit.fit_run import FitRun

        self._original, before = FitRun.finished_pass, [shuffled_bytes(self._spark)]
        original = self._original

        def noted(run: Any, name: str, *rest: Any) -> None:
            original(run, name, *rest)
            now = shuffled_bytes(self._spark)
            self.bytes[name], before[0] = now - before[0], now

        FitRun.finished_pass = noted        # type: ignore[method-assign, assignment]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from spectral_spark.fit.fit_run import FitRun

        FitRun.finished_pass = self._original   # type: ignore[method-assign]


def slope(rows: list[dict[str, Any]], of: str, over: str = "documents") -> float:
    """Exponent b of value ∝ documents^b between the first and the last row; 0 means that it does not grow."""
    import math

    first, last = rows[0], rows[-1]
    return math.log(last[of] / first[of]) / math.log(last[over] / first[over])


def read_documents(spark: Any, path: Path) -> Any:
    """Training documents of a corpus, or a plain directory of documents in the same columns."""
    documents = path / "documents" if (path / "documents").exists() else path
    frame = spark.read.parquet(str(documents))
    return frame.filter("split = 'train'") if "split" in frame.columns else frame
