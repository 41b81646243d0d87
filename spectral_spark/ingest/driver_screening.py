"""``filtering.py`` for documents whose ids and keys the driver can hold."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectral_spark.engine.spark_hash import text_hashes
from spectral_spark.ingest.count_words import reason_where
from spectral_spark.ingest.filtering import DUPLICATE, DUPLICATE_TEXT, refuse_ids
from spectral_spark.ingest.ingest_settings import IngestSettings


def reasons_on_driver(documents: pa.Table, settings: IngestSettings, two_keys: bool) -> pa.Array:
    """Why each document is not used, null for those that are; see ``filtering.screen``.

    Parameters
    ----------
    documents : as ``CountedFiles.documents``.
    """
    column = {name: documents[name].combine_chunks() for name in documents.schema.names}
    problem, short = column["problem"], column["short"]
    if settings.id_col:
        _refuse_repeated_ids(column["doc_id"].filter(problem.is_null()), settings.id_col)
    if not settings.duplicates_dropped:
        return pc.coalesce(problem, short)
    copies = _copies(column["whole_key"], column["doc_id"], _nulls(problem))
    reasons = pc.coalesce(problem, reason_where(copies, DUPLICATE), short)
    if two_keys:
        copies = _copies(column["text_key"], column["doc_id"], _nulls(reasons))
        reasons = pc.coalesce(reasons, reason_where(copies, DUPLICATE_TEXT))
    return reasons


def tally(reasons: pa.Array) -> dict[str | None, int]:
    """Documents per reason."""
    return dict(zip(*(part.to_pylist() for part in reasons.value_counts().flatten()), strict=True))


def _refuse_repeated_ids(ids: pa.Array, column: str) -> None:
    hashes = text_hashes(ids)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(np.diff(hashes[order]) == 0)
    ids = ids.take(pa.array(order[np.union1d(same, same + 1)]))      # few: those whose hash another one has, too
    counts = ids.value_counts().field("counts").to_numpy()
    repeated = counts[counts > 1]
    refuse_ids(column, len(repeated), int(repeated.sum()))


def _copies(keys: pa.Array, ids: pa.Array, usable: np.ndarray) -> np.ndarray:
    """Which of the usable documents have the key of another one with a smaller id."""
    rows = np.flatnonzero(usable)
    codes = keys.filter(pa.array(usable)).dictionary_encode(null_encoding="encode").indices.to_numpy()
    shared = np.bincount(codes, minlength=1)[codes] > 1
    rows, codes = rows[shared], codes[shared]
    names = ids.take(pa.array(rows))
    order = pc.sort_indices(pa.table({"code": codes, "name": names}),
                            [("code", "ascending"), ("name", "ascending")]).to_numpy()
    rows, codes, names = rows[order], codes[order], names.take(pa.array(order))
    new = np.ones(len(rows), bool)
    new[1:] = codes[1:] != codes[:-1]
    first = names.take(pa.array(np.flatnonzero(new)[np.cumsum(new) - 1]))
    copies = np.zeros(len(usable), bool)
    copies[rows] = pc.not_equal(names, first).to_numpy(zero_copy_only=False)
    return copies


def _nulls(column: pa.Array) -> np.ndarray:
    mask: np.ndarray = column.is_null().to_numpy(zero_copy_only=False)
    return mask
