"""The held-out loss of topics on the documents of a DataFrame."""

from pyspark.sql import DataFrame

from spectral_spark.engine.counted_corpus import take_census
from spectral_spark.engine.documents import DocumentColumns, inspect_documents
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.passes import run_pass
from spectral_spark.evaluate.evaluation import ScoredTopics
from spectral_spark.refine.completion import CompletionKernel, completion_inputs


def completion_loss(frame: DataFrame, columns: DocumentColumns, topics: ScoredTopics, *, seed: int = 0) -> float:
    """Document completion, in nats per hidden word, on all documents with a word."""
    d = len(topics.topics)
    packed = pack_counts(inspect_documents(frame, columns, vocab_size=d), PackSettings(d, minimum=1))
    try:
        corpus = take_census(packed)
        mean = topics.topics @ topics.weights
        priors = topics.node_priors(corpus.census.tree)
        shared = completion_inputs(topics.topics, priors, topics.concentration, mean)
        sums = run_pass(corpus.packed, CompletionKernel(seed), shared, name="document completion")
    finally:
        packed.release()
    return float(sums["loss"].sum() / max(sums["hidden"].sum(), 1.0))
