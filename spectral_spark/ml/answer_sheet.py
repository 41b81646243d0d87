"""What a model says about documents, gathered for the report: shares with intervals, exemplars, columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.files.formats import ANSWERS_KIND, ANSWERS_VERSION
from spectral_spark.ml.column_values import column_groups

if TYPE_CHECKING:
    from spectral_spark.ml.topic_answers import TopicAnswers

MOST_NODES = 1000            # nodes with intervals on the page: the largest ones
MOST_VALUES = 400            # values of a column on the page: those with the most documents
_DIGITS = 6


def answer_sheet(
    model: "TopicAnswers", dataset: DataFrame, by: Sequence[Sequence[str]] = (), *, exemplars: int = 3, depth: int = 1,
    interval: float = 0.9,
) -> dict[str, Any]:
    """Everything about documents that the report can show, as JSON-ready values without any text.

    Parameters
    ----------
    model : a model whose ``idCol`` names the column of document ids.
    dataset : documents, with the columns of ``by``.
    by : the columns to explain; several names stand for every combination of their values.
    exemplars : documents that show a topic best, of the corpus and of nodes up to ``depth`` levels down; 0 for none.
    interval : probability of all intervals.
    """
    for names in by:
        column_groups(dataset, names, None)                 # a wrong name is told before anything is read
    return {
        "kind": ANSWERS_KIND, "version": ANSWERS_VERSION, "k": model.k, "interval": interval,
        "nodes": _node_shares(to_arrow(model.nodeProportions(interval=interval, dataset=dataset))),
        "exemplars": _exemplars(to_arrow(model.exemplars(dataset, exemplars, depth=depth))) if exemplars else [],
        "columns": [
            {"by": list(names), **_column(to_arrow(model.explain(dataset, list(names), interval=interval)), model.k)}
            for names in by
        ],
    }


def _node_shares(table: pa.Table) -> list[dict[str, Any]]:
    """One entry per node, the largest first."""
    rows = sorted(table.to_pylist(), key=lambda row: (-row["documents"], len(row["path"]), row["path"]))
    return [
        {"path": row["path"], "documents": row["documents"],
         **{name: [round(value, _DIGITS) for value in row[name]] for name in ("shares", "lower", "upper")}}
        for row in rows[:MOST_NODES]
    ]


def _exemplars(table: pa.Table) -> list[dict[str, Any]]:
    rows = sorted(table.to_pylist(), key=lambda row: (len(row["path"]), row["path"], row["topic"], row["rank"]))
    return [{name: row[name] for name in ("path", "topic", "rank", "id", "words")}
            | {"share": round(row["share"], _DIGITS)} for row in rows]


def _column(table: pa.Table, k: int) -> dict[str, Any]:
    """Values in their order, and for each the shares of all topics; rows of the table are value by value."""
    values, documents = table["value"].to_pylist()[::k], table["documents"].to_numpy()[::k]
    kept = np.sort(np.argsort(-documents, kind="stable")[:MOST_VALUES])
    numbers = {name: table[name].to_numpy().reshape(-1, k)[kept].round(_DIGITS).tolist()
               for name in ("share", "lower", "upper")}
    tests = {name: table[f"{name}QValue"].to_pylist()[:k] for name in ("trend", "change")}
    return {"values": [values[at] for at in kept], "documents": documents[kept].tolist(),
            "left_out": len(values) - len(kept), **numbers, **tests}
