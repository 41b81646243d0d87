"""How a group words a topic: expected counts, learnt shrinkage, and z-scores that are right without a difference."""

from typing import Any

import numpy as np
import pytest
from pyspark.sql import functions as F

from spectral_spark import SpectralHDPModel
from spectral_spark.answers.share_kernel import prior_slopes
from spectral_spark.answers.wording import compare_wording, shrinkage
from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ingest.simulate import simulate_hdp
from spectral_spark.refine.fold_in import infer
from spectral_spark.refine.posterior_means import sample_documents


def test_the_strength_that_counts_were_drawn_with_is_learnt() -> None:
    draw = np.random.default_rng(1)
    prior = draw.dirichlet(np.full(500, 0.5))
    for strength in (50.0, 2000.0):
        counts = draw.multinomial(20_000, draw.dirichlet(strength * prior + 1e-9)).astype(float)
        assert shrinkage(counts, prior) == pytest.approx(strength, rel=0.35)
    assert shrinkage(np.zeros(500), prior) > 1e6         # no words say nothing: the topic's own


def test_z_scores_without_a_difference_and_with_one() -> None:
    draw = np.random.default_rng(2)
    topic = draw.dirichlet(np.full(200, 1.0))
    counts = draw.multinomial(8000, topic, 2).astype(float)
    same = compare_wording(counts, counts, topic)
    assert np.abs(same.z).max() < 4.0                    # of 200 words
    assert same.shares.sum() == pytest.approx(1.0)
    changed = topic.copy()
    changed[7] += 0.03
    counts[0] = draw.multinomial(8000, changed / changed.sum())
    found = compare_wording(counts, counts, topic)
    assert found.z.argmax() == 7
    assert topic[7] < found.shares[7] < counts[0, 7] / 8000 + 1e-9
    repeated = compare_wording(counts, 40 * counts, topic)            # forty times in each document that has it
    assert repeated.z[7] < found.z[7] / 3


def test_sampled_documents_have_the_posterior_mean_and_count_every_word_once() -> None:
    corpus = simulate_hdp((300, 4), {"a": 400}, (10.0, 1.0), (20, 60), seed=5)
    prior = corpus.node_proportions
    found = sample_documents(corpus.batch, corpus.topics, prior, 1.0, watched=range(4))
    assert found.theta.sum(axis=1) == pytest.approx(1.0)
    assert found.entry_counts.sum(axis=0) == pytest.approx(corpus.batch.counts)
    gap = found.theta.mean(axis=0) - corpus.document_proportions.mean(axis=0)
    assert np.abs(gap).max() < 0.006                     # 400 documents, each known to about 0.06
    again = sample_documents(corpus.batch, corpus.topics, prior, 1.0, backend="numpy")
    assert (again.theta == found.theta).all()            # whole numbers: both backends draw the same
    mode = infer(corpus.batch, corpus.topics, prior, 1.0)
    assert np.abs(found.theta - mode).mean() < 0.02


def test_very_long_documents_are_inferred() -> None:
    corpus = simulate_hdp((50, 3), 2, (1.0,), 9000, seed=1)
    batch: CountBatch = corpus.batch
    found = sample_documents(batch, corpus.topics, corpus.node_proportions, 1.0, watched=[0, 2])
    assert found.theta == pytest.approx(infer(batch, corpus.topics, corpus.node_proportions, 1.0))
    assert found.entry_counts.shape == (2, len(batch.terms))


@pytest.mark.parametrize("length", [30, 9000])
def test_a_word_that_no_topic_has_says_nothing(length: int) -> None:
    corpus = simulate_hdp((60, 3), 40, (5.0,), length, seed=2)
    topics = np.vstack([corpus.topics, np.zeros((20, 3))])           # as printed topics may have
    starts, prior = corpus.batch.indptr, np.array([[0.6, 0.3, 0.1]])
    counts = np.insert(corpus.batch.counts.astype(float), starts[1:], length)
    terms = np.insert(corpus.batch.terms, starts[1:], 70)
    batch = CountBatch(starts + np.arange(len(starts)), terms, counts, corpus.batch.nodes, corpus.batch.keys, 80)
    found = sample_documents(batch, topics, prior, 5.0, watched=range(3))
    slopes = prior_slopes(batch, topics, found.theta, 5.0)
    assert np.isfinite(slopes).all()
    assert found.entry_counts.sum(axis=0) == pytest.approx(batch.counts)
    known = sample_documents(corpus.batch, corpus.topics, prior, 5.0).theta
    gap = found.theta.mean(axis=0) - known.mean(axis=0)
    assert np.abs(gap).max() < 0.03                      # were the word put into one topic, about 0.4


def test_a_node_words_a_topic(answering: SpectralHDPModel, documents: Any) -> None:
    told = documents.withColumn(                         # node a says w7 ten times more in every document
        "counts", F.when(F.col("path")[0] == "a", F.concat("counts", F.array(F.lit(10)))).otherwise(F.col("counts"))
    ).withColumn("terms", F.when(F.col("path")[0] == "a", F.concat(
        F.expr("filter(terms, x -> x != 7)"), F.array(F.lit(7)))).otherwise(F.col("terms")))
    told = told.filter("size(terms) = size(counts)")
    topic = int(answering.topicsMatrix()[7].argmax())
    found = to_arrow(answering.wording("a", topic, told, n=3)).to_pylist()
    assert found == to_arrow(answering.wording(["a"], [str(topic)], told.repartition(5), n=3)).to_pylist()
    assert found[0]["term"] == "w7"
    assert found[0]["z"] > 3
    assert found[0]["share"] > found[0]["otherShare"]
    assert len(found) == 6
    with pytest.raises(InputError, match="in common"):
        answering.wording("b", 0, documents, against="b/x")
    with pytest.raises(InputError, match="did you mean"):
        answering.wording("b/z", 0, documents)
    with pytest.raises(SettingsError, match="n is 0"):
        answering.wording("a", 0, documents, n=0)


def test_siblings_are_compared_in_pairs(answering: SpectralHDPModel, documents: Any) -> None:
    rows = to_arrow(answering.compareSiblings("b", documents)).to_pylist()
    assert {(tuple(row["a"]), tuple(row["b"])) for row in rows} == {(("b", "x"), ("b", "y"))}
    alone = to_arrow(answering.compare("b/x", "b/y", documents)).to_pylist()
    assert [row["difference"] for row in rows] == [row["difference"] for row in alone]
    with pytest.raises(InputError, match="2 to 50"):
        answering.compareSiblings("b/x", documents)
