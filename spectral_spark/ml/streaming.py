"""A stream of documents into a model: one update per micro-batch, each counted once."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace

from pyarrow import fs
from pyspark.sql import DataFrame

from spectral_spark.errors import NoDocumentsError, SettingsError
from spectral_spark.files import directories as storage
from spectral_spark.ml.hdp import SpectralHDP, SpectralHDPModel

_log = logging.getLogger(__name__)
_MODEL = re.compile(r"model-(\d{8,})$")


def update_from_stream(
    store: str, estimator: SpectralHDP, *, keep: int = 3
) -> Callable[[DataFrame, int], None]:
    """What to give ``DataStreamWriter.foreachBatch``.

    ``store/model-BATCH`` is the model of all documents up to that batch. The first batch is fitted with the estimator,
    every later one updates the newest model before it. A batch that is played again finds its model and changes
    nothing; one that was interrupted left nothing and is done again. Where every document of a batch is too short, the
    model before it is kept and the documents are counted as dropped.

    Parameters
    ----------
    store : directory of the models.
    estimator : fits the first batch; give it a vocabulary or a fixed vector size.
    keep : how many models to keep.

    Examples
    --------
    >>> query = stream.writeStream.foreachBatch(update_from_stream("out/store", hdp)).start()    # doctest: +SKIP
    """
    if keep < 1:
        raise SettingsError(f"keep is {keep}; at least the newest model has to stay")

    def absorb(frame: DataFrame, batch: int) -> None:
        known = stored_batches(store)
        if batch in known or frame.isEmpty():
            return
        before = [number for number in known if number < batch]
        newest = SpectralHDPModel.load(_path(store, max(before))) if before else None
        try:
            model = newest.update(frame, skipKnown=True) if newest else estimator.fit(frame)
        except NoDocumentsError as error:
            _log.warning("batch %d: %s; the model stays as it is", batch, error)
            if newest is None:
                return
            model = _with_dropped(newest, error.dropped)
        model.save(_path(store, batch))
        for number in sorted([*known, batch])[:-keep]:
            storage.remove(_path(store, number))

    return absorb


def _with_dropped(model: SpectralHDPModel, dropped: dict[str, int]) -> SpectralHDPModel:
    """The same model, with more documents counted as dropped."""
    summary = model.summary
    total = {reason: summary.dropped.get(reason, 0) + dropped.get(reason, 0) for reason in summary.dropped | dropped}
    return model._with(replace(model._fitted, summary=replace(summary, dropped=total)))


def stored_batches(store: str) -> list[int]:
    """The batches a store has models of, in order."""
    filesystem, inside = storage.resolve(store)
    if filesystem.get_file_info(inside).type != fs.FileType.Directory:
        return []
    names = [info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside))]
    return sorted(int(found[1]) for name in names if (found := _MODEL.match(name)))


def newest_model(store: str) -> SpectralHDPModel:
    """The model of everything that has arrived."""
    batches = stored_batches(store)
    if not batches:
        raise SettingsError(f"there is no model in '{store}' yet")
    return SpectralHDPModel.load(_path(store, batches[-1]))


def _path(store: str, batch: int) -> str:
    return f"{store.rstrip('/')}/model-{batch:08d}"
