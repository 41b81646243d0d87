"""Questions to a topic model about documents: which of them show a topic best."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ml.document_input import frame_column
from spectral_spark.ml.exemplar_search import LEAST_WORDS, ancestors_of, find_exemplars
from spectral_spark.ml.local_documents import TEXT, as_table, is_local, to_spark
from spectral_spark.ml.topic_inference import TopicInference
from spectral_spark.tree.node_names import find_node


class TopicAnswers(TopicInference):
    """A topic model that answers questions about documents."""

    def exemplars(
        self, dataset: Any, n: int = 5, *, node: str | Sequence[str] | None = None, depth: int = 0,
        minWords: int = LEAST_WORDS,
    ) -> DataFrame:
        """The documents that show each topic best: those with its largest shares, found in one pass.

        Of documents that share most of their words, only the best is listed. The result depends on the documents alone,
        not on their order or partitioning.

        Parameters
        ----------
        dataset : DataFrame or pandas.DataFrame
            Documents as in the fit, with the column ``idCol``.
        n : int
            Documents per topic and node.
        node : str or list of str, optional
            Only documents at or below this node, ``"region/town"``; None for all.
        depth : int
            0 lists exemplars of the node alone, 1 also those of each of its children, and so on.
        minWords : int
            Documents with fewer known words are passed over.

        Returns
        -------
        DataFrame
            ``path``, ``topic``, ``label``, ``rank``, ``id``, ``share``, ``words``; no text.
        """
        if n < 1 or depth < 0:
            raise SettingsError(f"exemplars: n is {n} and depth {depth}; n is at least 1 and depth at least 0")
        frame = self._on_spark(dataset)
        key = self._value("idCol")
        if not key:
            raise InputError("exemplars are named by their ids; set `idCol` to the column that has them")
        paths = self.nodes.paths
        below = paths[find_node(node, paths)]
        ready = self._prepared(frame, scoring=True, counter=self._counter)
        found = find_exemplars(
            ready.frame, ready.columns, frame_column(ready.frame, key, "idCol"), self._proportions(frame.sparkSession),
            ancestors_of(paths, depth, below), n, minWords,
        )
        labels = self.labels
        table = pa.table({
            "path": pa.array([list(paths[row.node]) for row in found], pa.list_(pa.string())),
            "topic": pa.array([row.topic for row in found], pa.int32()),
            "label": pa.array([labels[row.topic] for row in found], pa.string()),
            "rank": pa.array([row.rank for row in found], pa.int32()),
            "id": pa.array([row.id for row in found], pa.string()),
            "share": pa.array([row.share for row in found], pa.float64()),
            "words": pa.array([row.words for row in found], pa.int64()),
        })
        return frame.sparkSession.createDataFrame(table)

    def _on_spark(self, dataset: Any) -> DataFrame:
        if is_local(dataset):
            return to_spark(as_table(dataset, self._value("textCol") or TEXT), self._column_names())
        return dataset
