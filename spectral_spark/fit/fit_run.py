"""What the steps of a fit share besides the data: progress, checkpoints, times and warnings."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spectral_spark.engine.checkpoints import Arrays, Checkpoints
from spectral_spark.engine.progress import Progress

_log = logging.getLogger(__name__)


@dataclass
class FitRun:
    """One fit, update or merge in progress.

    Attributes
    ----------
    progress : where passes report how far they are.
    checkpoints : results of finished passes.
    passes : name, seconds and documents of every pass that was run, for the run report.
    seconds : where the time went, by step.
    warnings : what the user should know, also in the run report.
    drift : array of shape (k,), how far each topic moved in the last sweeps of sampling; None without sampling.
    """

    progress: Progress = field(default_factory=Progress)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    passes: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    drift: np.ndarray | None = None

    def resumable(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of a pass: read back if an earlier, interrupted run has finished it, computed otherwise."""
        computed = False

        def once() -> Arrays:
            nonlocal computed
            computed = True
            return compute()

        arrays = self.checkpoints.remember(name.replace(" ", "-"), once)
        if not computed:
            self.progress.skip()
        return arrays

    def finished_pass(self, name: str, documents: int, started: float) -> None:
        """Note a pass for the run report; ``started`` is a time of ``time.perf_counter``."""
        seconds = round(time.perf_counter() - started, 3)
        self.passes.append({"name": name, "seconds": seconds, "documents": documents})

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        """Add the seconds of the block to those of a step."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.timed(step, started)

    def timed(self, step: str, started: float) -> None:
        """Add the seconds since ``started`` to those of a step."""
        self.seconds[step] = round(self.seconds.get(step, 0.0) + time.perf_counter() - started, 3)

    def warn(self, text: str) -> None:
        """Log a warning and keep it for the run report."""
        _log.warning("%s", text)
        self.warnings.append(text)
