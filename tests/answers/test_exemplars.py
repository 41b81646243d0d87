"""Exemplars: the largest shares, the same whatever the partitioning, without near-duplicates."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spectral_spark import SpectralHDPModel
from spectral_spark.answers.exemplars import best_candidates, candidate_rows, thinned, word_sketches
from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.errors import InputError


def batch_of(rows: list[list[int]]) -> CountBatch:
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    terms = np.concatenate([np.array(row, np.int32) for row in rows])
    n = len(rows)
    return CountBatch(starts, terms, np.ones(len(terms)), np.zeros(n, np.int32), np.arange(n), 1000)


def test_sketches_estimate_the_share_of_common_words() -> None:
    first, second = list(range(0, 80)), list(range(20, 100))
    a, b = word_sketches(batch_of([first, second]), np.arange(2))
    assert np.mean(a == b) == pytest.approx(60 / 100, abs=0.2)
    assert (a == word_sketches(batch_of([first[::-1]]), np.arange(1))[0]).all()


def test_candidates_of_parts_merge_to_those_of_the_whole() -> None:
    draw = np.random.default_rng(1)
    rows = [sorted(draw.choice(200, 12, replace=False).tolist()) for _ in range(60)]
    rows[31:45] = [rows[3]] * 14                        # copies must not crowd out others
    shares, ids = draw.dirichlet(np.ones(4), 60), [f"d{n:02}" for n in range(60)]
    shares[31:45] = shares[3]
    shares[3, 0], shares[31:45, 0] = 0.99, 0.99

    def candidates(part: np.ndarray) -> pa.Table:
        root = [np.zeros(len(part), np.int64)]
        inside = batch_of([rows[at] for at in part])
        return candidate_rows([ids[at] for at in part], inside, shares[part], root, 6, np.ones(len(part), bool))

    whole = candidates(np.arange(60))
    parts = [candidates(part) for part in np.array_split(draw.permutation(60), 7)]
    assert best_candidates(pa.concat_tables(parts), 6).to_pylist() == best_candidates(whole, 6).to_pylist()
    first = [row for row in thinned(whole, 6) if row.topic == 0]
    assert first[0].id == "d03"
    assert len(first) == len({row.id for row in first}) == 6
    assert [row.share for row in first] == sorted((row.share for row in first), reverse=True)


def test_near_duplicates_are_thinned() -> None:
    rows = [list(range(50)), [*range(49), 700], list(range(300, 350))]
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    table = candidate_rows(["a", "b", "c"], batch_of(rows), shares, [np.zeros(3, np.int64)], 8, np.ones(3, bool))
    assert [row.id for row in thinned(table, 3) if row.topic == 0] == ["a", "c"]


def test_exemplars_have_the_largest_shares_at_every_node(answering: SpectralHDPModel, documents: Any) -> None:
    found = to_arrow(answering.exemplars(documents, 3, depth=1)).to_pylist()
    again = to_arrow(answering.exemplars(documents.repartition(7), 3, depth=1)).to_pylist()
    assert found == again
    assert {tuple(row["path"]) for row in found} == {(), ("a",), ("b",)}
    shares = {row["doc_id"]: (row["path"], row["topicDistribution"].toArray())
              for row in answering.transform(documents).select("doc_id", "path", "topicDistribution").collect()}
    for topic in range(5):
        mine = [row for row in found if row["topic"] == topic and row["path"] == ["a"]]
        best = sorted((values[topic] for path, values in shares.values() if path[0] == "a"), reverse=True)
        assert [row["share"] for row in mine] == pytest.approx(best[:3], abs=0.02)
        assert all(shares[row["id"]][1][topic] == pytest.approx(row["share"]) for row in mine)


def test_vectors_and_wrong_names(answering: SpectralHDPModel, documents: Any) -> None:
    with pytest.raises(InputError, match="no node 'c'"):
        answering.exemplars(documents, node="c")
    below = to_arrow(answering.exemplars(documents, 1, node="b/x")).to_pylist()
    assert {tuple(row["path"]) for row in below} == {("b", "x")}
    assert documents.filter(F.col("doc_id").isin([row["id"] for row in below])).filter("path[1] <> 'x'").count() == 0
