"""Topics that move during a refinement, on Spark: what is gained stays, what is lost is taken back."""

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.corpus.simulate import SimulatedCorpus
from spectral_spark.engine.census import CensusResult, take_census
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ml.collecting import Run
from spectral_spark.ml.polishing import Topics, refine_topics
from spectral_spark.ml.settings import FitSettings
from spectral_spark.refine import RefineSettings

ARRAYS = {"termsCol": "terms", "countsCol": "counts", "idCol": "doc_id", "vocabSize": 300}
SETTINGS = FitSettings(k=5, refine_passes=2)


@pytest.fixture(scope="module")
def corpus(documents: DataFrame) -> CensusResult:
    columns = DocumentColumns(terms="terms", counts="counts", path="path", id="doc_id")
    return take_census(pack_counts(inspect_documents(documents, columns, vocab_size=300), PackSettings(300, 16)))


def started(corpus: CensusResult, topics: np.ndarray) -> Topics:
    k = topics.shape[1]
    mixed = 0.9 * topics + 0.1 * topics.mean(axis=1, keepdims=True)
    return Topics(mixed, np.full(k, 1 / k), np.full((len(corpus.census.tree), k), 1 / k), (), 1.0)


def test_a_topic_that_is_there_twice_makes_room_for_one_that_is_missing(
    corpus: CensusResult, simulated: SimulatedCorpus
) -> None:
    true = simulated.topics
    merged = (true[:, 3] + true[:, 4]) / 2
    start = started(corpus, np.column_stack([true[:, 0], true[:, 0], true[:, 1], true[:, 2], merged]))
    stuck, moved = (
        refine_topics(start, corpus, SETTINGS, Run(), options=RefineSettings(
            passes=2, rounds=4, reseeded=share, advantage=10.0
        ))
        for share in (0.0, 0.2)
    )
    assert stuck.report["reseeded_topics"] == []
    assert moved.report["reseeded_topics"] in ([0], [1])
    errors = [recovery(found.topics, true).error for found in (stuck, moved)]
    assert errors[1] < 0.7 * errors[0]


def test_a_move_that_makes_topics_worse_is_taken_back(corpus: CensusResult, simulated: SimulatedCorpus) -> None:
    forced = RefineSettings(passes=2, rounds=1, batch_size=4096, reseeded=0.4, advantage=0.1, first_rate=0.05)
    found = refine_topics(started(corpus, simulated.topics), corpus, SETTINGS, Run(), options=forced)
    assert found.report["reseeded_topics"] == []
    assert recovery(found.topics, simulated.topics).error < 0.1


def test_bits_do_not_depend_on_the_partitions(documents: DataFrame) -> None:
    def fit(frame: DataFrame) -> SpectralHDPModel:
        return SpectralHDP(k=7, refinePasses=2, concentrations=[0.5], **ARRAYS).fit(frame)

    one, many = fit(documents.coalesce(1)), fit(documents.repartition(7))
    assert one.summary.refinement["reseeded_topics"] == many.summary.refinement["reseeded_topics"]
    np.testing.assert_array_equal(one.topicsMatrix(), many.topicsMatrix())
