"""How a group words a topic, on Spark."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.answers.groups import groups_below
from spectral_spark.answers.wording import Wording, WordingKernel, compare_wording
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS, ScoredTopics, open_scored
from spectral_spark.ml.share_pass import node_priors
from spectral_spark.ml.topic_answers import TopicAnswers
from spectral_spark.report.topic_names import find_topics
from spectral_spark.tree.node_names import find_node, node_name

MOST_TOPICS = 20             # at once: the sums have a number for every word of the vocabulary and topic


class TopicWording(TopicAnswers):
    """A topic model that tells how groups word its topics."""

    def wording(
        self, node: str | Sequence[str], topics: int | str | Sequence[int | str], dataset: Any, *,
        against: str | Sequence[str] | None = None, n: int = 10,
    ) -> DataFrame:
        """The words that a node uses more, and less, than others when it speaks about a topic.

        Parameters
        ----------
        node : a node of the tree, "region/town" or a list of names.
        topics : a topic by number or label, or several.
        dataset : DataFrame of documents, as for ``compare``.
        against : another node; by default, all documents outside ``node``.
        n : words in each direction.

        Returns
        -------
        DataFrame
            ``topic``, ``label``, ``term``, ``termIndex``, ``share`` and ``otherShare`` (of the word in the topic, as
            the two groups word it, shrunk towards the topic's own words), ``logOdds``, ``z`` (in standard errors over
            documents) and ``count`` (expected in the node), the largest z first.
        """
        if n < 1:
            raise SettingsError(f"wording: n is {n}; give at least 1")
        asked = [topics] if isinstance(topics, int | str) else list(topics)
        chosen = find_topics([str(topic) for topic in asked], self.files)
        if not 1 <= len(chosen) <= MOST_TOPICS:
            raise SettingsError(f"wording takes 1 to {MOST_TOPICS} topics at once, and {len(chosen)} were given")
        frame, paths = self._counted(self._on_spark(dataset)), self.nodes.paths
        mine = paths[find_node(node, paths)]
        other = None if against is None else paths[find_node(against, paths)]
        if not mine or (other is not None and _nested(mine, other)):
            raise InputError(f"'{node_name(mine)}' and what it is compared with have documents in common; name two "
                             "nodes of which neither contains the other")
        found = self._wordings(frame, mine, other, chosen)
        return frame_from_arrow(frame.sparkSession, self._wording_table(found, chosen, n))

    def _wordings(
        self, frame: DataFrame, mine: tuple[str, ...], other: tuple[str, ...] | None, chosen: list[int]
    ) -> list[Wording]:
        model = ScoredTopics.of_model(self.files)
        with open_scored(frame, CORPUS_COLUMNS, len(model.topics)) as corpus:
            paths = corpus.census.tree.paths
            inside = groups_below(paths, [mine])[:, 0] == 0
            outside = ~inside if other is None else groups_below(paths, [other])[:, 0] == 0
            shared = {
                "topics": np.ascontiguousarray(model.topics), "node_prior": node_priors(paths, model, 0),
                "concentration": np.array([model.concentration]), "watched": np.array(chosen, np.int64),
                "groups": np.where(inside, 0, np.where(outside, 1, -1)),
            }
            size = 32 * len(chosen) * len(model.topics)
            sums = corpus.packed.sum(WordingKernel(self._value("seed")), shared, name="wording", state_bytes=size)
        for side, name in enumerate((node_name(mine), "outside it" if other is None else node_name(other))):
            if not sums["documents"][side]:
                raise InputError(f"no document with a known word is in '{name}'; there is nothing to compare")
        return [
            compare_wording(sums["counts"][:, place], sums["squares"][:, place], model.topics[:, topic])
            for place, topic in enumerate(chosen)
        ]

    def _wording_table(self, found: list[Wording], chosen: list[int], n: int) -> pa.Table:
        labels, words = self.labels, self.words
        rows = []
        for topic, wording in zip(chosen, found, strict=True):
            order = np.argsort(-wording.z, kind="stable")
            shown = np.unique(np.concatenate([np.arange(min(n, len(order))), np.arange(len(order))[-n:]]))
            rows += [
                {
                    "topic": topic, "label": labels[topic], "term": words[word] if words else None,
                    "termIndex": int(word), "share": float(wording.shares[word]),
                    "otherShare": float(wording.other_shares[word]), "logOdds": float(wording.log_odds[word]),
                    "z": float(wording.z[word]), "count": float(wording.counts[word]),
                }
                for word in order[shown]
            ]
        kinds = {"topic": pa.int32(), "label": pa.string(), "term": pa.string(), "termIndex": pa.int32(),
                 **dict.fromkeys(("share", "otherShare", "logOdds", "z", "count"), pa.float64())}
        return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


def _nested(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return a == b[: len(a)] or b == a[: len(b)]
