"""Small corpora stay on the driver: the rows, counts and sums of the executors, to the bit."""

import numpy as np
import pytest
from corpora import CountingKernel, corpus_of, frame_of, random_documents
from pyspark.sql import SparkSession

from spectral_spark.engine import choose_corpus, pack_counts
from spectral_spark.engine.choose_corpus import DRIVER_ENTRIES, DRIVER_WORDS, SETTING, driver_entries, driver_holds
from spectral_spark.engine.corpus import Corpus, take_census
from spectral_spark.engine.driver_corpus import DriverCorpus
from spectral_spark.engine.executor_corpus import ExecutorCorpus
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError, NoDocumentsError, SettingsError

D = 60
LONG = [("long", ["side0"], [1, 2], [300_000, 7])]          # its cubed length is no whole number of a double
SHORT = [("short", ["side1"], [3], [2]), ("odd", ["side1"], [3, 4], [1, -2]), ("far", ["side1"], [D], [5])]
ROWS = random_documents(1500, D) + LONG + SHORT
PROBE = {"probe": np.random.default_rng(0).standard_normal((D, 5))}


def packed(
    spark: SparkSession, entries: int, rows: list = ROWS, shards: int | None = None, progress: Progress | None = None
) -> Corpus:
    spark.conf.set(SETTING, str(entries))
    return corpus_of(frame_of(spark, rows), D, shards=shards, progress=progress)


def assert_same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.tobytes() == other[name].tobytes(), name


def test_the_census_is_that_of_the_executors(spark: SparkSession) -> None:
    here, there = (take_census(packed(spark, entries), D) for entries in (10**6, 0))
    assert isinstance(here.packed, DriverCorpus)
    assert isinstance(there.packed, ExecutorCorpus)
    assert here.census.tree.paths == there.census.tree.paths
    assert (here.tokens, here.dropped) == (there.tokens, there.dropped)
    assert here.dropped == {"null_path": 0, "bad_counts": 1, "unknown_terms": 1, "too_short": 1}
    for name in ("documents", "tokens", "tokens_squared", "tokens_cubed"):
        np.testing.assert_array_equal(getattr(here.census, name), getattr(there.census, name))
    for mine, theirs in zip(here.packed.sample(), there.packed.sample(), strict=True):
        for part in ("indptr", "terms", "counts", "nodes", "keys"):
            np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))
    there.packed.close()


