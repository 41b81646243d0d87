"""Sampling over all documents, without Spark: what it draws does not depend on how documents are grouped."""

from dataclasses import replace

import numpy as np

from spectral_spark.data.count_batch import selected_documents
from spectral_spark.engine.word_sweeps import DriverSweeps
from spectral_spark.refine import RefineSettings, RefineState
from spectral_spark.refine.corpus_gibbs import CorpusSampler
from spectral_spark.refine.word_topics import document_streams, word_blocks
from tests.refine.corpora import Drawn, draw, error, noisy


def start_of(drawn: Drawn, topics: np.ndarray) -> RefineState:
    k = topics.shape[1]
    return RefineState.start(
        topics, np.full(k, 1 / k), drawn.parent, drawn.level, float(drawn.batch.counts.sum()),
        float(drawn.batch.n_documents),
    )


def sampled(drawn: Drawn, start: RefineState, shards: int, threads: int, options: RefineSettings) -> RefineState:
    parts = [selected_documents(drawn.batch, drawn.batch.keys % shards == part) for part in range(shards)]
    words = DriverSweeps([[part] for part in parts if part.n_documents], threads)
    sampler = CorpusSampler(start, 2.0, 12, words.lengths(), options, seed=3)
    for _ in range(12):
        sampler.finish(words.sweep(sampler.kernel, sampler.shared()))
    return sampler.state()


def test_grouping_and_threads_change_no_bit_and_topics_improve() -> None:
    drawn = draw(800, k=5, seed=2)
    start, options = start_of(drawn, noisy(drawn.topics)), RefineSettings()
    one, other = sampled(drawn, start, 1, 1, options), sampled(drawn, start, 7, 3, options)
    np.testing.assert_array_equal(one.statistics, other.statistics)
    np.testing.assert_array_equal(one.hierarchy.proportions, other.hierarchy.proportions)
    np.testing.assert_array_equal(one.hierarchy.concentrations, other.hierarchy.concentrations)
    assert error(one.topics(0.05), drawn.topics) < 0.8 * error(start.topics(0.05), drawn.topics)
    np.testing.assert_allclose(one.statistics.sum(), start.statistics.sum())


def test_given_concentrations_stay() -> None:
    drawn = draw(60, k=4, seed=2)
    start = start_of(drawn, drawn.topics)
    fixed = sampled(drawn, start, 2, 1, RefineSettings(learn_concentrations=False))
    np.testing.assert_array_equal(fixed.hierarchy.concentrations, start.hierarchy.concentrations)


def test_documents_with_one_key_have_random_numbers_of_their_own() -> None:
    keys = np.array([-5, -5, -5, 3, 9, 9], np.int64)
    streams = document_streams(keys)
    assert len(set(streams.tolist())) == 6
    np.testing.assert_array_equal(document_streams(keys[3:]), streams[3:])


def test_blocks_hold_every_word_once_in_the_order_of_the_nodes() -> None:
    batch = draw(50, k=4, seed=5).batch
    batch = replace(batch, nodes=(batch.keys % 3).astype(np.int32))
    halves = [[selected_documents(batch, batch.keys % 2 == half)] for half in (0, 1)]
    assert len(list(word_blocks(halves, 10**6))) == 1
    blocks = list(word_blocks([[batch]], 150))
    assert len(blocks) > 3
    words = np.concatenate([block.words for block in blocks])
    np.testing.assert_array_equal(
        np.bincount(words, minlength=batch.vocab_size), np.bincount(batch.terms, batch.counts, batch.vocab_size)
    )
    nodes = np.concatenate([block.nodes for block in blocks])
    assert (np.diff(nodes) >= 0).all()
    assert sum(block.documents for block in blocks) == batch.n_documents
