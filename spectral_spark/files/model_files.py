"""The model directory on disk, read and written without Spark.

``topics/``, ``vocabulary/`` and ``nodes/`` are Parquet, ``summary.json`` the run report, ``metadata/`` the parameters,
``moments/`` the additive state (see ``moments.moment_state``), ``evaluation.json`` and ``changes.json`` are optional.
``labels.toml`` holds the names that people gave to topics (see ``files.labels_file``), ``taxonomy.json`` the tree that
they were folded into (see ``files.taxonomy_file``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import SavedDirectory, Staging, open_directory
from spectral_spark.files.formats import MODEL_KIND, MODEL_VERSION
from spectral_spark.files.labels_file import LABELS_TOML, labels_text, read_labels
from spectral_spark.files.safe_reading import damaged, reading
from spectral_spark.files.seed_report_check import check_own_topics
from spectral_spark.files.table_columns import (
    check_order,
    check_shares,
    checked_columns,
    matrix_of,
    names_of,
    numbers_of,
    paths_of,
)
from spectral_spark.files.taxonomy_file import TAXONOMY_JSON, read_taxonomy, taxonomy_text

__all__ = [
    "METADATA", "MODEL_KIND", "MODEL_VERSION", "NodeTable", "TopicModelFiles", "checked_summary", "model_files_from",
    "read_model_files", "words_from", "write_model_files",
]

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
    labels : names that people gave to topics, by the topic's number (``labels.toml``).
    taxonomy : the topics folded into a tree (``taxonomy.json``, see ``files.taxonomy_file``), None when absent.
    stability : array of shape (k,), the probability that a topic comes back from another seed; None if unknown.
    """

    topics: np.ndarray
    weights: np.ndarray
    vocabulary: tuple[str, ...] | None
    nodes: NodeTable
    summary: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None
    changes: dict[str, Any] | None = None
    labels: Mapping[int, str] = field(default_factory=dict)
    taxonomy: Mapping[str, Any] | None = None
    stability: np.ndarray | None = None

    @property
    def background(self) -> int | None:
        """The topic of words that are common everywhere, if the model has one."""
        number = (self.summary.get("seeds") or {}).get("background")
        return number if isinstance(number, int) and 0 <= number < self.topics.shape[1] else None


