"""Three days of updates are one fit of the union in the same basis; nothing counts twice; topics keep their places."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.errors import InputError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ml.matching import describe_match, match_topics
from spectral_spark.ml.streaming import newest_model, stored_batches, update_from_stream

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}


@pytest.fixture(scope="module")
def days(documents: DataFrame) -> list[DataFrame]:
    """Monday without the group b/y, which appears on Tuesday: the tree grows."""
    number = F.substring("doc_id", 2, 9).cast("int")
    late = F.col("path") == F.array(F.lit("b"), F.lit("y"))
    monday = documents.filter(~late & (number % 3 == 0))
    tuesday = documents.filter((late & (number % 2 == 0)) | (~late & (number % 3 == 1)))
    wednesday = documents.filter((late & (number % 2 == 1)) | (~late & (number % 3 == 2)))
    return [monday, tuesday, wednesday]


def estimator(**values: object) -> SpectralHDP:
    return SpectralHDP(**{"k": 5, "refinePasses": 0, "concentrations": [0.5], **ARRAYS, **values})


@pytest.fixture(scope="module")
def spectral_days(days: list[DataFrame]) -> list[SpectralHDPModel]:
    models = [estimator().fit(days[0])]
    models.append(models[-1].update(days[1]))
    models.append(models[-1].update(days[2]))
    return models


def test_three_days_equal_one_fit_of_the_union_in_the_same_basis(
    spectral_days: list[SpectralHDPModel], documents: DataFrame
) -> None:
    whole = estimator().setBasis(spectral_days[0].basis).fit(documents)
    updated = spectral_days[-1]
    assert updated.moments.difference(whole.moments) < 1e-12
    assert updated.summary.documents == whole.summary.documents
    assert updated.summary.tokens == whole.summary.tokens
    assert recovery(updated.topicsMatrix(), whole.topicsMatrix()).errors.max() < 1e-9
    assert updated.nodes.paths == whole.nodes.paths
    np.testing.assert_array_equal(updated.nodes.documents, whole.nodes.documents)
    np.testing.assert_allclose(updated.nodes.effective_sample_size, whole.nodes.effective_sample_size, rtol=1e-12)


@pytest.mark.parametrize("weighting", ["ess", "uniform"])
def test_other_weightings_follow_the_grown_tree(days: list[DataFrame], documents: DataFrame, weighting: str) -> None:
    monday = estimator(weighting=weighting).fit(days[0])
    updated = monday.update(days[1].union(days[2]))
    whole = estimator(weighting=weighting).setBasis(monday.basis).fit(documents)
    one, other = updated.moments.root(), whole.moments.root()
    for name in ("first", "second", "third"):
        scale = np.abs(getattr(other, name)).max()
        assert np.abs(getattr(one, name) - getattr(other, name)).max() < 1e-12 * scale
    assert recovery(updated.topicsMatrix(), whole.topicsMatrix()).errors.max() < 1e-8


def test_topics_keep_their_places(spectral_days: list[SpectralHDPModel]) -> None:
    for before, after in pairwise(spectral_days):
        shared = 1 - np.abs(before.topicsMatrix() - after.topicsMatrix()).sum(axis=0) / 2
        assert shared.min() > 0.6
        changes = after.changes
        assert changes is not None
        assert [topic["previous"] for topic in changes["topics"]] == list(range(5))
        assert (changes["new"], changes["vanished"]) == ([], [])
        assert changes["documents_after"] > changes["documents_before"]


def test_the_same_documents_twice_are_refused_or_skipped(
    spectral_days: list[SpectralHDPModel], days: list[DataFrame]
) -> None:
    last = spectral_days[-1]
    with pytest.raises(InputError, match="are in this model already"):
        last.update(days[1].repartition(3))
    same = last.update(days[1], skipKnown=True)
    assert same.moments == last.moments
    assert same.topicsMatrix().tobytes() == last.topicsMatrix().tobytes()


def test_removal_takes_documents_out_exactly(spectral_days: list[SpectralHDPModel], days: list[DataFrame]) -> None:
    without = spectral_days[2].update(days[2], remove=True)
    assert without.moments.difference(spectral_days[1].moments) < 1e-12
    assert without.summary.documents == spectral_days[1].summary.documents
    assert recovery(without.topicsMatrix(), spectral_days[1].topicsMatrix()).errors.max() < 1e-8
    with pytest.raises(InputError, match="documents to remove"):
        spectral_days[0].update(days[1], remove=True)


def test_two_sites_merge(spectral_days: list[SpectralHDPModel], days: list[DataFrame]) -> None:
    basis = spectral_days[0].basis
    site = estimator().setBasis(basis).fit(days[1])
    merged = spectral_days[0].merge(site)
    assert merged.moments.difference(spectral_days[1].moments) < 1e-12
    other = estimator(seed=5).fit(days[1])
    with pytest.raises(InputError, match="different bases"):
        spectral_days[0].merge(other)
    with pytest.raises(InputError, match="both states"):
        merged.merge(site)


def test_refined_topics_move_with_new_documents_and_back(days: list[DataFrame], documents: DataFrame) -> None:
    monday = estimator(refinePasses=1).fit(days[0])
    tuesday = monday.update(days[1])
    assert tuesday.logPerplexity(documents) <= monday.logPerplexity(documents) + 0.002
    assert tuesday.nodes.paths != monday.nodes.paths
    np.testing.assert_allclose(tuesday.nodes.proportions.sum(axis=1), 1)
    back = tuesday.update(days[1], remove=True)
    assert back.moments.difference(monday.moments) < 1e-12
    assert recovery(back.topicsMatrix(), monday.topicsMatrix()).error < 0.15       # moments exactly, topics nearly
    replayed = monday.update(days[1], replay=days[0])
    assert replayed.logPerplexity(documents) <= tuesday.logPerplexity(documents) + 0.01


def test_drift_is_measured_and_said(
    spark: SparkSession, spectral_days: list[SpectralHDPModel], documents: DataFrame
) -> None:
    calm = spectral_days[1].changes
    assert calm is not None
    assert not calm["drift"]["drifted"]
    reversed_words = documents.limit(1500).withColumn("terms", F.transform("terms", lambda term: F.lit(299) - term))
    strange = reversed_words.withColumn("doc_id", F.concat(F.lit("x"), "doc_id"))
    changed = spectral_days[0].update(strange, unseenShare=0.4).changes
    assert changed is not None
    drift = changed["drift"]
    assert drift["drifted"]
    assert drift["energy_outside"] > calm["drift"]["energy_outside"] + 0.15
    assert len(drift["warnings"]) == 3


def test_a_stream_counts_every_batch_once(spark: SparkSession, days: list[DataFrame], tmp_path: Path) -> None:
    for number, day in enumerate(days):
        day.coalesce(1).write.mode("append").parquet(str(tmp_path / "in" / f"part{number}"))
    stream = (
        spark.readStream.schema(days[0].schema).option("maxFilesPerTrigger", 1)
        .option("recursiveFileLookup", "true").parquet(str(tmp_path / "in"))
    )
    store = str(tmp_path / "store")
    absorb = update_from_stream(store, estimator(), keep=2)
    query = stream.writeStream.foreachBatch(absorb).option("checkpointLocation", str(tmp_path / "c"))
    query.trigger(availableNow=True).start().awaitTermination()
    assert stored_batches(store) == [1, 2]
    model = newest_model(store)
    assert model.summary.documents == sum(day.count() for day in days)
    absorb(days[2], 2)
    assert newest_model(store).moments == model.moments


def test_matching_names_new_and_vanished_topics() -> None:
    old = np.eye(4)[:, :3] * 0.9 + 0.025
    new = np.stack([np.eye(4)[1], np.eye(4)[3], np.eye(4)[0]], axis=1) * 0.9 + 0.025
    match = match_topics(new, old)
    assert match.order.tolist() == [2, 0, 1]
    assert match.previous.tolist() == [0, 1, -1]
    assert match.vanished == (2,)
    report = describe_match(match, np.full(3, 1 / 3), np.array([0.5, 0.3, 0.2]))
    assert (report["new"], report["vanished"]) == ([2], [2])
