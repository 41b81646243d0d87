"""The nightly pipeline as an Airflow DAG: one task per step, retried on its own, outputs under run_date=YYYY-MM-DD.

``ds`` is the day that has ended. The first night fits a model; a later one updates it, in that model's vocabulary.

Needs Airflow 2.4 or newer. Set the Airflow variables ``spectral_store`` (where outputs go) and ``spectral_input`` (a
folder with one folder of documents per day), and ``spectral_spark`` where the command is not on the workers' PATH.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

STORE = "{{ var.value.spectral_store }}"
INPUT = "{{ var.value.spectral_input }}/{{ ds }}"
RUN = "{{ var.value.get('spectral_spark', 'spectral-spark') }}"
NIGHT = STORE + "/run_date={{ ds }}"
EARLIER = f"ls -d {STORE}/run_date=*/model 2>/dev/null | awk '$0 < \"{NIGHT}/model\"' | tail -n 1"

# A step whose output is there is done: outputs appear complete or not at all.
STEPS = {
    "ingest": f"""
        earlier=$({EARLIER})
        test -e {NIGHT}/corpus ||
        {RUN} ingest --source folders --input {INPUT} --output {NIGHT}/corpus --holdout 100 \
            ${{earlier:+--vocabulary "$earlier"}}
    """,
    "model": f"""
        earlier=$({EARLIER})
        if [ -e {NIGHT}/model ]; then exit 0; fi
        if [ -n "$earlier" ]
        then {RUN} update --corpus {NIGHT}/corpus --model "$earlier" --output {NIGHT}/model
        else {RUN} fit --corpus {NIGHT}/corpus --model {NIGHT}/model
        fi
    """,
    "evaluate": f"""
        test -e {NIGHT}/evaluation.json ||
        {RUN} evaluate --corpus {NIGHT}/corpus --model {NIGHT}/model --output {NIGHT}/evaluation.json
    """,
    "report": f"""
        test -e {NIGHT}/report.html ||
        {RUN} report --model {NIGHT}/model --evaluation {NIGHT}/evaluation.json --output {NIGHT}/report.html
    """,
}

with DAG(
    dag_id="spectral_spark_nightly",
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,      # a night builds on the one before
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5), "depends_on_past": True},
) as dag:
    before = None
    for name, command in STEPS.items():
        task = BashOperator(task_id=name, bash_command=command)
        if before is not None:
            before >> task
        before = task
