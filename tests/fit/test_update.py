"""Three days of updates are one fit of the union in the same basis; nothing counts twice; topics keep their places."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from threadpoolctl import threadpool_info, threadpool_limits

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.engine.corpus import Corpus
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit import moment_step
from spectral_spark.fit.topic_matching import describe_match, match_topics
from spectral_spark.ml.streaming import newest_model, stored_models, update_from_stream

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
    models = [estimator().fit(days[0]).setCorpus("monday", {"empty": 3})]
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
    rest, late = days[1].union(days[2]), F.col("path") == F.array(F.lit("b"), F.lit("y"))
    updated = monday.update(rest.filter(~late)).update(rest.filter(late))       # the second day is all in one node
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


def test_documents_are_known_one_by_one(spectral_days: list[SpectralHDPModel], days: list[DataFrame]) -> None:
    monday, known = spectral_days[0], days[0].limit(100).cache()
    overlap = days[1].unionByName(known)
    with pytest.raises(InputError, match=r"of [\d,]+ documents 100 are in this model already, so nothing was added"):
        monday.update(overlap)
    tuesday = monday.update(overlap, skipKnown=True)
    assert tuesday.moments.difference(spectral_days[1].moments) < 1e-12
    assert tuesday.changes is not None
    assert tuesday.changes["documents"] == {
        "given": overlap.count(), "taken": days[1].count(), "known": 100, "changed": 0, "absent": 0,
    }
    other_words = known.withColumn("terms", F.transform("terms", lambda term: (term + 1) % 300))
    with pytest.raises(InputError, match="100 have the id of a document of this model but other words"):
        monday.update(other_words)
    with pytest.raises(InputError, match="100 have the id of a document"):
        monday.update(other_words, remove=True)
    reversed_words = known.withColumns({"terms": F.reverse("terms"), "counts": F.reverse("counts")})
    with pytest.raises(InputError, match="100 are in this model already"):      # the order of words is no difference
        monday.update(reversed_words)


def test_only_documents_that_are_there_are_removed(
    spectral_days: list[SpectralHDPModel], days: list[DataFrame]
) -> None:
    last = spectral_days[-1]
    half = days[2].filter(F.substring("doc_id", 2, 9).cast("int") % 4 == 0)
    rest = days[2].join(half.select("doc_id"), "doc_id", "left_anti").select(*days[2].columns)
    without = last.update(half, remove=True)
    assert without.summary.documents == last.summary.documents - half.count()
    with pytest.raises(InputError, match="are not in this model"):
        without.update(days[2], remove=True)
    skipped = without.update(days[2], remove=True, skipKnown=True)
    assert skipped.moments.difference(spectral_days[1].moments) < 1e-12
    assert skipped.changes is not None
    assert (skipped.changes["documents"]["taken"], skipped.changes["documents"]["absent"]) == (
        rest.count(), half.count())
    back = skipped.update(days[2])
    assert back.moments.difference(last.moments) < 1e-12


def test_what_is_known_is_saved_and_the_sample_can_be_left_out(
    days: list[DataFrame], documents: DataFrame, tmp_path: Path
) -> None:
    monday = estimator(refinePasses=1).fit(days[0])
    monday.save(str(tmp_path / "monday"))
    loaded = SpectralHDPModel.load(str(tmp_path / "monday"))
    assert loaded._fitted.known == monday._fitted.known
    one, other = monday.update(days[1]), loaded.update(days[1])
    assert one.topicsMatrix().tobytes() == other.topicsMatrix().tobytes()
    assert one.changes is not None
    assert one.changes["replay"]["documents"] == one.summary.documents
    assert one.changes["replay"]["rate"] == 1.0
    assert one.logPerplexity(documents) <= estimator(refinePasses=1).fit(days[0].unionByName(days[1])).logPerplexity(
        documents) + 0.01
    private = estimator(refinePasses=1, replayWords=0).fit(days[0])
    private.save(str(tmp_path / "private"))
    assert not (tmp_path / "private" / "sample").exists()
    assert (tmp_path / "monday" / "sample" / "terms.npy").exists()
    with pytest.raises(InputError, match="are in this model already"):
        SpectralHDPModel.load(str(tmp_path / "private")).update(days[0])


def test_a_small_sample_moves_the_topics_of_all_documents(days: list[DataFrame], documents: DataFrame) -> None:
    monday = estimator(refinePasses=1, replayWords=20_000).fit(days[0])
    sample = monday._fitted.sample
    assert sample is not None
    assert sample.words <= 20_000
    tuesday = monday.update(days[1])
    assert tuesday.changes is not None
    assert 0 < tuesday.changes["replay"]["rate"] < 1
    assert tuesday.changes["replay"]["words"] <= 20_000
    np.testing.assert_allclose(tuesday.topicsMatrix().sum(axis=0), 1)
    assert tuesday.topicsMatrix().min() > 0
    assert tuesday.logPerplexity(documents) <= monday.logPerplexity(documents) + 0.01
    back = tuesday.update(days[1], remove=True)
    assert back._fitted.known == monday._fitted.known


def test_a_merge_has_as_many_topics_as_were_asked_for(days: list[DataFrame]) -> None:
    monday = estimator(refinePasses=1).fit(days[0])
    late = days[1].filter(F.col("path")[0] == "b")
    site = estimator(refinePasses=1, k=4).setBasis(monday.basis).fit(late)
    merged = monday.merge(site)
    assert merged.k == 5
    assert merged.summary.documents == monday.summary.documents + site.summary.documents
    with pytest.raises(InputError, match="documents are in both models"):
        merged.merge(site)


def test_removal_takes_documents_out_exactly(spectral_days: list[SpectralHDPModel], days: list[DataFrame]) -> None:
    without = spectral_days[2].update(days[2], remove=True)
    assert without.moments.difference(spectral_days[1].moments) < 1e-12
    assert without.summary.documents == spectral_days[1].summary.documents
    assert without.summary.dropped == spectral_days[1].summary.dropped
    assert recovery(without.topicsMatrix(), spectral_days[1].topicsMatrix()).errors.max() < 1e-8
    with pytest.raises(InputError, match=r"documents [\d,]+ are not in this model, so nothing was removed"):
        spectral_days[0].update(days[1], remove=True)
    with pytest.raises(InputError, match="are not in this model"):
        without.update(days[2], remove=True)
    assert without.update(days[2], remove=True, skipKnown=True).moments == without.moments


def test_two_sites_merge(spectral_days: list[SpectralHDPModel], days: list[DataFrame]) -> None:
    basis = spectral_days[0].basis
    site = estimator().setBasis(basis).fit(days[1]).setCorpus("site", {"empty": 1, "too long": 2})
    merged = spectral_days[0].merge(site)
    assert spectral_days[2].summary.extra["corpus"] == {"name": "monday", "dropped": {"empty": 3}}
    assert merged.summary.extra["corpus"] == {"name": "monday", "dropped": {"empty": 4, "too long": 2}}
    assert merged.moments.difference(spectral_days[1].moments) < 1e-12
    other = estimator(seed=5).fit(days[1])
    with pytest.raises(InputError, match="different bases"):
        spectral_days[0].merge(other)
    with pytest.raises(InputError, match="documents are in both models"):
        merged.merge(site)


def test_refined_topics_move_with_new_documents_and_back(days: list[DataFrame], documents: DataFrame) -> None:
    monday = estimator(refinePasses=1, replayWords=0).fit(days[0])
    tuesday = monday.update(days[1])
    assert tuesday.logPerplexity(documents) <= monday.logPerplexity(documents) + 0.002
    assert tuesday.nodes.paths != monday.nodes.paths
    np.testing.assert_allclose(tuesday.nodes.proportions.sum(axis=1), 1)
    back = tuesday.update(days[1], remove=True)
    assert back.moments.difference(monday.moments) < 1e-12
    assert recovery(back.topicsMatrix(), monday.topicsMatrix()).error < 0.15       # moments exactly, topics nearly
    replayed = monday.update(days[1], replay=days[0])
    assert replayed.logPerplexity(documents) <= tuesday.logPerplexity(documents) + 0.01
    late = days[1].filter(F.col("path") == F.array(F.lit("b"), F.lit("y")))
    alone, sampled = monday.update(late), monday.update(late, replay=days[0].filter(F.col("path")[0] == "a").limit(200))
    assert sampled.nodes.paths == alone.nodes.paths
    not_seen = alone.nodes.paths.index(("b", "x"))
    np.testing.assert_allclose(sampled.nodes.proportions[not_seen], alone.nodes.proportions[not_seen], rtol=1e-9)
    assert np.abs(sampled.nodes.proportions[0] - alone.nodes.proportions[0]).max() > 1e-6
    np.testing.assert_allclose(sampled.nodes.proportions.sum(axis=1), 1)


class ThreadWatch(Progress):
    """Counts the driver's threads of linear algebra while a fit or update runs."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def plan(self, passes: int, documents: int) -> None:
        self.threads |= {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_a_killed_update_resumes_to_the_same_bits(
    days: list[DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday = estimator(refinePasses=1).fit(days[0].limit(300))
    watch, tuesday, steps = ThreadWatch(), days[1].limit(200).cache(), tmp_path / "steps"
    with threadpool_limits(2):
        clean = monday.setProgress(watch).update(tuesday)
    assert watch.threads == {1}
    with monkeypatch.context() as patch:
        real = Corpus.sum

        def killed(*given: object, name: str, **options: object) -> object:
            if name == "fold in":
                raise KeyboardInterrupt
            return real(*given, name=name, **options)

        patch.setattr(Corpus, "sum", killed)
        with pytest.raises(KeyboardInterrupt):
            monday.update(tuesday, checkpointDir=str(steps))
        other = monday._with(replace(monday._fitted, topics=monday.topicsMatrix()[:, ::-1]))
        for model, changed in ((other, {}), (monday, {"replay": tuesday})):
            with pytest.raises(KeyboardInterrupt):
                model.update(tuesday, checkpointDir=str(steps), **changed)
    assert [len(list(run.iterdir())) for run in steps.iterdir()] == [2, 2, 2]
    resumed = monday.update(tuesday, checkpointDir=str(steps))
    names = [step["name"] for step in resumed.summary.passes]
    assert names == ["census", "fold in", "sampling", "refine 1", "settle 1"]
    assert resumed.topicsMatrix().tobytes() == clean.topicsMatrix().tobytes()
    assert resumed.nodes.proportions.tobytes() == clean.nodes.proportions.tobytes()
    assert resumed.moments == clean.moments
    assert len(list(steps.iterdir())) == 2


def test_what_cannot_be_updated_or_kept_per_group_is_said_at_the_fit(
    days: list[DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"k": 2, "basisSize": 10}
    monday, tuesday = (day.filter(F.substring("doc_id", 2, 9).cast("int") % 20 < 2).cache() for day in days[:2])
    groups = estimator(tensors="groups", **small).fit(monday)
    assert "warnings" not in groups.summary.extra
    assert "distinct documents" in groups.update(tuesday).summary.extra["warnings"][0]
    roomy = estimator(weighting="uniform", **small).fit(monday)
    monkeypatch.setattr(moment_step, "NODE_STATES_LIMIT", 0)
    with pytest.raises(InputError, match="fewer groups at a time"):
        roomy.update(tuesday)
    fixed = estimator(weighting="uniform", **small).fit(monday)
    assert "not updated or merged" in fixed.summary.extra["warnings"][0]
    with pytest.raises(InputError, match="nothing can be added"):
        fixed.update(tuesday)
    monkeypatch.setattr(moment_step, "GROUP_LIMIT", 1)
    monkeypatch.setattr(Corpus, "sum", None)
    monkeypatch.setattr(Corpus, "sum_halves", None)
    with pytest.raises(SettingsError, match="more than the 1 whose"):
        estimator(tensors="groups", **small).fit(monday)


def test_a_basis_of_other_words_or_too_small_is_refused_before_any_pass(
    spectral_days: list[SpectralHDPModel], days: list[DataFrame]
) -> None:
    words = [f"w{number}" for number in range(300)]
    basis = replace(spectral_days[0].basis, vocabulary_fingerprint=vocabulary_fingerprint(tuple(words)))
    with pytest.raises(InputError, match="words of the basis are not those"):
        estimator(vocabulary=words[::-1]).setBasis(basis).fit(days[1])
    with pytest.raises(InputError, match="over 300 words and the documents over 301"):
        estimator(vocabSize=301).setBasis(basis).fit(days[1])
    with pytest.raises(SettingsError, match="`k` is 100 but the basis has 16 columns"):
        estimator(k=100).setBasis(basis).fit(days[1])


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
    assert stored_models(store) == [1, 2]
    model = newest_model(store)
    assert model.summary.documents == sum(day.count() for day in days)
    absorb(days[2], 2)
    assert newest_model(store).moments == model.moments
    again = stream.writeStream.foreachBatch(absorb).option("checkpointLocation", str(tmp_path / "new"))
    again.trigger(availableNow=True).start().awaitTermination()     # the same documents under other batch numbers
    assert stored_models(store) == [1, 2]
    assert newest_model(store).moments == model.moments
    short = days[0].limit(7).withColumns({"terms": F.slice("terms", 1, 1), "counts": F.array(F.lit(1))})
    update_from_stream(str(tmp_path / "other"), estimator())(short, 0)
    assert stored_models(str(tmp_path / "other")) == []
    absorb(short, 3)
    assert stored_models(store) == [2, 3]
    assert newest_model(store).moments == model.moments
    assert sum(newest_model(store).summary.dropped.values()) == sum(model.summary.dropped.values()) + 7


def test_matching_names_new_and_vanished_topics() -> None:
    old = np.eye(4)[:, :3] * 0.9 + 0.025
    new = np.stack([np.eye(4)[1], np.eye(4)[3], np.eye(4)[0]], axis=1) * 0.9 + 0.025
    match = match_topics(new, old)
    assert match.order.tolist() == [2, 0, 1]
    assert match.previous.tolist() == [0, 1, -1]
    assert match.vanished == (2,)
    report = describe_match(match, np.full(3, 1 / 3), np.array([0.5, 0.3, 0.2]))
    assert (report["new"], report["vanished"], report["renumbered"]) == ([2], [2], [])


def test_new_topics_take_the_places_of_vanished_ones() -> None:
    words = np.eye(6) * 0.9 + 0.1 / 6
    old = words[:, [0, 1, 2, 3]]
    replaced = match_topics(words[:, [4, 3, 5, 0, 2]], old)
    assert replaced.order.tolist() == [3, 0, 4, 1, 2]
    assert replaced.previous.tolist() == [0, -1, 2, 3, -1]
    fewer = match_topics(words[:, [3, 5, 0]], old)
    assert fewer.order.tolist() == [2, 1, 0]
    assert (fewer.previous.tolist(), fewer.vanished) == ([0, -1, 3], (1, 2))
    report = describe_match(fewer, np.full(4, 0.25), np.full(3, 1 / 3))
    assert (report["renumbered"], report["new"]) == ([[3, 2]], [1])
    again = match_topics(words[:, [3, 5, 0]][:, fewer.order], old)
    assert again.order.tolist() == [0, 1, 2]
