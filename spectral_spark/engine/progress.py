"""Progress of long work: named jobs in the Spark UI, and one line per pass on a terminal."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class Progress:
    """Quiet by itself: it only names the jobs. See :class:`TerminalProgress`."""

    def plan(self, passes: int, documents: int) -> None:
        """How many passes are to come, over how many documents."""

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        """Name what runs inside the block: a pass, or one of the rounds that a pass is made of."""
        context = getattr(spark, "_sc", None)
        if context is None:
            yield
            return
        context.setJobDescription(f"spectral_spark: {name}")
        try:
            yield
        finally:
            context.setJobDescription(None)


class TerminalProgress(Progress):
    """A line on stderr per pass: which one of how many, documents done, documents per second. Quiet elsewhere."""

    def __init__(self, stream: TextIO | None = None, interval: float = 0.5) -> None:
        self._stream = stream or sys.stderr
        self._interval = interval
        self._passes = self._done = self._documents = 0
        self._shown = 0.0

    def plan(self, passes: int, documents: int) -> None:
        self._passes, self._done, self._documents = passes, 0, documents

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        if not self._stream.isatty():
            with super().watch(spark, name, round, rounds):
                yield
            return
        self._done += round == 0
        self._shown = self._documents / rounds
        stop, started = threading.Event(), time.perf_counter()
        thread = threading.Thread(target=self._draw, args=(spark, name, started, stop), daemon=True)
        thread.start()
        try:
            with super().watch(spark, name, round, rounds):
                yield
        finally:
            stop.set()
            thread.join()
            self._line(name, 1.0, started)
            self._stream.write("\n")
            self._stream.flush()

    def _draw(self, spark: Any, name: str, started: float, stop: threading.Event) -> None:
        while not stop.wait(self._interval):
            self._line(name, _share_done(spark), started)

    def _line(self, name: str, share: float, started: float) -> None:
        seconds = time.perf_counter() - started
        number = f"pass {self._done} of {max(self._passes, self._done)}" if self._passes else f"pass {self._done}"
        text = f"  {number}  {name:<24} {share:4.0%}"
        if self._shown:
            done = share * self._shown
            text += f"  {done:,.0f} documents  {done / max(seconds, 1e-9):,.0f}/s"
        self._stream.write(f"\r{text}  {seconds:,.1f} s   ")
        self._stream.flush()


def _share_done(spark: Any) -> float:
    """Tasks finished of the tasks known, over the active stages."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return 0.0
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
