"""MLflow: log a model and load it again, as a ``TopicModel`` or as a pyfunc that ``mlflow models serve`` runs.

The model's own directory is what is stored, and this module is the loader: nothing is pickled, and neither a server
nor a batch job needs Spark.

    import mlflow
    from spectral_spark.serve import mlflow_flavor

    with mlflow.start_run():
        mlflow_flavor.log_fit("out/model")                              # parameters, metrics, run report
        logged = mlflow_flavor.log_model("out/model", name="topics")
    mlflow.pyfunc.load_model(logged.model_uri).predict(["one text"])
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.files.model_files import read_model_files
from spectral_spark.serve.topic_model import TopicModel
from spectral_spark.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.models import ModelSignature
    from mlflow.models.model import ModelInfo

TEXT, PATH = "text", "path"
EXAMPLE = ("Write one text per row.",)


class Predictor:
    """What MLflow calls: texts in, one column of proportions per topic out."""

    def __init__(self, model: TopicModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> "pd.DataFrame":
        """Proportions of a DataFrame with the column ``text`` and, if there is one, ``path`` (names joined by ``/``).

        A list of texts is taken as well.
        """
        import pandas as pd

        if not isinstance(model_input, pd.DataFrame):
            model_input = pd.DataFrame({TEXT: list(model_input)})
        if TEXT not in model_input.columns:
            raise InputError(f"there is no column '{TEXT}'; the columns are {', '.join(map(str, model_input.columns))}")
        paths = None
        if PATH in model_input.columns:
            paths = [path.split("/") if isinstance(path, str) and path else None for path in model_input[PATH]]
        texts = [text if isinstance(text, str) else None for text in model_input[TEXT]]
        return pd.DataFrame(self.model.infer(texts, paths), columns=topic_columns(self.model.k))


def topic_columns(k: int) -> list[str]:
    """The names of the columns that a prediction has."""
    return [f"topic_{topic}" for topic in range(k)]


def _load_pyfunc(path: str) -> Predictor:
    """MLflow's entry: ``path`` is the stored directory of the model."""
    return Predictor(TopicModel.load(path))


def signature(model: TopicModel) -> "ModelSignature":
    """A column of text and an optional column of paths in, a column per topic out."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    return ModelSignature(Schema([ColSpec("string", TEXT), ColSpec("string", PATH, required=False)]),
                          Schema([ColSpec("double", name) for name in topic_columns(model.k)]))


def log_model(path: str, name: str = "model", *, example: Sequence[str] = EXAMPLE, **settings: Any) -> "ModelInfo":
    """Log the model in the local directory ``path`` in the active run.

    Parameters
    ----------
    path : directory of a model that can read text.
    name : of the logged model.
    example : texts that are stored as the input example.
    settings : further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.
    """
    import mlflow

    return mlflow.pyfunc.log_model(name=name, **_stored(path, example), **settings)


def save_model(path: str, target: str, *, example: Sequence[str] = EXAMPLE, **settings: Any) -> None:
    """Save the model in the local directory ``path`` as an MLflow model in the new directory ``target``."""
    import mlflow

    mlflow.pyfunc.save_model(target, **_stored(path, example), **settings)


def load_model(model_uri: str) -> TopicModel:
    """The logged model as a ``TopicModel``."""
    import mlflow
    from mlflow.models import Model

    local = mlflow.artifacts.download_artifacts(artifact_uri=model_uri)
    flavor = Model.load(local).flavors.get("python_function", {})
    if flavor.get("loader_module") != __name__ or "data" not in flavor:
        raise InputError(f"'{model_uri}' is not a topic model that {__name__} has logged")
    return TopicModel.load(str(Path(local, flavor["data"])))


def log_fit(path: str) -> None:
    """Log what a model says about its fit: settings as parameters, numbers as metrics, and ``summary.json``."""
    import mlflow

    summary = read_model_files(path).summary
    given = summary.get("settings", {}).items()
    mlflow.log_params({name: value for name, value in given if value is not None and not isinstance(value, dict)})
    numbers: dict[str, Any] = {}
    numbers |= {name: summary[name] for name in ("k", "documents", "terms", "tokens", "residual") if name in summary}
    numbers |= {f"seconds_{name}": value for name, value in summary.get("seconds", {}).items()}
    numbers |= {f"sample_{name}": value for name, value in (summary.get("sample") or {}).items()}
    mlflow.log_metrics({name: float(value) for name, value in numbers.items() if _is_number(value)})
    mlflow.log_dict(summary, "summary.json")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _stored(path: str, example: Sequence[str]) -> dict[str, Any]:
    import pandas as pd

    model = TopicModel.load(path, backend="numpy")
    model.counter                                        # noqa: B018 - a model that cannot read text is refused here
    return {
        "loader_module": __name__, "data_path": path, "signature": signature(model),
        "input_example": pd.DataFrame({TEXT: list(example)}), "pip_requirements": [f"spectral-spark=={__version__}"],
    }
