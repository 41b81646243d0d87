"""Progress of a fit: named jobs in the Spark UI, and which pass of how many is under way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from spectral_spark.engine.status_line import StatusLine
from spectral_spark.plain_text import duration, number


class Progress:
    """Names the jobs in the Spark UI and shows nothing. See :class:`TerminalProgress`."""

    def plan(self, passes: int, documents: int) -> None:
        """Announce the number of passes and of documents."""

    def advance(self, share: float) -> None:
        """Report how much of the running pass is done, from 0 to 1, if Spark's tasks do not show it."""

    def skip(self) -> None:
        """Count a planned pass that need not run because an earlier run has finished it."""

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        """Name what runs inside the block: a pass, or one of the rounds of a pass."""
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
    """One line on stderr per pass: which one of how many, documents done, documents per second.

    On a terminal the line moves; in a log there is one line when a pass starts and one when it is done.
    """

    def __init__(
        self, stream: TextIO | None = None, interval: float = 0.5, *, line: StatusLine | None = None
    ) -> None:
        self._line = line or StatusLine(stream, interval=interval)
        self._passes = self._done = self._documents = 0
        self._share = 0.0

    def plan(self, passes: int, documents: int) -> None:
        self._passes, self._done, self._documents = passes, 0, documents

    def advance(self, share: float) -> None:
        self._share = share

    def skip(self) -> None:
        self._done += 1

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        self._done += round == 0
        self._share = 0.0
        documents, started = self._documents / rounds, time.perf_counter()

        def describe(share: float | None = None) -> str:
            reached = max(self._share, _share_done(spark)) if share is None else share
            return self._text(name, reached, documents, time.perf_counter() - started)

        if round == 0:
            self._line.log(f"{self._which()} {name} …")
        with self._line.showing(describe), super().watch(spark, name, round, rounds):
            yield
        self._line.keep(describe(1.0))

    def _which(self) -> str:
        of = f" of {max(self._passes, self._done)}" if self._passes else ""
        return f"  pass {self._done}{of} "

    def _text(self, name: str, share: float, documents: float, seconds: float) -> str:
        text = f"{self._which()} {name:<24} {share:4.0%}"
        if documents:
            done = share * documents
            text += f"  {number(done)} documents  {number(done / max(seconds, 1e-9))}/s"
        return f"{text}  {duration(seconds)}"


def _share_done(spark: Any) -> float:
    """Tasks finished of the tasks known, over the active stages."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return 0.0
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
