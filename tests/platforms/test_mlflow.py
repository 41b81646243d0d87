"""A real MLflow with a store on disk: a fit tracked from the command line, its model behind ``mlflow models serve``."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from spectral_spark.serve.topic_model import TopicModel
from tests.platforms.store import free_port

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow")
pytest.importorskip("sqlalchemy", reason="MLflow without a store (mlflow-skinny): pip install mlflow")
pytestmark = [pytest.mark.platforms, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parents[2]
EXPERIMENT = "notes of the country"
TEXTS = ["the telescope found a comet beside the moon", "flour, yeast and butter for the dough"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the demo's corpus and a model of it, fitted under MLflow's eyes."""
    home = tmp_path_factory.mktemp("mlflow")
    write_demo(simulate_demo(600), home / "notes.jsonl")
    spectral_spark(home, "ingest", "--source", "table", "--input", "notes.jsonl", "--text-col", "text", "--path-cols",
                   "region,town", "--id-col", "id", "--output", "corpus")
    spectral_spark(home, "fit", "--corpus", "corpus", "--model", "model", "--k", "6", "--mlflow", EXPERIMENT)
    return home


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db", "PYTHONPATH": str(ROOT),
                         "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def spectral_spark(home: Path, *words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "spectral_spark", *words], cwd=home, env=environment(home), text=True,
                          capture_output=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_fit_is_tracked_from_its_settings_to_its_report(home: Path) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{home}/mlflow.db")
    experiment = client.get_experiment_by_name(EXPERIMENT)
    run, = client.search_runs([experiment.experiment_id])
    summary = json.loads((home / "model" / "summary.json").read_text())
    assert run.info.status == "FINISHED"
    assert run.data.params["k"] == "6"
    assert run.data.metrics["seconds_total"] == pytest.approx(summary["seconds"]["total"])
    passes = client.get_metric_history(run.info.run_id, "pass_seconds")
    assert [metric.step for metric in passes] == sorted({metric.step for metric in passes})
    assert len(passes) > 3
    assert "report.html" in {item.path for item in client.list_artifacts(run.info.run_id)}


def test_a_server_gives_the_proportions_of_the_model(home: Path) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{home}/mlflow.db")
    experiment = client.get_experiment_by_name(EXPERIMENT)
    run, = client.search_runs([experiment.experiment_id])
    model = TopicModel.load(str(home / "model"))
    with served(home, f"runs:/{run.info.run_id}/model") as address:
        plain = ask(address, {"dataframe_records": [{"text": text} for text in TEXTS]})
        assert np.array_equal(plain, model.infer(TEXTS))
        placed = ask(address, {"dataframe_split": {"columns": ["text", "path"], "data": [[TEXTS[0], "coast/Seagate"]]}})
        assert np.array_equal(placed, model.infer(TEXTS[:1], [["coast", "Seagate"]]))
        assert not np.array_equal(placed, plain[:1])
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(address, {"dataframe_records": [{"words": "no such column"}]})
        assert refused.value.code == 400
        assert "text" in refused.value.read().decode()


@contextmanager
def served(home: Path, model: str) -> Iterator[str]:
    """The address of ``mlflow models serve``, in this environment."""
    port, log = free_port(), home / "serve.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "models", "serve", "--model-uri", model, "--env-manager", "local",
             "--host", "127.0.0.1", "--port", str(port)], cwd=home, env=environment(home), stdout=sink, stderr=sink,
        )
    try:
        for _ in range(3600):
            assert server.poll() is None, log.read_text(errors="replace")[-3000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5).close()
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def ask(address: str, question: dict[str, object]) -> np.ndarray:
    request = urllib.request.Request(f"{address}/invocations", json.dumps(question).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        rows = json.loads(answer.read())["predictions"]
    return np.array([[row[f"topic_{topic}"] for topic in range(len(row))] for row in rows])
