"""A pass gives the same bits whatever the partitioning, and large states take the same way through the executors."""

import hashlib

import numpy as np
import pytest
from corpora import CountingKernel, corpus_of, dense_counts, frame_of, random_documents
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.packing import shard_count, task_count
from spectral_spark.errors import InputError

D = 60
ROWS = random_documents(2000, D)
PROBE = np.random.default_rng(0).standard_normal((D, 5))


def digest(state: dict[str, np.ndarray]) -> str:
    return hashlib.sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest()


def summed(frame: DataFrame, **options: int) -> dict[str, np.ndarray]:
    with corpus_of(frame, D) as corpus:
        return corpus.sum(CountingKernel(), {"probe": PROBE}, name="count", **options)


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> dict[str, np.ndarray]:
    return summed(frame_of(spark, ROWS).coalesce(1))


def test_sums_are_right(plain: dict[str, np.ndarray]) -> None:
    counts = dense_counts(ROWS, D)
    assert plain["documents"][0] == len(ROWS)
    np.testing.assert_allclose(plain["product"], counts.T @ (counts @ PROBE), rtol=1e-11)


@pytest.mark.parametrize("partitions", [7, 64])
def test_same_bits_for_any_partitioning_and_order(
    spark: SparkSession, plain: dict[str, np.ndarray], partitions: int
) -> None:
    shuffled = frame_of(spark, ROWS).repartition(partitions).orderBy(F.rand(partitions))
    assert digest(summed(shuffled)) == digest(plain)


def test_same_bits_without_adaptive_execution(spark: SparkSession, plain: dict[str, np.ndarray]) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        assert digest(summed(frame_of(spark, ROWS).repartition(5))) == digest(plain)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_large_states_are_summed_by_row_blocks_to_the_same_bits(
    spark: SparkSession, plain: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    from spectral_spark.engine import executor_corpus, partial_states

    monkeypatch.setattr(executor_corpus, "DIRECT_BYTES", 0)
    monkeypatch.setattr(partial_states, "FETCH_BYTES", 1000)
    assert digest(summed(frame_of(spark, ROWS), state_bytes=2400)) == digest(plain)


def test_halves_and_rounds_partition_the_documents(spark: SparkSession, plain: dict[str, np.ndarray]) -> None:
    corpus = corpus_of(frame_of(spark, ROWS), D)
    first, second = corpus.sum_halves(CountingKernel(), {"probe": PROBE}, name="halves")
    assert (first["gram"] + second["gram"]).tobytes() == plain["gram"].tobytes()
    assert abs(first["documents"][0] - second["documents"][0]) < 300
    rounds = [
        corpus.sum(CountingKernel(), {"probe": PROBE}, name="round", round=r, rounds=2)["words"] for r in range(2)
    ]
    np.testing.assert_array_equal(rounds[0] + rounds[1], plain["words"])
    assert all(r.sum() > 0 for r in rounds)
    far = {"name": "round", "round": 998, "rounds": 999}
    assert corpus.sum(CountingKernel(), {"probe": PROBE}, may_be_empty=True, **far) == {}
    with pytest.raises(InputError, match="no documents"):
        corpus.sum(CountingKernel(), {"probe": PROBE}, **far)
    corpus.close()


def test_a_document_is_in_the_same_half_for_any_number_of_shards(spark: SparkSession) -> None:
    halves = []
    for shards in (8, 64):
        with corpus_of(frame_of(spark, random_documents(200, D)), D, shards=shards) as corpus:
            halves.append(corpus.sum_halves(CountingKernel(), {"probe": np.eye(D)}, name="count"))
    for few, many in zip(*halves, strict=True):
        np.testing.assert_array_equal(few["words"], many["words"])


def test_nothing_stays_cached(spark: SparkSession) -> None:
    before = len(spark.sparkContext._jsc.getPersistentRDDs())
    frame = frame_of(spark, ROWS)
    summed(frame)
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == before
    assert not frame.is_cached


def test_shards_follow_the_data_and_tasks_the_cores() -> None:
    assert [shard_count(n) for n in (1, 30_000, 100_000, 10**6, 10**12)] == [8, 8, 8, 64, 4096]
    assert shard_count(100_000, state_bytes=1 << 29) == 8
    assert [task_count(32, cores) for cores in (1, 2, 3, 5, 100)] == [4, 4, 8, 8, 32]
