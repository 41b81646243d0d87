"""The model directory on disk, read and written without Spark.

``topics/``, ``vocabulary/`` and ``nodes/`` are Parquet, ``summary.json`` the run report, ``metadata/`` the parameters,
``moments/`` the additive state (see ``moments.moment_state``), ``evaluation.json`` and ``changes.json`` are optional.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging, open_directory

MODEL_KIND, MODEL_VERSION = "spectral-hdp-model", 1
METADATA = "metadata/part-00000"  # where and as pyspark.ml pipelines look for it: one line of JSON


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The document tree as fitted. Node 0 is the root; parents come before their children.

    Attributes
    ----------
    paths : one tuple of names per node, () for the root.
    documents : int array of shape (nodes,), training documents at or below the node.
    effective_sample_size : float array of shape (nodes,).
    proportions : float array of shape (nodes, k), rows sum to one.
    """

    paths: tuple[tuple[str, ...], ...]
    documents: np.ndarray
    effective_sample_size: np.ndarray
    proportions: np.ndarray

    @property
    def levels(self) -> list[int]:
        return [len(path) for path in self.paths]


@dataclass(frozen=True, eq=False)
class TopicModelFiles:
    """Everything a saved model says about its topics.

    Attributes
    ----------
    topics : array of shape (d, k), columns sum to one.
    weights : array of shape (k,), share of the corpus of each topic, sums to one.
    vocabulary : the d words, or None when they are not known.
    nodes : the document tree.
    summary : the run report (``summary.json``).
    metadata : parameters of the fit (``metadata/``).
    evaluation, changes : ``evaluation.json`` / ``changes.json`` (how topics moved in an update), None when absent.
    """

    topics: np.ndarray
    weights: np.ndarray
    vocabulary: tuple[str, ...] | None
    nodes: NodeTable
    summary: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None
    changes: dict[str, Any] | None = None


def write_model_files(staging: Staging, files: TopicModelFiles) -> None:
    """Write all parts but the moments into a staging directory (see ``storage.new_directory``)."""
    k = files.topics.shape[1]
    staging.write_table("topics", pa.table({
        "topic": pa.array(range(k), pa.int32()),
        "weight": pa.array(files.weights, pa.float64()),
        "terms": _rows(files.topics.T),
    }))
    if files.vocabulary is not None:
        staging.write_table("vocabulary", pa.table({
            "term_id": pa.array(range(len(files.vocabulary)), pa.int32()),
            "term": pa.array(files.vocabulary, pa.string()),
        }))
    nodes = files.nodes
    staging.write_table("nodes", pa.table({
        "path": pa.array([list(path) for path in nodes.paths], pa.list_(pa.string())),
        "level": pa.array(nodes.levels, pa.int32()),
        "documents": pa.array(nodes.documents, pa.int64()),
        "effectiveSampleSize": pa.array(nodes.effective_sample_size, pa.float64()),
        "proportions": _rows(nodes.proportions),
    }))
    staging.write_json("summary.json", files.summary)
    staging.write_line(METADATA, files.metadata)
    if files.evaluation is not None:
        staging.write_json("evaluation.json", files.evaluation)
    if files.changes is not None:
        staging.write_json("changes.json", files.changes)


def read_model_files(path: str) -> TopicModelFiles:
    """Read a saved model; anything incomplete, foreign, newer or inconsistent is refused."""
    return model_files_from(open_directory(path, MODEL_KIND, MODEL_VERSION))


def model_files_from(saved: SavedDirectory) -> TopicModelFiles:
    """The same from a directory that is already open."""
    topics_table = _table(saved, "topics", ("weight", "terms"))
    topics = np.ascontiguousarray(_matrix(topics_table["terms"], f"{saved.path}/topics").T)
    weights = topics_table["weight"].to_numpy()
    if not np.allclose(topics.sum(axis=0), 1.0, atol=1e-6) or topics.min() < 0:
        raise FormatError(f"'{saved.path}/topics': a topic is negative or does not sum to one; it is damaged")
    vocabulary = None
    if saved.has("vocabulary/part-0.parquet"):
        vocabulary = tuple(_table(saved, "vocabulary", ("term",))["term"].to_pylist())
        if len(vocabulary) != topics.shape[0]:
            raise FormatError(f"'{saved.path}': {len(vocabulary)} words in vocabulary/, {topics.shape[0]} in topics/")
    table = _table(saved, "nodes", ("path", "documents", "effectiveSampleSize", "proportions"))
    nodes = NodeTable(
        tuple(tuple(path) for path in table["path"].to_pylist()),
        table["documents"].to_numpy(),
        table["effectiveSampleSize"].to_numpy(),
        _matrix(table["proportions"], f"{saved.path}/nodes"),
    )
    if nodes.proportions.shape[1] != topics.shape[1]:
        raise FormatError(f"'{saved.path}': nodes/ has {nodes.proportions.shape[1]} topics, topics/ {topics.shape[1]}")
    return TopicModelFiles(
        topics, weights, vocabulary, nodes, saved.read_json("summary.json"), saved.read_json(METADATA),
        saved.read_json("evaluation.json") if saved.has("evaluation.json") else None,
        saved.read_json("changes.json") if saved.has("changes.json") else None,
    )


def _rows(matrix: np.ndarray) -> pa.Array:
    rows, width = matrix.shape
    small = rows * width < 2**31
    offsets = np.arange(rows + 1, dtype=np.int32 if small else np.int64) * width
    values = pa.array(np.ascontiguousarray(matrix).ravel(), pa.float64())
    return (pa.ListArray if small else pa.LargeListArray).from_arrays(offsets, values)


def _table(saved: SavedDirectory, name: str, columns: Sequence[str]) -> pa.Table:
    table = saved.read_table(name)
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise FormatError(f"'{saved.path}/{name}' has no column '{missing[0]}'; it was written by something else")
    return table


def _matrix(column: pa.ChunkedArray, path: str) -> np.ndarray:
    widths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(widths) != 1 or widths[0] is None:
        raise FormatError(f"'{path}': rows are missing or of unequal length; the directory is damaged")
    matrix = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks])
    if not np.all(np.isfinite(matrix)):
        raise FormatError(f"'{path}': a number is missing or not finite; the directory is damaged")
    return matrix.reshape(len(column), -1)
