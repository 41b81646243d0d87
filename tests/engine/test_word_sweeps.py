"""Sampling over all documents: the same draws on the driver and on executors, in any partitioning."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from corpora import corpus_of, frame_of, random_documents
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.engine import choose_corpus, executor_corpus, executor_sweeps
from spectral_spark.engine.choose_corpus import SETTING
from spectral_spark.engine.corpus import take_census
from spectral_spark.engine.executor_corpus import ExecutorCorpus
from spectral_spark.engine.executor_sweeps import ExecutorSweeps
from spectral_spark.engine.kept_rows import stage_rows
from spectral_spark.engine.whole_counts import PART_CELLS, add_counts, add_pieces, encode_counts
from spectral_spark.engine.word_sweeps import DriverSweeps
from spectral_spark.refine.gibbs import LONGEST
from spectral_spark.refine.word_topics import SweepKernel

D, K, SWEEPS = 60, 300, 3
SAME = [(f"same{i}", ["side0"], [1, 2, 7], [1, 2, 1]) for i in range(20)]
ROWS = random_documents(600, D) + SAME + [("long", ["side0"], [1, 2], [300_000, 7])]
Drawn = list[tuple[np.ndarray, np.ndarray]]


def swept(frame: DataFrame, lost_before: int | None = None) -> tuple[Drawn, tuple[np.ndarray, ...]]:
    """What some sweeps count, and how long documents are; before one of them, all topics may get lost."""
    rng = np.random.default_rng(0)
    with corpus_of(frame, D) as packed:
        nodes = len(take_census(packed, D).census.tree)
        shared = {
            "likelihood": rng.integers(1, 2**16, (D, K)).astype(np.uint16), "prior": rng.integers(1, 900, (nodes, K)),
            "weights": 1 + np.arange(nodes) % 3, "seed": np.array([7], np.uint64), "cold": np.array([True]),
        }
        found = []
        with closing(packed.word_sweeps()) as words:
            lengths = words.lengths()
            for number in range(SWEEPS):
                shared |= {"seed": np.array([7 + 10**9 * number], np.uint64), "cold": np.array([number == 0])}
                if number == lost_before:
                    words._kept.release()
                found.append(tuple(words.sweep(SweepKernel("numpy" if number == 1 else "numba"), shared).values()))
    return found, (lengths.nodes, lengths.lengths, lengths.documents)


@pytest.fixture(scope="module")
def here(spark: SparkSession) -> Iterator[tuple[Drawn, tuple[np.ndarray, ...]]]:
    spark.conf.set(SETTING, "1000000")
    yield swept(frame_of(spark, ROWS))
    spark.conf.unset(SETTING)


@pytest.mark.parametrize("partitions", [3, 7])
def test_executors_draw_what_the_driver_draws(
    spark: SparkSession, here: tuple[Drawn, tuple[np.ndarray, ...]], partitions: int, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if partitions == 7:
        monkeypatch.setattr(executor_sweeps, "DIRECT_BYTES", 0)         # executors add the counts first
    found, lengths = swept(frame_of(spark, ROWS).repartition(partitions), lost_before=2 if partitions == 7 else None)
    assert ("their sweeps are repeated" in caplog.text) == (partitions == 7)
    assert_same(found, lengths, here)


def test_in_a_local_session_the_driver_sweeps_a_copy_of_what_executors_hold(
    spark: SparkSession, here: tuple[Drawn, tuple[np.ndarray, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.conf.set(SETTING, "1")
    entries = sum(len(row[2]) for row in ROWS)
    kinds = []
    for most in (entries, entries - 1):
        monkeypatch.setattr(choose_corpus, "COPIED_ENTRIES", most)
        with corpus_of(frame_of(spark, ROWS), D) as packed, closing(packed.word_sweeps()) as words:
            kinds.append((type(packed), type(words)))
    assert kinds == [(ExecutorCorpus, DriverSweeps), (ExecutorCorpus, ExecutorSweeps)]
    monkeypatch.undo()
    assert_same(*swept(frame_of(spark, ROWS).repartition(5)), here)
    monkeypatch.setattr(choose_corpus, "available_memory", lambda: 100_000)
    with corpus_of(frame_of(spark, ROWS), D) as packed, closing(packed.word_sweeps()) as words:
        assert isinstance(words, ExecutorSweeps)            # a driver without room leaves them to the workers


@pytest.mark.parametrize("staged", [True, False])
def test_a_spark_that_keeps_no_rows_draws_the_same(
    spark: SparkSession, here: tuple[Drawn, tuple[np.ndarray, ...]], staged: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:
    """Rows are staged in files, or computed again by every sweep, as on servers that refuse caches."""
    for module, name in ((executor_corpus, "keep_rows"), (executor_sweeps, "keep_without_plan")):
        monkeypatch.setattr(module, name, lambda frame, level, what: stage_rows(frame, what))
    monkeypatch.setenv("SPECTRAL_STAGING", str(tmp_path) if staged else "")
    assert_same(*swept(frame_of(spark, ROWS).repartition(3)), here)
    assert ("computes the topics of words again" in caplog.text) != staged
    copies = [file for file in tmp_path.rglob("*.parquet") if file.stat().st_size > 1000]
    assert not copies                                       # deleted after use


def assert_same(found: Drawn, lengths: tuple[np.ndarray, ...], here: tuple[Drawn, tuple[np.ndarray, ...]]) -> None:
    for (counts, tables), (expected, expected_tables) in zip(found, here[0], strict=True):
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(tables, expected_tables)
    for mine, theirs in zip(lengths, here[1], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_all_words_are_drawn_those_of_very_long_documents_in_pieces(here: tuple[Drawn, tuple[np.ndarray, ...]]) -> None:
    drawn, (_, lengths, documents) = here
    words = sum(sum(counts) for *_, counts in ROWS)
    assert lengths.max() <= LONGEST
    assert documents.sum() == len(ROWS) - 1 + -(-300_007 // LONGEST)
    assert int(lengths @ documents) == words
    for counts, _ in drawn:
        assert words <= counts.sum() <= 3 * words
    assert (drawn[0][0] != drawn[1][0]).any()


def test_counts_travel_as_they_are() -> None:
    rng = np.random.default_rng(1)
    many = np.where(rng.random((3, PART_CELLS // 2 + 9)) < 0.01, rng.integers(1, 2**40, (3, PART_CELLS // 2 + 9)), 0)
    arrays = {"many": many, "few": np.array([[0, 0, 64], [0, 128, 0]]), "none": np.zeros((2, 2), np.int64)}
    sums = {name: np.zeros(array.shape, np.int64) for name, array in arrays.items()}
    rows = _batches(encode_counts(arrays))
    add_counts(_batches(add_pieces([*rows, *rows])), sums)
    add_counts(rows, sums)
    for name, array in arrays.items():
        np.testing.assert_array_equal(sums[name], 3 * array)
    assert sum(batch.nbytes for batch in _batches(encode_counts({"few": arrays["few"]}))) < 60


def _batches(pieces: Iterator[dict[str, object]]) -> list:
    import pyarrow as pa

    from spectral_spark.engine.whole_counts import ARROW_FIELDS

    return [pa.RecordBatch.from_pylist([piece], schema=pa.schema(ARROW_FIELDS)) for piece in pieces]
