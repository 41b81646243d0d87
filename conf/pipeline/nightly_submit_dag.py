"""The nightly pipeline on a cluster: every step is a SparkSubmitOperator that runs ``jobs/VERB.py``.

The same nights as ``nightly_dag.py``, for stores that only the cluster can write to: inputs and outputs may be on HDFS
or in an object store that Airflow can list. The first night fits a model; every other one updates the newest model and
skips documents that it knows, so nights may come late or twice. A step whose output is there does nothing, a day
without a folder is skipped, and a mistake (exit code 2) fails at once instead of being tried again.

Needs Airflow 2.8 or newer with apache-airflow-providers-apache-spark. Set the Airflow variables ``spectral_store``,
``spectral_input`` (a folder with one folder of documents per day) and ``spectral_jobs`` (the folder of ``jobs/*.py``);
the DAG keeps ``spectral_newest``, the path of the newest model. The cluster is the connection ``spark_default``.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from airflow import DAG
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.timetables.interval import CronDataIntervalTimetable

try:
    from airflow.sdk import ObjectStoragePath, Variable  # Airflow 3
except ImportError:
    from airflow.io.path import ObjectStoragePath
    from airflow.models import Variable

INGEST_FLAGS = ["--source", "folders", "--holdout", "100"]
FIT_FLAGS: list[str] = []
CONF = {"spark.submit.deployMode": "client"}


class SpectralJob(SparkSubmitOperator):
    """A verb of spectral_spark as a Spark job, with flags that are known only when the night runs.

    Parameters
    ----------
    output : the name of what the step makes, inside the night's directory.
    job : the verb and its flags, from the night's directory, the day and the newest model ("" if there is none).
    """

    def __init__(self, *, output: str, job: Callable[[str, str, str], tuple[str, list[str]]], **settings: Any) -> None:
        super().__init__(application="", conf=CONF, **settings)
        self._output = output
        self._job = job

    def execute(self, context: Any) -> None:
        day = context["ds"]
        night = f"{Variable.get('spectral_store').rstrip('/')}/run_date={day}"
        output = f"{night}/{self._output}"
        if not ObjectStoragePath(output).exists():
            verb, flags = self._job(night, day, Variable.get("spectral_newest", ""))
            self.application = f"{Variable.get('spectral_jobs')}/{verb}.py"
            self.application_args = flags
            try:
                super().execute(context)
            except AirflowException as error:
                if "Error code is: 2." in str(error):
                    raise AirflowFailException(str(error)) from error
                raise
        if self._output == "model":
            Variable.set("spectral_newest", output)


def ingest(night: str, day: str, newest: str) -> tuple[str, list[str]]:
    documents = f"{Variable.get('spectral_input').rstrip('/')}/{day}"
    if not ObjectStoragePath(documents).exists():
        raise AirflowSkipException(f"there are no documents of {day}: '{documents}' is not there")
    words = ["--vocabulary", newest] if newest else []
    return "ingest", ["--input", documents, "--output", f"{night}/corpus", *words, *INGEST_FLAGS]


def model(night: str, day: str, newest: str) -> tuple[str, list[str]]:
    if newest:
        return "update", [
            "--corpus", f"{night}/corpus", "--model", newest, "--output", f"{night}/model", "--skip-known",
        ]
    return "fit", ["--corpus", f"{night}/corpus", "--model", f"{night}/model", *FIT_FLAGS]


def evaluate(night: str, day: str, newest: str) -> tuple[str, list[str]]:
    return "evaluate", [
        "--corpus", f"{night}/corpus", "--model", f"{night}/model", "--output", f"{night}/evaluation.json",
    ]


def report(night: str, day: str, newest: str) -> tuple[str, list[str]]:
    return "report", [
        "--model", f"{night}/model", "--evaluation", f"{night}/evaluation.json", "--title", f"Topics of {day}",
        "--output", f"{night}/report.html",
    ]


with DAG(
    dag_id="spectral_spark_nightly_submit",
    schedule=CronDataIntervalTimetable("30 2 * * *", timezone="UTC"),       # a run belongs to the day before it
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,      # the newest model belongs to one night at a time
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
) as dag:
    steps = {"ingest": ("corpus", ingest), "model": ("model", model), "evaluate": ("evaluation.json", evaluate),
             "report": ("report.html", report)}
    before = None
    for name, (output, job) in steps.items():
        task = SpectralJob(task_id=name, output=output, job=job)
        if before is not None:
            before >> task
        before = task
