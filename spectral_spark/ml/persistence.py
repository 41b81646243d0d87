"""Saving and loading of estimators and models: JSON, Parquet and .npy in one atomic directory, nothing unpickled.

The parameters lie where ``pyspark.ml`` pipelines expect them (``metadata/``), so that a Pipeline or CrossValidator that
contains ours can be saved and loaded. A loader accepts its own class only and imports nothing that a file names.
"""

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

import pyspark
from pyspark.ml.param import Params
from pyspark.ml.util import MLReader, MLWriter

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging, new_directory, open_directory
from spectral_spark.files.model_files import METADATA
from spectral_spark.files.safe_reading import damaged, reading

Instance = TypeVar("Instance")
Estimator = TypeVar("Estimator", bound=Params)


def class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def params_metadata(instance: Params) -> dict[str, Any]:
    """The parameters of an instance in the layout of ``pyspark.ml`` metadata."""
    return {
        "class": class_name(type(instance)),
        "uid": instance.uid,
        "sparkVersion": pyspark.__version__,
        "paramMap": {param.name: value for param, value in instance._paramMap.items()},
        "defaultParamMap": {param.name: value for param, value in instance._defaultParamMap.items()},
    }


def restore_params(
    instance: Params, metadata: dict[str, Any], path: str, retired: Collection[str] = ()
) -> None:
    """Set the saved parameters; a file of another class, or with unknown parameters, is refused.

    ``retired`` are parameters that earlier versions wrote and that are facts of the instance now.
    """
    wanted, found = class_name(type(instance)), metadata.get("class")
    if found != wanted:
        raise FormatError(f"'{path}' holds a {found}, not a {wanted}")
    where = f"{path}/{METADATA}"
    for section in ("defaultParamMap", "paramMap"):
        values = metadata.get(section, {})
        if not isinstance(values, dict):
            raise damaged(where, f"'{section}' does not hold parameters")
        for name, value in values.items():
            if name in retired:
                continue
            if not instance.hasParam(name):
                raise FormatError(f"'{path}': parameter '{name}' is unknown to this version; upgrade spectral_spark")
            with reading(where):
                if section == "paramMap":
                    instance._set(**{name: value})
                else:
                    instance._setDefault(**{name: instance.getParam(name).typeConverter(value)})
    uid = metadata.get("uid")
    if not isinstance(uid, str) or not uid:
        raise damaged(where, "it does not name its object ('uid')")
    instance._resetUid(uid)


class DirectoryWriter(MLWriter):
    """``write()`` of our classes.

    A save is atomic. ``overwrite()`` replaces only what the same class has saved before, once the new directory is
    complete; a directory of anything else is refused.
    """

    def __init__(self, kind: str, version: int, fill: Callable[[Staging], None]) -> None:
        super().__init__()
        self._kind, self._version, self._fill = kind, version, fill

    def save(self, path: str) -> None:
        with new_directory(path, self._kind, self._version, overwrite=self.shouldOverwrite) as staging:
            self._fill(staging)


class DirectoryReader(MLReader, Generic[Instance]):
    """``read()`` of our classes."""

    def __init__(self, kind: str, version: int, build: Callable[[SavedDirectory], Instance]) -> None:
        super().__init__()
        self._kind, self._version, self._build = kind, version, build

    def load(self, path: str) -> Instance:
        saved = open_directory(path, self._kind, self._version)
        with reading(saved.path):
            return self._build(saved)


def estimator_writer(estimator: Params, kind: str, version: int) -> DirectoryWriter:
    """``write()`` of an estimator, which consists of its parameters."""
    return DirectoryWriter(
        kind, version, lambda staging: staging.write_line(METADATA, params_metadata(estimator))
    )


def estimator_reader(make: Callable[[], Estimator], kind: str, version: int) -> DirectoryReader[Estimator]:
    """``read()`` of an estimator; ``make`` makes one with default parameters."""

    def build(saved: SavedDirectory) -> Estimator:
        estimator = make()
        restore_params(estimator, metadata_of(saved), saved.path)
        return estimator

    return DirectoryReader(kind, version, build)


def metadata_of(saved: SavedDirectory) -> dict[str, Any]:
    """The saved parameters of an instance; :func:`restore_params` checks them."""
    return saved.read_object(METADATA)
