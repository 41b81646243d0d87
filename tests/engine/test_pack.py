"""Documents from any DataFrame reach the kernels whole; what cannot be used is counted."""

import numpy as np
import pytest
from corpora import ARRAYS, CountingKernel, corpus_of, dense_counts, frame_of, random_documents, vectors_of
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.errors import InputError

D = 40
VECTORS = DocumentColumns("features", path="path", id="doc_id")


def test_vectors_and_arrays_give_the_same_counts(spark: SparkSession) -> None:
    rows = random_documents(300, D)
    probe = np.random.default_rng(0).standard_normal((D, 4))
    sums = []
    for frame, columns in ((frame_of(spark, rows), ARRAYS), (vectors_of(spark, rows, D), VECTORS)):
        with corpus_of(frame, D, columns=columns) as corpus:
            sums.append(corpus.sum(CountingKernel(), {"probe": probe}, name="count"))
    counts = dense_counts(rows, D)
    for total in sums:
        assert total["documents"][0] == 300
        np.testing.assert_array_equal(total["words"], counts.sum(axis=0))
        np.testing.assert_allclose(total["gram"], (counts @ probe).T @ (counts @ probe), rtol=1e-12)


def test_what_cannot_be_used_is_counted_by_reason(spark: SparkSession) -> None:
    rows = [
        ("good", ["a"], [0, 1], [2.0, 1.0]),
        ("repeated words", ["a"], [3, 3, 3], [1.0, 1.0, 1.0]),
        ("null path", None, [0, 1], [2.0, 1.0]),
        ("null in path", ["a", None], [0, 1], [2.0, 1.0]),
        ("nan", ["a"], [0, 1], [float("nan"), 4.0]),
        ("negative", ["a"], [0, 1], [-1.0, 4.0]),
        ("fraction", ["a"], [0, 1], [1.5, 4.0]),
        ("infinite", ["a"], [0, 1], [float("inf"), 4.0]),
        ("null count", ["a"], [0, 1], [None, 4.0]),
        ("lengths differ", ["a"], [0, 1], [4.0]),
        ("unknown word", ["a"], [0, 99], [2.0, 2.0]),
        ("negative word", ["a"], [0, -1], [2.0, 2.0]),
        ("short", ["a"], [0], [2.0]),
        ("short after the cap", ["a"], [0], [9.0]),
        ("empty", ["a"], [], []),
        ("null arrays", ["a"], None, None),
    ]
    frame = spark.createDataFrame(rows, "doc_id string, path array<string>, terms array<int>, counts array<double>")
    with open_documents(inspect_documents(frame, ARRAYS, vocab_size=5), PackSettings(5, cap=3)) as result:
        pass
    assert result.documents == 3
    assert result.dropped == {"null_path": 2, "bad_counts": 6, "unknown_terms": 2, "too_short": 3}
    assert result.documents + sum(result.dropped.values()) == len(rows)


def test_census_counts_documents_and_capped_words_per_node(spark: SparkSession) -> None:
    rows = random_documents(500, D, seed=2)
    source = inspect_documents(frame_of(spark, rows), ARRAYS, vocab_size=D)
    with open_documents(source, PackSettings(D, cap=2)) as result:
        pass
    census, capped = result.census, np.minimum(dense_counts(rows, D), 2).sum(axis=1)
    assert result.tokens == dense_counts(rows, D).sum()
    for node, path in enumerate(census.tree.paths):
        mine = [i for i, row in enumerate(rows) if tuple(row[1]) == path]
        assert census.documents[node] == len(mine)
        assert census.tokens[node] == capped[mine].sum()
        assert census.tokens_squared[node] == (capped[mine] ** 2).sum()
        assert census.tokens_cubed[node] == (capped[mine] ** 3).sum()


@pytest.mark.parametrize(("layers", "paths"), [(2, {()}), (3, {(), ("side0",), ("side1",)})])
def test_layers_cut_the_tree(spark: SparkSession, layers: int, paths: set[tuple[str, ...]]) -> None:
    frame = frame_of(spark, random_documents(100, D))
    source = inspect_documents(frame, ARRAYS, layers=layers, vocab_size=D)
    with open_documents(source, PackSettings(D)) as corpus:
        assert set(corpus.census.tree.paths) == paths


def test_fingerprint_ignores_order_and_notices_content(spark: SparkSession) -> None:
    rows = random_documents(200, D)
    one = inspect_documents(frame_of(spark, rows), ARRAYS, vocab_size=D).fingerprint
    shuffled = inspect_documents(frame_of(spark, rows[::-1]).repartition(7), ARRAYS, vocab_size=D).fingerprint
    changed = [*rows[:-1], (rows[-1][0], rows[-1][1], rows[-1][2], [c + 1 for c in rows[-1][3]])]
    assert one == shuffled
    assert one != inspect_documents(frame_of(spark, changed), ARRAYS, vocab_size=D).fingerprint


@pytest.mark.parametrize(("columns", "message"), [
    (DocumentColumns("words"), r"no column 'words' \(`featuresCol`\); the columns are doc_id, path"),
    (DocumentColumns("doc_id"), "not a pyspark.ml Vector"),
    (DocumentColumns(None, "terms", None), "go together"),
    (DocumentColumns(None, "path", "counts"), "not an array of whole numbers"),
    (DocumentColumns(None, "terms", "counts", "doc_id"), "not array<string>"),
    (DocumentColumns(None, "terms", "counts", "path", "name"), r"no column 'name' \(`idCol`\)"),
])
def test_wrong_columns_are_refused_before_any_pass(spark: SparkSession, columns: DocumentColumns, message: str) -> None:
    with pytest.raises(InputError, match=message):
        inspect_documents(frame_of(spark, random_documents(3, D)), columns)


def test_vectors_of_different_sizes_are_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(Vectors.sparse(4, {0: 3.0}),), (Vectors.dense([1.0, 2.0, 3.0]),)], ["features"])
    with pytest.raises(InputError, match=r"different sizes \(3 and 4\)"):
        inspect_documents(frame, DocumentColumns())


def test_no_documents(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="DataFrame is empty"):
        inspect_documents(frame_of(spark, []), ARRAYS, vocab_size=3)
    short = inspect_documents(frame_of(spark, [("a", [], [0], [1])]), ARRAYS, vocab_size=3)
    with pytest.raises(InputError, match="1 too short"), open_documents(short, PackSettings(3)):
        pass


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_word_ids_beyond_an_integer_are_unknown_words(spark: SparkSession, ansi: str) -> None:
    """2**32 must not wrap around to word 0."""
    rows = [("good", [], [0, 1], [2, 1]), ("wraps to 0", [], [2**32, 1], [2, 1]), ("wraps to -1", [], [2**33 - 1], [9]),
            ("far below", [], [-(2**40)], [9]), ("largest", [], [2**63 - 1, 0], [1, 2])]
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        frame = spark.createDataFrame(rows, "doc_id string, path array<string>, terms array<long>, counts array<long>")
        with open_documents(inspect_documents(frame, ARRAYS, vocab_size=5), PackSettings(5)) as result:
            pass
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert (result.documents, result.dropped["unknown_terms"]) == (1, 4)
