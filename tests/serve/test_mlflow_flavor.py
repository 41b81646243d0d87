"""A real MLflow with a file store: a model is logged, loaded and served without Spark."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spectral_spark.errors import InputError
from spectral_spark.files.directories import new_directory
from spectral_spark.files.formats import MODEL_KIND, MODEL_VERSION
from spectral_spark.files.model_files import NodeTable, TopicModelFiles, write_model_files
from spectral_spark.ml.mlflow_tracking import TrackedProgress, log_result, tracked_run
from spectral_spark.serve import mlflow_flavor
from spectral_spark.serve.topic_model import TopicModel

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'spectral-spark[mlflow]'")
pytest.importorskip("sqlalchemy", reason="MLflow without a store (mlflow-skinny): pip install mlflow sqlalchemy")

TEXTS = ["sail boat", "bread", "nothing known"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    topics = np.array([[6, 4, 4, 1, 1, 1], [1, 1, 1, 6, 4, 4]], float).T
    topics /= topics.sum(axis=0)
    nodes = NodeTable(((), ("coast",)), np.array([9, 4]), np.array([9.0, 4.0]), np.array([[0.5, 0.5], [0.9, 0.1]]))
    summary = {"k": 2, "documents": 9, "terms": 6, "tokens": 90, "document_concentration": 2.0, "residual": 0.1,
               "settings": {"k": 2, "solver": "polar"}, "seconds": {"total": 1.5}}
    words = ("sail", "boat", "wind", "bread", "oven", "flour")
    path = str(tmp_path_factory.mktemp("model") / "model")
    with new_directory(path, MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, TopicModelFiles(topics, np.array([0.5, 0.5]), words, nodes, summary, {"uid": "m"}))
        staging.write_json("text.json", {"version": 1, "stop_words": [], "min_word_length": 3})
    return path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[None]:
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("topics", (tmp_path / "artifacts").as_uri()))
    yield
    mlflow.set_tracking_uri(before)


def test_a_logged_model_gives_the_same_proportions(saved: str, store: None) -> None:
    with mlflow.start_run() as run:
        mlflow_flavor.log_fit(saved)
        logged = mlflow_flavor.log_model(saved, name="topics", example=TEXTS[:1])
    expected = TopicModel.load(saved).infer(TEXTS)
    served = mlflow.pyfunc.load_model(logged.model_uri)
    predicted = served.predict(pd.DataFrame({"text": TEXTS}))
    assert list(predicted.columns) == ["topic_0", "topic_1"]
    assert predicted.to_numpy().tobytes() == expected.tobytes()
    placed = served.predict(pd.DataFrame({"text": TEXTS, "path": ["coast", None, "coast/deep"]}))
    assert placed.to_numpy().tobytes() == TopicModel.load(saved).infer(TEXTS, ["coast", None, ["coast"]]).tobytes()
    assert mlflow_flavor.load_model(logged.model_uri).infer(TEXTS).tobytes() == expected.tobytes()
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["solver"] == "polar"
    assert data.metrics["seconds_total"] == 1.5
    assert logged.signature.inputs.input_names() == ["text", "path"]


def test_a_saved_model_holds_no_pickle(saved: str, tmp_path: Path) -> None:
    mlflow_flavor.save_model(saved, str(tmp_path / "mlflow_model"))
    assert not [path for path in (tmp_path / "mlflow_model").rglob("*") if path.suffix in (".pkl", ".pickle")]
    served = mlflow.pyfunc.load_model(str(tmp_path / "mlflow_model"))
    assert served.predict(pd.DataFrame({"text": TEXTS})).shape == (3, 2)


def test_wrong_columns_and_other_models_are_refused(saved: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'text'"):
        mlflow_flavor.Predictor(TopicModel.load(saved)).predict(pd.DataFrame({"words": TEXTS}))
    mlflow.pyfunc.save_model(
        str(tmp_path / "other"), loader_module="json", data_path=saved, pip_requirements=["numpy"]
    )
    with pytest.raises(InputError, match="is not a topic model that"):
        mlflow_flavor.load_model(str(tmp_path / "other"))


def test_passes_are_tracked_and_a_server_that_fails_does_not_end_the_fit(
    store: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with mlflow.start_run() as run:
        progress = TrackedProgress()
        progress.skip()
        for at in range(2):
            with progress.watch(None, "refine 1", at, 2):
                pass
        monkeypatch.setattr(mlflow, "set_tag", lambda *given: (_ for _ in ()).throw(OSError("no route to the server")))
        for name in ("settle", "check"):
            with progress.watch(None, name):
                pass
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "pass_seconds")
    assert [metric.step for metric in history] == [2]
    assert caplog.text.count("no route to the server") == 1


def test_a_result_is_logged_with_its_report_and_model(saved: str, store: None) -> None:
    with tracked_run("topics", "night") as tracked:
        assert tracked
        assert log_result(saved) == []
    run = mlflow.last_active_run()
    assert {item.path for item in mlflow.MlflowClient().list_artifacts(run.info.run_id)} >= {"report.html"}
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "night"