def write_model_files(staging: Staging, files: TopicModelFiles) -> None:
    """Write all parts but the moments into a staging directory (see ``storage.new_directory``)."""
    k = files.topics.shape[1]
    staging.write_table("topics", pa.table({
        "topic": pa.array(range(k), pa.int32()),
        "weight": pa.array(files.weights, pa.float64()),
        "terms": _rows(files.topics.T),
        **({} if files.stability is None else {"stability": pa.array(files.stability, pa.float64())}),
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
    if files.labels:
        staging.write_unlisted(LABELS_TOML, labels_text(files.labels).encode())
    if files.taxonomy is not None:
        staging.write_unlisted(TAXONOMY_JSON, taxonomy_text(files.taxonomy).encode())


def read_model_files(path: str) -> TopicModelFiles:
    """Read a saved model; anything incomplete, foreign, newer or inconsistent is refused."""
    return model_files_from(open_directory(path, MODEL_KIND, MODEL_VERSION))


def model_files_from(saved: SavedDirectory) -> TopicModelFiles:
    """The same from a directory that is already open."""
    with reading(saved.path):
        topics, weights, stability = _topics(saved)
        vocabulary = words_from(saved) if saved.has("vocabulary/part-0.parquet") else None
        if vocabulary is not None and len(vocabulary) != topics.shape[0]:
            raise FormatError(f"'{saved.path}': {len(vocabulary)} words in vocabulary/, {topics.shape[0]} in topics/")
        nodes = _nodes(saved)
        if nodes.proportions.shape[1] != topics.shape[1]:
            raise FormatError(
                f"'{saved.path}': nodes/ has {nodes.proportions.shape[1]} topics, topics/ {topics.shape[1]}"
            )
        summary = checked_summary(saved.read_json("summary.json"), f"{saved.path}/summary.json")
        for name, count in (("terms", topics.shape[0]), ("k", topics.shape[1])):
            if summary.get(name, count) != count:
                raise damaged(f"{saved.path}/summary.json", f"'{name}' is {summary[name]}, but topics/ has {count}")
        return TopicModelFiles(
            topics, weights, vocabulary, nodes, summary, saved.read_object(METADATA),
            saved.read_object("evaluation.json") if saved.has("evaluation.json") else None,
            saved.read_object("changes.json") if saved.has("changes.json") else None,
            read_labels(saved.filesystem, saved.path, topics.shape[1]),
            read_taxonomy(saved.filesystem, saved.path, topics.shape[1]),
            stability,
        )


def words_from(saved: SavedDirectory) -> tuple[str, ...]:
    """The words of ``vocabulary/`` in the order of their ids."""
    where = f"{saved.path}/vocabulary"
    table = checked_columns(saved.read_table("vocabulary"), ("term",), where)
    check_order(table, "term_id", where)
    return names_of(table, "term", where)


def _topics(saved: SavedDirectory) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    where = f"{saved.path}/topics"
    table = checked_columns(saved.read_table("topics"), ("weight", "terms"), where)
    check_order(table, "topic", where)
    rows = matrix_of(table, "terms", where)
    weights = numbers_of(table, "weight", where)
    check_shares(rows, "a topic", where)
    check_shares(weights, "the weights of the topics: one", where)
    stability = numbers_of(table, "stability", where) if "stability" in table.column_names else None
    if stability is not None and not ((stability >= 0) & (stability <= 1)).all():
        raise damaged(where, "'stability' is not between 0 and 1")
    return np.ascontiguousarray(rows.T), weights, stability


def _nodes(saved: SavedDirectory) -> NodeTable:
    where = f"{saved.path}/nodes"
    table = checked_columns(
        saved.read_table("nodes"), ("path", "documents", "effectiveSampleSize", "proportions"), where
    )
    proportions = matrix_of(table, "proportions", where)
    check_shares(proportions, "a node's proportions: one", where)
    return NodeTable(
        tuple(paths_of(table, where)), numbers_of(table, "documents", where),
        numbers_of(table, "effectiveSampleSize", where), proportions,
    )


_NUMBER = (int, float)
_SUMMARY: Mapping[str, tuple[type, ...]] = {
    "k": (int,), "documents": (int,), "terms": (int,), "tokens": (int,), "seed": (int,), "iterations": (int,),
    "effective_sample_size": _NUMBER, "residual": _NUMBER,
    "noise_floor": (*_NUMBER, type(None)), "document_concentration": (*_NUMBER, type(None)),
    "weighting": (str,), "solver": (str,),
    "rank_rule": (str, type(None)), "rank_reason": (str, type(None)), "basis": (str, type(None)),
    "concentrations": (list,), "spectrum": (list,), "spectral_concentrations": (list,), "sources": (list,),
    "passes": (list,),
    "dropped": (dict,), "seconds": (dict,), "versions": (dict,), "bounds": (dict,), "sample": (dict,),
    "settings": (dict,), "refinement": (dict,), "extra": (dict,), "levels": (dict,), "seeds": (dict,),
    "lineage": (list,),
}


def checked_summary(value: Any, where: str, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """``summary.json`` of a model, if it has the keys that are needed and known keys hold values of their type."""
    if not isinstance(value, dict):
        raise damaged(where, "it is not an object")
    missing = [name for name in needed if name not in value]
    if missing:
        raise damaged(where, f"it has no '{missing[0]}'")
    for name, types in _SUMMARY.items():
        given = value.get(name)
        if name in value and (not isinstance(given, types) or (isinstance(given, bool) and bool not in types)):
            raise damaged(where, f"'{name}' is of another kind")
    for name in ("k", "documents", "terms", "tokens", "document_concentration"):
        if (value.get(name) or 0) < 0:
            raise damaged(where, f"'{name}' is {value[name]}")
    check_own_topics(value, where)
    return value


def _rows(matrix: np.ndarray) -> pa.Array:
    rows, width = matrix.shape
    small = rows * width < 2**31
    offsets = np.arange(rows + 1, dtype=np.int32 if small else np.int64) * width
    values = pa.array(np.ascontiguousarray(matrix).ravel(), pa.float64())
    return (pa.ListArray if small else pa.LargeListArray).from_arrays(offsets, values)
