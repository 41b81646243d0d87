"""The nightly pipeline as an Airflow DAG: one task per step of ``nightly.sh``, each retried on its own.

``ds`` is the day that has ended. Nights do not wait for each other: one that failed can be cleared and run later, and
its documents then join the newest model. A day without documents succeeds without a model. Mistakes (exit code 2: a
wrong flag, a missing folder) fail at once; only failures are tried again.

Needs Airflow 2.4 or newer and GNU bash on the workers. Set the Airflow variables ``spectral_store`` (where outputs go),
``spectral_input`` (a folder with one folder of documents per day), ``spectral_pipeline`` (the folder of ``nightly.sh``)
and, where the command is not on the workers' PATH, ``spectral_spark``.
"""

from datetime import datetime, timedelta
from typing import Any

from airflow import DAG
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.timetables.interval import CronDataIntervalTimetable

try:
    from airflow.providers.standard.operators.bash import BashOperator  # Airflow 3
except ImportError:
    from airflow.operators.bash import BashOperator

STEPS = ("ingest", "model", "evaluate", "report")
NIGHT = (
    "{{ var.value.spectral_pipeline }}/nightly.sh {{ ds }} {{ var.value.spectral_store }} "
    "{{ var.value.spectral_input }}/{{ ds }} --source folders --holdout 100"
)


class NightlyStep(BashOperator):
    """A step of ``nightly.sh``; its exit code 2 means that trying again would not help."""

    def execute(self, context: Any) -> Any:
        try:
            return super().execute(context)
        except AirflowException as error:
            if str(error).rstrip(".").endswith("exit code 2"):
                raise AirflowFailException(str(error)) from error
            raise


with DAG(
    dag_id="spectral_spark_nightly",
    schedule=CronDataIntervalTimetable("30 2 * * *", timezone="UTC"),       # a run belongs to the day before it
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,      # two nights at once would only wait for each other's lock
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
) as dag:
    before = None
    for name in STEPS:
        task = NightlyStep(
            task_id=name, bash_command=NIGHT, append_env=True,
            env={
                "STEPS": name, "ATTEMPTS": "1",             # Airflow does the retrying
                "SPECTRAL_SPARK": "{{ var.value.get('spectral_spark', 'spectral-spark') }}",
            },
        )
        if before is not None:
            before >> task
        before = task
