"""What a model says about each document for :class:`TopicModelEvaluator`, as one column.

The column travels with the data: it can be filtered, joined, saved and read again, and needs no model beside it.
"""

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from threadpoolctl import threadpool_limits

from spectral_spark.engine.arrow import with_arrow_column
from spectral_spark.engine.broadcast_cache import hold
from spectral_spark.engine.documents import DocumentColumns, document_columns
from spectral_spark.evaluate.coherence import top_words
from spectral_spark.ml.inference import Proportions, path_prefixes
from spectral_spark.refine.completion import halve
from spectral_spark.refine.fold_in import infer

KIND = "struct<loss:double,tokens:double,topWords:array<int>>"
METADATA_KEY = "spectral_spark"
_LEAST_PRIOR = 1e-10


class DocumentEvaluation:
    """Runs on an executor: a document's completion loss, its hidden tokens, and which top words it contains.

    Parameters
    ----------
    proportions : the model.
    seed : of the hash that halves a document's tokens.
    """

    def __init__(self, proportions: Proportions, seed: int) -> None:
        self.proportions, self.seed = proportions, seed
        self.top = np.zeros(len(proportions.model.topics), bool)
        self.top[top_words(proportions.model.topics).ravel()] = True
        prior = np.maximum(proportions.model.node_prior, _LEAST_PRIOR)
        self.node_prior = prior / prior.sum(axis=1, keepdims=True)

    def __call__(self, terms: pa.Array, counts: pa.Array, prefixes: pa.Array, keys: pa.Array) -> pa.Array:
        model, topics = self.proportions.model, self.proportions.model.topics
        numbers = keys.to_numpy(zero_copy_only=False).astype(np.int64)
        batch, good = self.proportions.batch(terms, counts, self.proportions.nodes(prefixes), numbers)
        n = len(terms)
        observed, hidden = halve(batch, self.seed)
        with threadpool_limits(1):
            theta = infer(observed, topics, self.node_prior, model.concentration, model.iterations)
        owner = np.repeat(np.arange(n), np.diff(hidden.indptr))
        chance = np.einsum("ij,ij->i", topics[hidden.terms], theta[owner])
        loss = np.bincount(owner, -hidden.counts * np.log(chance), n)
        tokens = np.bincount(owner, hidden.counts, n).astype(np.float64)
        return pa.StructArray.from_arrays(
            [pa.array(loss), pa.array(tokens), self._present(batch.indptr, batch.terms)],
            names=["loss", "tokens", "topWords"], mask=pa.array(~good),
        )

    def _present(self, indptr: np.ndarray, terms: np.ndarray) -> pa.Array:
        """The top words of any topic that each document contains."""
        kept = self.top[terms]
        owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        ends = np.cumsum(np.bincount(owner[kept], minlength=len(indptr) - 1))
        starts = np.concatenate(([0], ends)).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(starts), pa.array(terms[kept], pa.int32()))


def add_evaluation(
    frame: DataFrame, columns: DocumentColumns, output: str, evaluation: DocumentEvaluation
) -> DataFrame:
    """The frame with the column ``output``; its metadata holds the top words of every topic."""
    handle = hold(frame, evaluation)

    def run(terms: pa.Array, counts: pa.Array, prefixes: pa.Array, keys: pa.Array, *_: pa.Array) -> pa.Array:
        return handle()(terms, counts, prefixes, keys)

    terms, counts, path = document_columns(frame, columns)
    content = F.xxhash64(terms, counts, path)
    key = F.xxhash64(F.col(_quoted(columns.id)).cast("string")) if columns.id in frame.columns else content
    added = with_arrow_column(frame, output, run, [terms, counts, path_prefixes(path), key], KIND)
    words = top_words(evaluation.proportions.model.topics)
    facts = {"k": len(words), "topWords": words.ravel().tolist()}       # metadata has no lists of lists
    described = F.col(_quoted(output)).alias(output, metadata={METADATA_KEY: facts})
    return added.withColumn(output, described)


def _quoted(name: str | None) -> str:
    return "`" + str(name).replace("`", "``") + "`"
