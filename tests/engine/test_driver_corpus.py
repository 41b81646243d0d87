"""Small corpora stay on the driver: the rows, counts and sums of the executors, to the bit."""

import numpy as np
import pytest
from corpora import ARRAYS, CountingKernel, frame_of, random_documents
from pyspark.sql import SparkSession

from spectral_spark.engine import driver_corpus
from spectral_spark.engine.counted_corpus import take_census
from spectral_spark.engine.documents import inspect_documents
from spectral_spark.engine.driver_corpus import SETTING, fits_driver
from spectral_spark.engine.fetch import fetch_batches
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.packed import PackedCorpus
from spectral_spark.engine.passes import run_halves, run_pass
from spectral_spark.errors import InputError, NoDocumentsError, SettingsError

D = 60
LONG = [("long", ["side0"], [1, 2], [300_000, 7])]          # its cubed length is no whole number of a double
SHORT = [("short", ["side1"], [3], [2]), ("odd", ["side1"], [3, 4], [1, -2]), ("far", ["side1"], [D], [5])]
ROWS = random_documents(1500, D) + LONG + SHORT
PROBE = {"probe": np.random.default_rng(0).standard_normal((D, 5))}


def packed(spark: SparkSession, entries: int, rows: list = ROWS, shards: int | None = None) -> PackedCorpus:
    spark.conf.set(SETTING, str(entries))
    return pack_counts(inspect_documents(frame_of(spark, rows), ARRAYS, vocab_size=D), PackSettings(D), shards=shards)


def assert_same_bits(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.tobytes() == other[name].tobytes(), name


def test_the_census_is_that_of_the_executors(spark: SparkSession) -> None:
    here, there = (take_census(packed(spark, entries)) for entries in (10**6, 0))
    assert here.packed.nearby is not None
    assert there.packed.nearby is None
    assert here.census.tree.paths == there.census.tree.paths
    assert (here.tokens, here.dropped) == (there.tokens, there.dropped)
    assert here.dropped == {"null_path": 0, "bad_counts": 1, "unknown_terms": 1, "too_short": 1}
    for name in ("documents", "tokens", "tokens_squared", "tokens_cubed"):
        np.testing.assert_array_equal(getattr(here.census, name), getattr(there.census, name))
    for mine, theirs in zip(*(fetch_batches(c.packed, name="all") for c in (here, there)), strict=True):
        for part in ("indptr", "terms", "counts", "nodes", "keys"):
            np.testing.assert_array_equal(getattr(mine, part), getattr(theirs, part))
    there.packed.release()


@pytest.mark.parametrize("shards", [8, 32])
@pytest.mark.parametrize("threads", [1, 5])
def test_sums_halves_and_rounds_have_the_bits_of_the_executors(
    spark: SparkSession, shards: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spectral_spark.engine.pack_counts.driver_threads", lambda _: threads)
    here, there = (packed(spark, entries, shards=shards) for entries in (10**6, 0))
    one, other = (run_pass(corpus, CountingKernel(), PROBE, name="sum") for corpus in (here, there))
    assert_same_bits(one, other)
    for one, other in zip(*(run_halves(corpus, CountingKernel(), PROBE, name="half") for corpus in (here, there)),
                          strict=True):
        assert_same_bits(one, other)
    for number in range(3):
        one, other = (
            run_pass(corpus, CountingKernel(), PROBE, name="round", round=number, rounds=3, may_be_empty=True)
            for corpus in (here, there)
        )
        assert_same_bits(one, other)
    there.release()


def test_documents_are_fetched_once_and_let_go(spark: SparkSession) -> None:
    corpus = packed(spark, 10**6)
    assert corpus.nearby is not None
    first = corpus.nearby.table
    run_pass(corpus, CountingKernel(), PROBE, name="sum")
    assert corpus.nearby.table is first
    corpus.release()
    assert corpus.nearby.table is not first


def test_size_decides_and_can_be_set(spark: SparkSession) -> None:
    entries = sum(len(row[2]) for row in ROWS)
    assert packed(spark, entries).nearby is not None
    assert packed(spark, entries - 1).nearby is None
    assert not fits_driver(spark, 1, driver_corpus.DRIVER_WORDS + 1)
    spark.conf.unset(SETTING)
    assert fits_driver(spark, driver_corpus.DRIVER_ENTRIES, 1000)
    spark.conf.set(SETTING, "many")
    with pytest.raises(SettingsError, match=r"driverEntries is 'many'; give a whole number"):
        fits_driver(spark, 1, 1)


def test_nothing_left_is_said_as_on_executors(spark: SparkSession) -> None:
    with pytest.raises(NoDocumentsError, match="1 bad counts, 1 unknown terms, 1 too short"):
        take_census(packed(spark, 10**6, SHORT))
    with pytest.raises(InputError, match="no documents"):
        run_pass(packed(spark, 10**6, SHORT), CountingKernel(), PROBE, name="sum")


class FailingKernel(CountingKernel):
    def start(self, shared: dict[str, np.ndarray]) -> "FailingKernel":
        return self

    def add(self, batch: object) -> None:
        raise InputError("this document is wrong")


def test_an_error_in_a_kernel_comes_out_as_it_is(spark: SparkSession) -> None:
    with pytest.raises(InputError, match="this document is wrong"):
        run_pass(packed(spark, 10**6), FailingKernel(), PROBE, name="sum")
