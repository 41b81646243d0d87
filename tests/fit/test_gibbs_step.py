"""Sampling within a fit: which documents it sees, what it leads to, and that bits do not depend on Spark."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.engine.choose_corpus import SETTING, open_documents
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.fit import fit_settings, gibbs_step
from spectral_spark.fit.fit_settings import FEWEST_SWEEPS, MOST_SWEEPS, SAMPLE_WORDS, FitSettings
from spectral_spark.fit.gibbs_step import take_sample
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.ingest.simulate import SimulatedCorpus
from spectral_spark.refine.gibbs import GibbsSettings

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id", "vocabSize": 300}


def opened(documents: DataFrame) -> AbstractContextManager[CountedCorpus]:
    columns = DocumentColumns(terms="terms", counts="counts", path="path", id="doc_id")
    return open_documents(inspect_documents(documents, columns, vocab_size=300), PackSettings(300, 16))


@pytest.fixture(scope="module")
def corpus(documents: DataFrame) -> Iterator[CountedCorpus]:
    with opened(documents) as counted:
        yield counted


def fit(frame: DataFrame, **given: object) -> SpectralHDPModel:
    return SpectralHDP(**{"k": 5, "refinePasses": 1, "concentrations": [0.5], **ARRAYS, **given}).fit(frame)


def test_a_small_corpus_is_sampled_whole(corpus: CountedCorpus, simulated: SimulatedCorpus) -> None:
    sample = take_sample(corpus)
    assert sample.documents == corpus.documents
    assert len(sample.words) == corpus.tokens
    np.testing.assert_array_equal(
        np.bincount(sample.words, minlength=300),
        np.bincount(simulated.batch.terms, simulated.batch.counts, 300).astype(int),
    )
    np.testing.assert_array_equal(np.bincount(sample.nodes, minlength=len(corpus.census.tree)), corpus.census.documents)


def test_of_a_large_corpus_the_same_part_whatever_the_partitions(corpus: CountedCorpus, documents: DataFrame) -> None:
    with opened(documents.repartition(7)) as elsewhere:
        one, other = (take_sample(given, 20_000) for given in (corpus, elsewhere))
    assert 10_000 < len(one.words) <= 20_000
    np.testing.assert_array_equal(one.words, other.words)
    np.testing.assert_array_equal(one.nodes, other.nodes)


def test_bits_depend_neither_on_partitions_nor_on_threads(
    documents: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fit(documents.coalesce(1))
    monkeypatch.setattr(gibbs_step, "driver_threads", lambda _: 3)
    many = fit(documents.repartition(7))
    np.testing.assert_array_equal(one.topicsMatrix(), many.topicsMatrix())
    np.testing.assert_array_equal(one.nodes.proportions, many.nodes.proportions)


def test_a_part_is_enough_for_topics_to_be_found(
    documents: DataFrame, simulated: SimulatedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(documents)
    monkeypatch.setattr(gibbs_step, "SAMPLE_WORDS", 30_000)
    part = fit(documents)
    monkeypatch.setattr(fit_settings, "SAMPLE_WORDS", 30_000)
    then_all = fit(documents)
    assert (whole.topicsMatrix() != part.topicsMatrix()).any()
    assert (then_all.topicsMatrix() != part.topicsMatrix()).any()
    for model in (whole, part, then_all):
        assert recovery(model.topicsMatrix(), simulated.topics).error < 0.06
    names = [step["name"] for step in then_all.summary.passes]
    assert names.index("sampling") + 1 == names.index("sampling all")
    assert "sampling all" not in {step["name"] for step in whole.summary.passes}


def test_a_large_corpus_is_sampled_to_the_same_bits_on_the_driver_and_on_executors(
    spark: SparkSession, documents: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (gibbs_step, fit_settings):
        monkeypatch.setattr(module, "SAMPLE_WORDS", 30_000)
    here = fit(documents, exploreSweeps=3)
    spark.conf.set(SETTING, "0")
    try:
        for partitions in (3, 7):
            there = fit(documents.repartition(partitions), exploreSweeps=3)
            np.testing.assert_array_equal(here.topicsMatrix(), there.topicsMatrix())
            np.testing.assert_array_equal(here.nodes.proportions, there.nodes.proportions)
    finally:
        spark.conf.unset(SETTING)


def test_the_report_and_the_log_say_how_much_was_sampled(documents: DataFrame) -> None:
    model = fit(documents, exploreSweeps=3)
    assert model.summary.refinement["sweeps"] == 3
    assert [step["name"] for step in model.summary.passes if step["name"] == "sampling"] == ["sampling"]
    plain = fit(documents, exploreSweeps=0)
    assert plain.summary.refinement["sweeps"] == 0
    assert "sampling" not in {step["name"] for step in plain.summary.passes}
    assert fit(documents, refinePasses=0).summary.refinement == {}


def test_sweeps_grow_where_words_are_few() -> None:
    auto = FitSettings()
    assert auto.sweeps(100) == MOST_SWEEPS
    assert auto.sweeps(SAMPLE_WORDS) == FEWEST_SWEEPS
    assert FEWEST_SWEEPS < auto.sweeps(2_000_000) < MOST_SWEEPS
    assert FitSettings(explore_sweeps=7).sweeps(10**12) == 7


def test_all_words_of_a_large_corpus_are_swept_and_no_pass_of_em_follows() -> None:
    auto, large = FitSettings(), SAMPLE_WORDS + 1
    assert (auto.sweeps(large), auto.corpus_sweeps(large)) == (160, 16)
    assert (auto.passes(large), auto.settling(large)) == (0, 0)
    assert (auto.corpus_sweeps(SAMPLE_WORDS), auto.passes(SAMPLE_WORDS), auto.settling(SAMPLE_WORDS)) == (0, 2, 1)
    asked = FitSettings(refine_passes=1, explore_sweeps=300)
    assert (asked.corpus_sweeps(large), asked.passes(large), asked.settling(large)) == (30, 1, 1)
    for off in (FitSettings(explore_sweeps=0), FitSettings(refine_passes=0)):
        assert off.corpus_sweeps(10**12) == 0
    assert FitSettings(explore_sweeps=0).passes(10**12) == 2
    assert auto.search_words(10, 10**9) < auto.search_words(200, 10**9) < auto.search_words(10**4, 10**9) < 10**8
    planned = planned_passes(auto, 1000, large)
    assert planned["sampling all"] == 1
    assert "refinement" not in planned
    assert "sampling all" not in planned_passes(auto, 1000, SAMPLE_WORDS)


def test_topics_that_the_moments_determine_are_blurred_less() -> None:
    few, many, usual = 400_000, 2_000_000, GibbsSettings(100).blur
    assert gibbs_step._gibbs_settings(FitSettings(), few, 50, few).blur == gibbs_step.SETTLED_BLUR < usual
    assert gibbs_step._gibbs_settings(FitSettings(), many, 50, many).blur == usual             # surplus topics
    assert gibbs_step._gibbs_settings(FitSettings(range_passes=2), few, 50, few).blur == usual
    assert gibbs_step._gibbs_settings(FitSettings(seeds={"one": ["a", "b"]}), few, 50, few).blur == usual
