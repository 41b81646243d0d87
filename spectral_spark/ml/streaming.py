"""A stream of documents, or of rows, into a model: one update per micro-batch, each counted once."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from pyarrow import fs
from pyspark.sql import DataFrame

from spectral_spark.errors import NoDocumentsError, SettingsError
from spectral_spark.files import directories as storage
from spectral_spark.files.formats import FEATURE_MODEL_KIND
from spectral_spark.files.overwriting import kind_of
from spectral_spark.ml.change_feed import apply_changes, is_change_feed, net_changes
from spectral_spark.ml.hdp import SpectralHDP, SpectralHDPModel
from spectral_spark.ml.ibp import SpectralIBP, SpectralIBPModel

_log = logging.getLogger(__name__)
_MODEL = re.compile(r"model-(\d{8,})$")


def update_from_stream(
    store: str, estimator: SpectralHDP | SpectralIBP, *, keep: int = 3
) -> Callable[[DataFrame, int], None]:
    """Make the function to give to ``DataStreamWriter.foreachBatch``.

    The models of a store are numbered in the order they were made; ``store/model-00000007`` holds all documents up to
    then. The first batch is fitted with the estimator, every later one updates the newest model. Documents are known
    one by one, so a batch that is played again changes nothing, whatever its number: a stream may be restarted with a
    new checkpoint location. Rows of a Delta change feed (``readChangeFeed``) are added, removed and exchanged as they
    say. If every document of a batch is too short, the newest model stays and the documents are
    counted as dropped.

    Parameters
    ----------
    store : directory of the models.
    estimator : fits the first batch. Give it an ``idCol``: without ids, equal documents or rows count as the same one.
        SpectralHDP needs a vocabulary or a fixed vector size; SpectralIBP makes a stream of rows into feature models.
    keep : how many models to keep; the one just made always stays.

    Examples
    --------
    >>> query = stream.writeStream.foreachBatch(update_from_stream("out/store", hdp)).start()    # doctest: +SKIP
    """
    if keep < 1:
        raise SettingsError(f"keep is {keep}; at least the newest model has to stay")

    def absorb(frame: DataFrame, batch: int) -> None:
        if frame.isEmpty():
            return
        numbers = stored_models(store)
        newest = _load(_path(store, numbers[-1])) if numbers else None
        try:
            model = _absorbed(newest, frame) if newest else estimator.fit(_first_documents(frame, estimator))
        except NoDocumentsError as error:
            _log.warning("batch %d: %s; the model stays as it is", batch, error)
            if not isinstance(newest, SpectralHDPModel):
                return
            model = _with_dropped(newest, error.dropped)
        if newest is not None and model.summary is newest.summary:
            _log.info("batch %d: every document is in the model already", batch)
            return
        made = numbers[-1] + 1 if numbers else 0
        model.save(_path(store, made))
        for number in [*numbers, made][:-keep]:
            storage.remove(_path(store, number))

    return absorb


def _absorbed(model: SpectralHDPModel | SpectralIBPModel, frame: DataFrame) -> SpectralHDPModel | SpectralIBPModel:
    if isinstance(model, SpectralHDPModel) and is_change_feed(frame):
        return apply_changes(model, frame)
    return model.update(frame, skipKnown=True)


def _first_documents(frame: DataFrame, estimator: SpectralHDP | SpectralIBP) -> DataFrame:
    """What a first batch leaves in a table: of a change feed, the documents that are there after it."""
    if not (isinstance(estimator, SpectralHDP) and is_change_feed(frame)):
        return frame
    key = estimator._value("idCol")
    if not key:
        raise SettingsError("a change feed changes documents by their ids; give the estimator an `idCol`")
    columns = {name for name in estimator._column_names() if name and name != key and name in frame.columns}
    return net_changes(frame, key, sorted(columns))[1]


def _with_dropped(model: SpectralHDPModel, dropped: dict[str, int]) -> SpectralHDPModel:
    """The same model, with more documents counted as dropped."""
    summary = model.summary
    total = {reason: summary.dropped.get(reason, 0) + dropped.get(reason, 0) for reason in summary.dropped | dropped}
    return model._with(replace(model._fitted, summary=replace(summary, dropped=total)))


def stored_models(store: str) -> list[int]:
    """The numbers of the models in a store, oldest first."""
    filesystem, inside = storage.resolve(store)
    if filesystem.get_file_info(inside).type != fs.FileType.Directory:
        return []
    names = [info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside))]
    return sorted(int(found[1]) for name in names if (found := _MODEL.match(name)))


def newest_model(store: str) -> SpectralHDPModel | SpectralIBPModel:
    """The model of everything that has arrived."""
    numbers = stored_models(store)
    if not numbers:
        raise SettingsError(f"there is no model in '{store}' yet")
    return _load(_path(store, numbers[-1]))


def _load(path: str) -> SpectralHDPModel | SpectralIBPModel:
    model: SpectralHDPModel | SpectralIBPModel = (
        SpectralIBPModel if kind_of(path) == FEATURE_MODEL_KIND else SpectralHDPModel
    ).load(path)
    return model


def _path(store: str, number: int) -> str:
    return f"{store.rstrip('/')}/model-{number:08d}"