@pytest.mark.parametrize("shards", [8, 32])
@pytest.mark.parametrize("threads", [1, 5])
def test_sums_halves_and_rounds_have_the_bits_of_the_executors(
    spark: SparkSession, shards: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spectral_spark.engine.choose_corpus.driver_threads", lambda _: threads)
    here, there = (packed(spark, entries, shards=shards) for entries in (10**6, 0))
    one, other = (corpus.sum(CountingKernel(), PROBE, name="sum") for corpus in (here, there))
    assert_same_bits(one, other)
    halves = (corpus.sum_halves(CountingKernel(), PROBE, name="half") for corpus in (here, there))
    for one, other in zip(*halves, strict=True):
        assert_same_bits(one, other)
    for number in range(3):
        one, other = (
            corpus.sum(CountingKernel(), PROBE, name="round", round=number, rounds=3, may_be_empty=True)
            for corpus in (here, there)
        )
        assert_same_bits(one, other)
    there.close()


@pytest.mark.parametrize("threads", [1, 5])
def test_the_drivers_copy_in_a_local_session_gives_the_samples_and_sums_of_executors(
    spark: SparkSession, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spectral_spark.engine.choose_corpus.driver_threads", lambda _: threads)
    copied, there = (packed(spark, entries, shards=8) for entries in (6000, 0))
    assert isinstance(copied, ExecutorCorpus)
    counted = [take_census(corpus, D) for corpus in (copied, there)]
    assert counted[0].census.tree.paths == counted[1].census.tree.paths
    for rounds in (1, 3):
        for mine, theirs in zip(copied.sample(rounds), there.sample(rounds), strict=True):
            for part in ("indptr", "terms", "counts", "nodes", "keys"):
                np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))
    for mine, theirs in zip(*(map(sorted_pairs, (copied.identities(), there.identities()))), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for number in range(3):
        halves = (corpus.sum(CountingKernel(), PROBE, name="round", round=number, rounds=3, may_be_empty=True)
                  for corpus in (copied, there))
        assert_same_bits(*halves)
    whole = (corpus.sum_halves(CountingKernel(), PROBE, name="half", rounds=2) for corpus in (copied, there))
    for one, other in zip(*whole, strict=True):
        assert_same_bits(one, other)
    copied.close()
    there.close()


def test_a_local_session_of_few_cores_holds_more_on_the_driver(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, entries = packed(spark, 0), sum(len(row[2]) for row in ROWS)
    expected = there.sum(CountingKernel(), PROBE, name="sum")
    there.close()
    monkeypatch.setattr(choose_corpus, "DRIVER_ENTRIES", 10)
    for most, cores, kind in (
        (entries, 2, DriverCorpus), (entries - 1, 2, ExecutorCorpus), (entries, 1, ExecutorCorpus),
    ):
        monkeypatch.setattr(choose_corpus, "LOCAL_ENTRIES", most)
        monkeypatch.setattr(choose_corpus, "FEW_CORES", cores)
        with packed(spark, 10) as corpus:
            assert type(corpus) is kind
            if kind is DriverCorpus:
                assert_same_bits(corpus.sum(CountingKernel(), PROBE, name="sum"), expected)
                assert_same_bits(corpus.sum(CountingKernel(), PROBE, name="sum"), expected)     # decoded again
    assert choose_corpus.local_entries(9, 2) == 9           # a lower limit is one that somebody wants


def test_blocks_are_packed_to_the_same_rows_one_by_one_and_many_at_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = packed(spark, 10**6)
    assert isinstance(together, DriverCorpus)
    assert max(len(chunk) for chunk in together.table["shard"].chunks) > 1
    monkeypatch.setattr(pack_counts, "ENTRIES_TOGETHER", 1)
    apart = packed(spark, 10**6)
    assert isinstance(apart, DriverCorpus)
    assert all(len(chunk) == 1 for chunk in apart.table["shard"].chunks)
    assert apart.table.equals(together.table)


def sorted_pairs(identities: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort(identities)
    return identities[0][order], identities[1][order]


def test_documents_are_fetched_once_and_let_go(spark: SparkSession) -> None:
    corpus = packed(spark, 10**6)
    assert isinstance(corpus, DriverCorpus)
    with corpus:
        first = corpus.table
        corpus.sum(CountingKernel(), PROBE, name="sum")
        assert corpus.table is first
    assert corpus.table is not first


def test_size_decides_and_can_be_set(spark: SparkSession) -> None:
    entries = sum(len(row[2]) for row in ROWS)
    assert isinstance(packed(spark, entries), DriverCorpus)
    assert isinstance(packed(spark, entries - 1), ExecutorCorpus)
    assert not driver_holds(DRIVER_ENTRIES, 1, DRIVER_WORDS + 1)
    assert not driver_holds(0, 0, 1)
    spark.conf.unset(SETTING)
    assert driver_entries(spark) == DRIVER_ENTRIES
    spark.conf.set(SETTING, "many")
    with pytest.raises(SettingsError, match=r"driverEntries is 'many'; give a whole number"):
        driver_entries(spark)


class Recorder(Progress):
    def __init__(self) -> None:
        self.shares: list[float] = []

    def advance(self, share: float) -> None:
        self.shares.append(share)


def test_a_pass_on_the_driver_reports_how_far_it_is(spark: SparkSession) -> None:
    recorder = Recorder()
    packed(spark, 10**6, progress=recorder).sum(CountingKernel(), PROBE, name="sum")
    assert len(recorder.shares) >= 8
    assert recorder.shares == sorted(recorder.shares)
    assert 0 < recorder.shares[0] < 0.2
    assert recorder.shares[-1] == 1.0


def test_nothing_left_is_said_as_on_executors(spark: SparkSession) -> None:
    with pytest.raises(NoDocumentsError, match="1 bad counts, 1 unknown terms, 1 too short"):
        take_census(packed(spark, 10**6, SHORT), D)
    with pytest.raises(InputError, match="no documents"):
        packed(spark, 10**6, SHORT).sum(CountingKernel(), PROBE, name="sum")


class FailingKernel(CountingKernel):
    def start(self, shared: dict[str, np.ndarray]) -> "FailingKernel":
        return self

    def add(self, batch: object) -> None:
        raise InputError("this document is wrong")


def test_an_error_in_a_kernel_comes_out_as_it_is(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="this document is wrong"):
        packed(spark, 10**6).sum(FailingKernel(), PROBE, name="sum")
