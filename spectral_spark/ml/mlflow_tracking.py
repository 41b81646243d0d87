"""Fits that MLflow tracks: every pass when it ends; then the settings, the numbers, the report page and the model.

    import mlflow
    from spectral_spark.ml.mlflow_tracking import TrackedProgress, log_result

    with mlflow.start_run():
        model = hdp.setProgress(TrackedProgress()).fit(documents)
        model.save("out/model")
        log_result("out/model")
"""

import importlib.util
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError, SettingsError, SpectralError
from spectral_spark.files.paths import is_local, resolve
from spectral_spark.report.page import build_report
from spectral_spark.serve import mlflow_flavor

_log = logging.getLogger(__name__)


class TrackedProgress(Progress):
    """Reports finished passes to the active MLflow run: ``pass_seconds`` with the pass' number as the step.

    The tag ``pass`` names the pass under way. A tracking server that fails is reported once and does not end the fit.

    Parameters
    ----------
    shown : where the progress is shown besides, for example a ``TerminalProgress``.
    """

    def __init__(self, shown: Progress | None = None) -> None:
        self._shown = shown or Progress()
        self._passes = 0
        self._seconds = 0.0                              # of the rounds of the pass under way
        self._silent = False

    def plan(self, passes: int, documents: int) -> None:
        self._shown.plan(passes, documents)

    def advance(self, share: float) -> None:
        self._shown.advance(share)

    def skip(self) -> None:
        self._passes += 1
        self._shown.skip()

    @contextmanager
    def watch(self, spark: Any, name: str, round: int = 0, rounds: int = 1) -> Iterator[None]:
        import mlflow

        started = time.perf_counter()
        if round == 0:
            self._passes, self._seconds = self._passes + 1, 0.0
            self._tell(lambda: mlflow.set_tag("pass", name))
        with self._shown.watch(spark, name, round, rounds):
            yield
        self._seconds += time.perf_counter() - started
        if round == rounds - 1:
            self._tell(lambda: mlflow.log_metric("pass_seconds", self._seconds, step=self._passes))

    def _tell(self, call: Callable[[], object]) -> None:
        if self._silent:
            return
        try:
            call()
        except Exception as error:                       # MLflow lets through whatever its store raises
            self._silent = True
            _log.warning("MLflow cannot be reached, and the fit goes on without it: %s", error)


def check_mlflow() -> None:
    """Refuse to track where MLflow is not installed, before anything has run."""
    if importlib.util.find_spec("mlflow") is None:
        raise SettingsError("`mlflow` needs the package of that name: pip install 'spectral-spark[mlflow]'")


@contextmanager
def tracked_run(experiment: str | None, name: str) -> Iterator[bool]:
    """A run of an experiment of MLflow's, which is marked as failed if the block raises; without a name, nothing.

    The tracking server is that of MLflow's own settings, such as ``MLFLOW_TRACKING_URI``.
    """
    if experiment is None:
        yield False
        return
    import mlflow

    try:
        mlflow.set_experiment(experiment)
        run = mlflow.start_run(run_name=name)
    except Exception as error:
        raise InputError(f"MLflow cannot start a run of the experiment '{experiment}' on "
                         f"'{mlflow.get_tracking_uri()}': {error}") from error
    with run:
        yield True


def log_result(path: str) -> list[str]:
    """Log a saved model in the active run: settings, numbers, ``report.html``, and the model if it can read text.

    Returns
    -------
    what was left out, and why, one sentence each.
    """
    import mlflow

    mlflow_flavor.log_fit(path)
    with tempfile.TemporaryDirectory() as scratch:
        page = str(Path(scratch, "report.html"))
        build_report(path, page)
        mlflow.log_artifact(page)
    filesystem, inside = resolve(path)
    if not is_local(filesystem):
        return ["MLflow has no copy of the model, because the model is not on a local disk"]
    try:
        mlflow_flavor.log_model(inside, name="model")
    except SpectralError as error:
        return [f"MLflow has no copy of the model, because it could not be served: {error}"]
    return []
