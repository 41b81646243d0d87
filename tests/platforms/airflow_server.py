"""A real Airflow on loopback: ``airflow standalone`` with SQLite, from an environment of its own."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.platforms.store import free_port

ROOT = Path(__file__).parents[2]
INSTALL = ("python -m venv build/airflow && build/airflow/bin/pip install 'apache-airflow>=3' "
           "apache-airflow-providers-apache-spark")


def airflow_command() -> Path:
    """The command of an installed Airflow; skips where there is none."""
    ours = ROOT / "build" / "airflow" / "bin" / "airflow"
    places = (os.environ.get("SPECTRAL_AIRFLOW"), ours, shutil.which("airflow"))
    found = next((Path(place) for place in places if place and Path(place).exists()), None)
    if found is None:
        pytest.skip(f"Airflow is not installed: {INSTALL} (or name its command in SPECTRAL_AIRFLOW)")
    return found


@dataclass(frozen=True)
class Airflow:
    """A running Airflow.

    Attributes
    ----------
    home : its directory, with its DAGs, database and logs.
    """

    command: Path
    home: Path
    environment: Mapping[str, str]

    def call(self, *words: str) -> str:
        done = subprocess.run([str(self.command), *words], env=dict(self.environment), cwd=self.home, text=True,
                              capture_output=True, check=False, timeout=300)
        assert done.returncode == 0, f"airflow {' '.join(words)}: {done.stderr[-3000:]}"
        return done.stdout

    def rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        """What its database says."""
        with closing(sqlite3.connect(f"file:{self.home}/airflow.db?mode=ro", uri=True, timeout=60)) as database:
            return database.execute(query, values).fetchall()

    def wait_for_dags(self, seconds: float = 600) -> None:
        until, known = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            with suppress(sqlite3.OperationalError):        # the database is being made
                known = len(self.rows("select dag_id from dag"))
            if known >= len(list((self.home / "dags").glob("*.py"))):
                return
            time.sleep(2)
        pytest.fail(f"the DAGs were not loaded: {self.log()}")

    def tasks(self, dag: str, day: str) -> dict[str, tuple[str, int]]:
        """The state of every task in the run of a day, and how often it was tried."""
        rows = self.rows(
            "select task_id, task_instance.state, try_number from task_instance join dag_run using (dag_id, run_id) "
            "where dag_id = ? and substr(logical_date, 1, 10) = ?", dag, day,
        )
        return {str(task): (str(state), int(tries)) for task, state, tries in rows}

    def finish(self, dag: str, runs: int, seconds: float) -> None:
        """Wait until so many runs have ended."""
        until = time.monotonic() + seconds
        states: list[str] = []
        while time.monotonic() < until:
            states = [str(state) for state, in self.rows("select state from dag_run where dag_id = ?", dag)]
            if len(states) >= runs and set(states) <= {"success", "failed"}:
                return
            time.sleep(2)
        pytest.fail(f"{dag} has not ended: {states}\n{self.log()}")

    def log(self, last: int = 3) -> str:
        """What the last tasks said."""
        logs = sorted((self.home / "logs").glob("dag_id=*/**/*.log"), key=lambda log: log.stat().st_mtime)
        parts = [f"{log}:\n{log.read_text(errors='replace')[-3000:]}" for log in logs[-last:]]
        return "\n".join([*parts, (self.home / "standalone.log").read_text(errors="replace")[-3000:]])


@contextmanager
def standalone(home: Path, commands: Path) -> Iterator[Airflow]:
    """Airflow with the DAGs in ``home/dags``; its tasks find commands in this folder before all others."""
    command, port = airflow_command(), free_port()
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("AIRFLOW", "SPARK_", "PYSPARK_", "PYTHON"))}
    environment |= {
        "PATH": os.pathsep.join([str(commands), str(command.parent), os.environ["PATH"]]), "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": f"{home}/dags",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db?timeout=120",     # seconds, for a lock
        "AIRFLOW__CORE__PARALLELISM": "2", "AIRFLOW__API__HOST": "127.0.0.1", "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}", "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
    }
    with (home / "standalone.log").open("wb") as sink:
        process = subprocess.Popen([str(command), "standalone"], env=environment, cwd=home, stdout=sink, stderr=sink,
                                   start_new_session=True)
    airflow = Airflow(command, home, environment)
    try:
        airflow.wait_for_dags()
        yield airflow
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)          # the group is its own
