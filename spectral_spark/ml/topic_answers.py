"""Questions to a topic model about documents: which of them show a topic best, how groups differ, what changed."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark.answers.groups import all_nodes, groups_below
from spectral_spark.answers.share_differences import change_tests, differences, simultaneous
from spectral_spark.answers.share_estimates import GroupShares
from spectral_spark.engine.documents import document_columns
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.evaluation import CORPUS_COLUMNS, ScoredTopics
from spectral_spark.ml.answer_sheet import answer_sheet
from spectral_spark.ml.column_values import column_groups, in_order
from spectral_spark.ml.document_input import frame_column
from spectral_spark.ml.exemplar_search import LEAST_WORDS, ancestors_of, find_exemplars
from spectral_spark.ml.share_pass import REPLICATES, Bootstrap, Path, shares_of
from spectral_spark.ml.topic_inference import TopicInference
from spectral_spark.tree.node_names import find_node, node_name

MOST_SIBLINGS = 50           # more give thousands of pairs, which nobody reads


class TopicAnswers(TopicInference):
    """A topic model that answers questions about documents."""

    def exemplars(
        self, dataset: Any, n: int = 5, *, node: str | Sequence[str] | None = None, depth: int = 0,
        minWords: int = LEAST_WORDS, background: bool = False,
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
        background : bool
            Whether to list documents of the background topic, if there is one.

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
        labels, hidden = self.labels, None if background else self.files.background
        found = [row for row in found if row.topic != hidden]
        table = pa.table({
            "path": pa.array([list(paths[row.node]) for row in found], pa.list_(pa.string())),
            "topic": pa.array([row.topic for row in found], pa.int32()),
            "label": pa.array([labels[row.topic] for row in found], pa.string()),
            "rank": pa.array([row.rank for row in found], pa.int32()),
            "id": pa.array([row.id for row in found], pa.string()),
            "share": pa.array([row.share for row in found], pa.float64()),
            "words": pa.array([row.words for row in found], pa.int64()),
        })
        return frame_from_arrow(frame.sparkSession, table)

    def _bootstrap(self, group_level: int | None, replicates: int = 0) -> Bootstrap:
        """How documents are drawn; refuses a level that the tree does not have."""
        depth = max(map(len, self.nodes.paths))
        if group_level is not None and group_level > depth:
            has = f"has {depth} {'level' if depth == 1 else 'levels'} of groups" if depth else "has no groups"
            raise SettingsError(f"`groupLevel` is {group_level}, but the model's tree {has}; leave it out to draw "
                                "single documents")
        return Bootstrap(self._value("seed"), group_level, replicates)

    def compare(
        self, a: Any, b: Any, dataset: Any = None, *, interval: float = 0.9, simultaneously: bool = False,
        groupLevel: int | None = None, replicates: int = REPLICATES,
    ) -> DataFrame:
        """How two nodes, or two selections of documents, differ in their topics, with intervals and tests.

        Parameters
        ----------
        a, b : two nodes of the tree ("region/town" or a list of names) of ``dataset``, or two DataFrames of documents.
        dataset : DataFrame of documents, where a and b are nodes.
        interval : probability with which an interval covers the true difference.
        simultaneously : widen the intervals so that those of all topics hold together with that probability (Šidák).
        groupLevel : draw whole groups of this level of the tree, not single documents, in the bootstrap: for questions
            about more than the groups at hand.
        replicates : of the Poisson bootstrap, whose seed is the model's. They say how much two selections of documents
            have in common; everything else follows without drawing any.

        Returns
        -------
        DataFrame
            ``topic``, ``label``, ``shareA``, ``shareB``, ``difference`` (a − b), ``lower``, ``upper``, ``pValue`` and
            ``qValue``, the p-value adjusted for the number of topics (Benjamini and Hochberg).
        """
        _check_level(interval)
        if dataset is None:
            parts = [self._counted(self._on_spark(part), F.lit(name)) for part, name in ((a, "a"), (b, "b"))]
            wanted: list[Path] = [("a",), ("b",)]
            frame, head = parts[0].unionByName(parts[1]), 1
        else:
            paths = self.nodes.paths
            wanted, head = [paths[find_node(name, paths)] for name in (a, b)], 0
            if wanted[0] == wanted[1]:
                raise InputError(f"`a` and `b` are both '{node_name(wanted[0])}'; name two different nodes")
            frame = self._counted(self._on_spark(dataset))
        bootstrap = self._bootstrap(groupLevel, replicates if head else 0)
        shares = self._shares(frame, wanted, bootstrap, head)
        for name, which, count in zip(wanted, ("first", "second"), shares.documents, strict=True):
            if not count:
                where = f"the {which} selection" if head else f"'{node_name(name)}'"
                raise InputError(f"no document with a known word is in {where}; there is nothing to compare")
        level = simultaneous(interval, self.k) if simultaneously else interval
        nested = head == 1 or wanted[0] == wanted[1][: len(wanted[0])] or wanted[1] == wanted[0][: len(wanted[1])]
        return self._differences(frame, shares.of(np.array([0])), shares.of(np.array([1])), level, {}, nested)

    def compareSiblings(
        self, parent: str | Sequence[str] | None, dataset: Any, *, interval: float = 0.9, groupLevel: int | None = None,
    ) -> DataFrame:
        """All pairs of a node's children: the columns of ``compare`` with the paths ``a`` and ``b`` in front.

        q-values are adjusted for all topics of all pairs. ``parent`` None compares the top-level groups.
        """
        _check_level(interval)
        paths = self.nodes.paths
        above = paths[find_node(parent, paths)]
        children = [path for path in paths if len(path) == len(above) + 1 and path[: len(above)] == above]
        if not 2 <= len(children) <= MOST_SIBLINGS:
            raise InputError(f"'{node_name(above)}' has {len(children)} groups directly below it; comparing them in "
                             f"pairs takes 2 to {MOST_SIBLINGS}")
        frame = self._counted(self._on_spark(dataset))
        shares = self._shares(frame, children, self._bootstrap(groupLevel), 0)
        pairs = np.array([(i, j) for i, j in combinations(range(len(children)), 2)
                          if shares.documents[i] and shares.documents[j]], np.int64).reshape(-1, 2)
        if not len(pairs):
            raise InputError(f"fewer than two groups below '{node_name(above)}' have documents with a known word")
        named = {side: [children[at] for at in pairs[:, place]] for place, side in enumerate("ab")}
        return self._differences(frame, shares.of(pairs[:, 0]), shares.of(pairs[:, 1]), interval, named, False)

    def compareWithParents(
        self, dataset: Any, *, interval: float = 0.9, groupLevel: int | None = None
    ) -> DataFrame:
        """Every node of the tree against its parent: the columns of ``compare`` with ``path`` in front.

        a is the node and b its parent. q-values are adjusted for all topics of all nodes.
        """
        _check_level(interval)
        frame = self._counted(self._on_spark(dataset))
        shares, names = self._node_shares(frame, self._bootstrap(groupLevel))
        index = {path: at for at, path in enumerate(names)}
        children = np.array([at for at, path in enumerate(names) if path], np.int64)
        if not len(children):
            raise InputError("the documents have no groups, so no node has a parent to be compared with")
        parents = np.array([index[names[at][:-1]] for at in children], np.int64)
        return self._differences(
            frame, shares.of(children), shares.of(parents), interval, {"path": [names[at] for at in children]}, True
        )

    def nodeProportions(self, interval: float | None = None, dataset: Any = None) -> DataFrame:
        """The document tree: path, level, documents, effectiveSampleSize, proportions.

        With an ``interval``, for example 0.9, and documents, a row per node of the documents: path, level, documents,
        and the arrays shares, lower and upper. These shares are what the documents say, without the leaning towards the
        parent that the model's proportions have.
        """
        if interval is None:
            return super().nodeProportions()
        _check_level(interval)
        if dataset is None:
            raise SettingsError("intervals come from documents: nodeProportions(interval=0.9, dataset=documents)")
        frame = self._counted(self._on_spark(dataset))
        shares, names = self._node_shares(frame, Bootstrap(seed=self._value("seed")))
        low, high = shares.intervals(interval)
        return frame_from_arrow(frame.sparkSession, pa.table({
            "path": pa.array([list(path) for path in names], pa.list_(pa.string())),
            "level": pa.array([len(path) for path in names], pa.int32()),
            "documents": pa.array(shares.documents.astype(np.int64)),
            "shares": pa.array(shares.shares.tolist(), pa.list_(pa.float64())),
            "lower": pa.array(low.tolist(), pa.list_(pa.float64())),
            "upper": pa.array(high.tolist(), pa.list_(pa.float64())),
        }))

    def explain(
        self, dataset: Any, by: str | Sequence[str], *, within: str | Sequence[str] | None = None,
        interval: float = 0.9, bins: int | None = None, groupLevel: int | None = None,
    ) -> DataFrame:
        """Topic shares for every value of a column, with intervals, and tests for a trend and for any change.

        Parameters
        ----------
        dataset : DataFrame of documents with the column.
        by : the column: a month, an author, a rating. Values that are all numbers are ordered by size, others as text.
            Several columns stand for every combination of their values.
        within : only documents at or below this node of the tree.
        bins : put a column of numbers into so many bins with equally many documents.
        interval, groupLevel : as in ``compare``.

        Returns
        -------
        DataFrame
            One row per value and topic: ``value``, ``documents``, ``topic``, ``label``, ``share``, ``lower``,
            ``upper``, and for the topic over all values ``slope`` (per unit, or per step for text), ``trendQValue`` and
            ``changeQValue``, adjusted for the number of topics; null where there are fewer than two values.
        """
        _check_level(interval)
        frame = self._on_spark(dataset)
        groups = column_groups(frame, [by] if isinstance(by, str) else list(by), bins)
        paths = self.nodes.paths
        below = paths[find_node(within, paths)]
        counted = self._counted(frame, groups.value)
        if below:
            counted = counted.filter(F.slice("path", 2, len(below)) == F.array(*map(F.lit, below)))
        found: list[str] = []
        positions: list[float | None] = []

        def grouped(nodes: Sequence[Path]) -> tuple[np.ndarray, list[Path]]:
            ordered, places = in_order(sorted({path[0] for path in nodes if path}), groups.position)
            found.extend(ordered)
            positions.extend(places)
            names: list[Path] = [(value,) for value in ordered]
            place = {value: at for at, value in enumerate(ordered)}
            return np.array([[place[path[0]] if path else -1] for path in nodes], np.int64), names

        bootstrap = self._bootstrap(groupLevel)
        shares, _ = shares_of(counted, CORPUS_COLUMNS, ScoredTopics.of_model(self.files), bootstrap, grouped, 1)
        return self._explained(counted, shares, [groups.name(value) for value in found], positions, interval)

    def answers(
        self, dataset: Any, by: Sequence[str | Sequence[str]] = (), *, exemplars: int = 3, depth: int = 1,
        interval: float = 0.9,
    ) -> dict[str, Any]:
        """What the report can show about documents, for ``model.report(answers=…)``; no text.

        Shares of every node with intervals; the ``exemplars`` best documents of each topic, for the corpus and for
        nodes up to ``depth`` levels down; and what ``explain`` finds for each entry of ``by`` (a column, or several for
        every combination of their values).
        """
        frame = self._on_spark(dataset)
        columns = [[name] if isinstance(name, str) else list(name) for name in by]
        return answer_sheet(self, frame, columns, exemplars=exemplars, depth=depth, interval=interval)

    def _explained(
        self, frame: DataFrame, shares: GroupShares, values: list[str], positions: list[float | None], interval: float
    ) -> DataFrame:
        low, high = shares.intervals(interval)
        known = np.array([at for at, place in enumerate(positions) if place is not None], np.int64)
        tests: dict[str, Any] = dict.fromkeys(("slope", "trendQValue", "changeQValue"))
        if len(known) > 1:
            tests |= change_tests(shares.of(known), np.array([positions[at] for at in known], float))
        labels, n = self.labels, len(values)
        kinds = {"slope": pa.float64(), "trendQValue": pa.float64(), "changeQValue": pa.float64()}
        return frame_from_arrow(frame.sparkSession, pa.table({
            "value": pa.array(np.repeat(np.array(values, object), self.k), pa.string()),
            "documents": pa.array(np.repeat(shares.documents, self.k).astype(np.int64)),
            "topic": pa.array(np.tile(np.arange(self.k), n), pa.int32()),
            "label": pa.array(labels * n, pa.string()),
            "share": pa.array(shares.shares.ravel()), "lower": pa.array(low.ravel()), "upper": pa.array(high.ravel()),
            **{name: pa.nulls(n * self.k, kind) if tests[name] is None else pa.array(np.tile(tests[name], n))
               for name, kind in kinds.items()},
        }))

    def _counted(self, frame: DataFrame, head: Any = None) -> DataFrame:
        """Ids, paths, word ids and counts of documents; ``head`` is a text column to be put at the head of the path."""
        ready = self._prepared(frame, scoring=True, counter=self._counter)
        terms, counts, path = document_columns(ready.frame, ready.columns)
        path = F.coalesce(path, F.array().cast("array<string>"))
        name = F.col("`" + ready.columns.id.replace("`", "``") + "`").cast("string") if ready.columns.id else \
            F.xxhash64(terms, counts, path).cast("string")
        if head is not None:
            path = F.concat(F.array(head), path)
        return ready.frame.select(
            name.alias("doc_id"), path.alias("path"), terms.alias("terms"), counts.alias("counts")
        )

    def _shares(self, frame: DataFrame, wanted: list[Path], bootstrap: Bootstrap, head: int) -> GroupShares:
        shares, _ = shares_of(
            frame, CORPUS_COLUMNS, ScoredTopics.of_model(self.files), bootstrap,
            lambda paths: (groups_below(paths, wanted), wanted), head,
        )
        return shares

    def _node_shares(self, frame: DataFrame, bootstrap: Bootstrap) -> tuple[GroupShares, list[Path]]:
        return shares_of(
            frame, CORPUS_COLUMNS, ScoredTopics.of_model(self.files), bootstrap,
            lambda paths: (all_nodes(paths), list(paths)),
        )

    def _differences(
        self, frame: DataFrame, a: GroupShares, b: GroupShares, level: float, paths: Mapping[str, Sequence[Path]],
        nested: bool,
    ) -> DataFrame:
        """The differences of pairs of groups; ``paths`` are columns that name the pairs."""
        found = differences(a, b, level, overlapping=nested)
        n = len(a.shares)
        named = {
            name: pa.array([list(path) for path in column for _ in range(self.k)], pa.list_(pa.string()))
            for name, column in paths.items()
        }
        return frame_from_arrow(frame.sparkSession, pa.table({
            **named,
            "topic": pa.array(np.tile(np.arange(self.k), n), pa.int32()),
            "label": pa.array(self.labels * n, pa.string()),
            "shareA": pa.array(a.shares.ravel()), "shareB": pa.array(b.shares.ravel()),
            "difference": pa.array(found.difference.ravel()), "lower": pa.array(found.lower.ravel()),
            "upper": pa.array(found.upper.ravel()), "pValue": pa.array(found.p_value.ravel()),
            "qValue": pa.array(found.q_value.ravel()),
        }))


def _check_level(interval: float) -> None:
    if not 0.5 <= interval < 1:
        raise SettingsError(f"`interval` is {interval}; give a probability from 0.5 up to, but not including, 1")
