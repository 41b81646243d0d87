"""TopicModelEvaluator: held-out loss and coherence for ``CrossValidator`` and ``TrainValidationSplit``."""

from typing import Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import to_arrow
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.evaluate.coherence import npmi
from spectral_spark.ml.evaluation_column import METADATA_KEY

HELD_OUT_LOSS, COHERENCE = "heldOutLoss", "coherence"
METRICS = (HELD_OUT_LOSS, COHERENCE)


def _metric(value: Any) -> str:
    if value not in METRICS:
        raise SettingsError(f"metricName is {value!r}; choose one of {', '.join(METRICS)}")
    return str(value)


class TopicModelEvaluator(Evaluator, DefaultParamsReadable, DefaultParamsWritable):
    """Scores the output of ``SpectralHDPModel.transform``.

    The model adds a struct column ``evaluation`` (parameter ``evaluationCol``) with the loss and the number of hidden
    tokens of each document and the top words it contains. Spark computes it only where it is used. The evaluator reads
    nothing else, so it also works on a transformed table that was filtered, saved or read again.

    Parameters
    ----------
    metricName : {"heldOutLoss", "coherence"}
        "heldOutLoss" is document completion in nats per word, the number that ``model.logPerplexity`` gives: topic
        proportions are inferred from half of a document's tokens, the loss is measured on the other half. Lower is
        better. "coherence" is the mean NPMI of the ten heaviest words of each topic, counted in the given documents;
        it lies between -1 and 1, and higher is better.
    evaluationCol : str
        The column that the model added.

    Examples
    --------
    >>> from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit
    >>> hdp = SpectralHDP(textCol="text", minDocuments=2, seed=1)
    >>> grid = ParamGridBuilder().addGrid(hdp.k, [2, 3]).build()
    >>> search = TrainValidationSplit(estimator=hdp, estimatorParamMaps=grid, evaluator=TopicModelEvaluator(), seed=1)
    >>> best = search.fit(notes).bestModel
    >>> best.k in (2, 3)
    True
    >>> loss = TopicModelEvaluator().evaluate(best.transform(notes))
    >>> abs(loss - best.logPerplexity(notes)) < 1e-9
    True
    """

    metricName: Param[str] = Param(
        Params._dummy(), "metricName", f"what to measure: {' or '.join(METRICS)}", _metric
    )
    evaluationCol: Param[str] = Param(
        Params._dummy(), "evaluationCol", "column that the model's transform added for the evaluator",
        TypeConverters.toString,
    )

    @keyword_only
    def __init__(self, *, metricName: str = HELD_OUT_LOSS, evaluationCol: str = "evaluation") -> None:
        super().__init__()
        self._setDefault(metricName=HELD_OUT_LOSS, evaluationCol="evaluation")
        self._set(**self._input_kwargs)  # type: ignore[attr-defined]

    @keyword_only
    def setParams(self, *, metricName: str = HELD_OUT_LOSS, evaluationCol: str = "evaluation") -> "TopicModelEvaluator":
        """Set parameters by name."""
        self._set(**self._input_kwargs)  # type: ignore[attr-defined]
        return self

    def getMetricName(self) -> str:
        """What is measured."""
        return str(self.getOrDefault(self.metricName))

    def setMetricName(self, value: str) -> "TopicModelEvaluator":
        """Measure "heldOutLoss" or "coherence"."""
        self._set(metricName=value)
        return self

    def getEvaluationCol(self) -> str:
        """The column that is read."""
        return str(self.getOrDefault(self.evaluationCol))

    def setEvaluationCol(self, value: str) -> "TopicModelEvaluator":
        """Read this column."""
        self._set(evaluationCol=value)
        return self

    def isLargerBetter(self) -> bool:
        """True for coherence, False for the held-out loss."""
        return self.getMetricName() == COHERENCE

    def _evaluate(self, dataset: DataFrame) -> float:
        name = self.getEvaluationCol()
        if name not in dataset.columns or METADATA_KEY not in dataset.schema[name].metadata:
            raise InputError(
                f"there is no column '{name}' made by a topic model; evaluate the output of its transform, with the "
                "model's evaluationCol set to the same name as the evaluator's"
            )
        column = F.col("`" + name.replace("`", "``") + "`")
        return _coherence(dataset, name) if self.isLargerBetter() else _loss(dataset.select(column.alias("e")))


def _loss(frame: DataFrame) -> float:
    row = frame.agg(F.sum("e.loss"), F.sum("e.tokens")).collect()[0]
    if not row[1]:
        raise InputError("no token of these documents fell into the hidden half; evaluate more documents")
    return float(row[0] / row[1])


def _coherence(dataset: DataFrame, name: str) -> float:
    """Mean NPMI over the topics, from the number of documents in which pairs of top words occur together."""
    facts = dataset.schema[name].metadata[METADATA_KEY]
    words = np.asarray(facts["topWords"], np.int64).reshape(facts["k"], -1)
    known = np.unique(words)
    found = F.array_distinct(F.col("`" + name.replace("`", "``") + "`")["topWords"])
    present = dataset.select(found.alias("w")).filter("w IS NOT NULL")
    documents = present.count()
    if not documents:
        raise InputError("there are no documents to measure coherence on: the DataFrame is empty")
    pairs = present.select(F.explode("w").alias("a"), "w").select("a", F.explode("w").alias("b"))
    counted = to_arrow(pairs.groupBy("a", "b").count())
    together = np.zeros((len(known), len(known)))
    first, second = (np.searchsorted(known, counted[side].to_numpy()) for side in ("a", "b"))
    together[first, second] = counted["count"].to_numpy()
    return float(npmi(np.searchsorted(known, words), together, documents).mean())
