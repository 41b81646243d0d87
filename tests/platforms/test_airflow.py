"""The DAGs of the nightly pipeline in a real Airflow: three nights, the second of which is killed and tried again.

Both DAGs run, the script and the Spark jobs. Not installed by anything else: see ``airflow_server.INSTALL``.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from tests.cluster.standalone import spark_script
from tests.platforms.airflow_server import ROOT, Airflow, standalone

pytestmark = [pytest.mark.platforms, pytest.mark.timeout(7200)]
SCRIPT, SUBMIT = "spectral_spark_nightly", "spectral_spark_nightly_submit"
DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
STEPS = ["ingest", "model", "evaluate", "report"]
PIPELINE = ROOT / "conf" / "pipeline"
SOON = "\nfor task in dag.tasks:\n    task.retry_delay = timedelta(seconds=3)\n"
COMMAND = """#!/usr/bin/env bash
# {command}, but the first update is killed as soon as it has begun to write.
export PYTHONPATH={root} PYSPARK_PYTHON={python}
case "$*" in *{update}*)
    if mkdir {store}.killed 2> /dev/null; then
        {command} "$@" &
        until compgen -G "{store}/run_date=*/.model.partial-*" > /dev/null || ! kill -0 $!; do sleep 0.01; done
        kill -9 $!
        exit 137
    fi ;;
esac
exec {command} "$@"
"""


def write_command(place: Path, command: str, update: str, store: Path) -> None:
    """A command that loses its first update."""
    place.parent.mkdir(exist_ok=True)
    place.write_text(COMMAND.format(command=command, update=update, store=store, root=ROOT, python=sys.executable))
    place.chmod(0o755)


def write_nights(folder: Path, scratch: Path) -> None:
    """A folder of notes for every day, by region and town."""
    write_demo(simulate_demo(1200), scratch / "notes.jsonl")
    for number, line in enumerate((scratch / "notes.jsonl").read_text().splitlines()):
        note = json.loads(line)
        town = folder / DAYS[number % 3] / note["region"] / note["town"]
        town.mkdir(parents=True, exist_ok=True)
        (town / f"{note['id']}.txt").write_text(note["text"])


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    home = tmp_path_factory.mktemp("airflow")
    write_nights(home / "in", home)
    write_command(home / "bin" / "our-spectral-spark", f"{sys.executable} -m spectral_spark", "update", home / SCRIPT)
    write_command(home / "bin" / "spark-submit", str(spark_script("spark-submit")), "update.py", home / SUBMIT)
    (home / "dags").mkdir()
    for name in ("nightly_dag.py", "nightly_submit_dag.py"):
        (home / "dags" / name).write_text((PIPELINE / name).read_text() + SOON)
    with standalone(home, home / "bin") as running:
        variables = {"input": home / "in", "pipeline": PIPELINE, "jobs": ROOT / "jobs",
                     "spark": home / "bin" / "our-spectral-spark"}
        for name, value in variables.items():
            running.call("variables", "set", f"spectral_{name}", str(value))
        for dag in (SCRIPT, SUBMIT):                        # before anything runs: SQLite has one writer at a time
            running.call("backfill", "create", "--dag-id", dag, "--from-date", DAYS[0], "--to-date",
                         f"{DAYS[-1]}T12:00:00", "--max-active-runs", "1")
        yield running


def nights(airflow: Airflow, dag: str) -> Path:
    """The store after the three nights, and after the one that Airflow adds, for which there are no documents."""
    store = airflow.home / dag
    airflow.call("variables", "set", "spectral_store", str(store))
    airflow.call("dags", "unpause", "--yes", dag)
    airflow.finish(dag, runs=4, seconds=2400)
    return store


@pytest.mark.parametrize("dag", [SCRIPT, SUBMIT])
def test_a_night_that_is_killed_is_tried_again_and_the_next_one_goes_on_from_it(airflow: Airflow, dag: str) -> None:
    store = nights(airflow, dag)
    assert (airflow.home / f"{dag}.killed").exists()
    for day in DAYS:
        tries = {"model": 2} if day == DAYS[1] else {}
        assert airflow.tasks(dag, day) == {step: ("success", tries.get(step, 1)) for step in STEPS}, airflow.log()
        assert (store / f"run_date={day}" / "report.html").exists()
    summaries = [json.loads((store / f"run_date={day}" / "model" / "summary.json").read_text()) for day in DAYS]
    seen = [summary["documents"] + sum(summary["dropped"].values()) for summary in summaries]
    assert seen == [300, 600, 900]                          # of 400 notes a night, 100 are held out
    assert not list(store.rglob(".*.partial-*"))
