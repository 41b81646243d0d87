"""Topic proportions and held-out loss of documents under a fitted topic model."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.documents import node_hashes
from spectral_spark.errors import InputError
from spectral_spark.evaluate.evaluation import ScoredTopics, completion_loss
from spectral_spark.ml.document_input import COLUMN_PARAMS
from spectral_spark.ml.evaluation_column import METADATA_KEY, DocumentEvaluation, add_evaluation
from spectral_spark.ml.inference import Proportions, add_proportions
from spectral_spark.ml.local_documents import TEXT, as_table, check_documents, is_local, is_texts, local_proportions
from spectral_spark.ml.topic_view import TopicView
from spectral_spark.refine.fixed_topics import FixedTopics
from spectral_spark.serve.topic_model import TopicModel
from spectral_spark.text.text_recipe import TextCounter

if TYPE_CHECKING:
    import pandas as pd


class TopicInference(TopicView, Model):
    """A topic model that infers the topics of documents."""

    _document_evaluation: DocumentEvaluation | None = None
    _inference: Proportions | None = None

    def transform(self, dataset: Any, params: Any = None) -> Any:
        """Infer the topic proportions of documents.

        Parameters
        ----------
        dataset : DataFrame, pandas.DataFrame, str or list of str
            Documents as in the fit. Without the path column, every document is taken to be at the root.
        params : dict, optional
            Parameters for this call only, as in ``pyspark.ml``.

        Returns
        -------
        DataFrame
            The same rows with a Vector column ``topicDistribution`` (null where counts are missing or negative), and a
            struct column ``evaluation`` for :class:`TopicModelEvaluator`, computed only where it is used.
        pandas.DataFrame
            For a pandas DataFrame: the same with a column ``topicDistribution`` of arrays of shape (k,).
        array of shape (n, k)
            For a string or a list of strings.
        """
        check_documents(dataset)
        if not is_local(dataset):
            return super().transform(dataset, params)
        model = self.copy(params) if params else self
        if not is_texts(dataset):
            return model._transform_pandas(dataset)
        if self._recipe is None:
            raise InputError("this model was fitted to word counts and cannot read text; fit it with textCol, or give "
                             "a DataFrame with the columns that it was fitted to")
        if not model._value("textCol"):
            model = model.copy({model.textCol: TEXT})
        return model._local(as_table(dataset, model._value("textCol")))

    def _transform_pandas(self, table: "pd.DataFrame") -> "pd.DataFrame":
        output = self._value("topicDistributionCol")
        if output in table.columns:
            raise InputError(f"column '{output}' exists; set topicDistributionCol to another name")
        return table.assign(**{output: list(self._local(table))})

    def _local(self, table: "pd.DataFrame") -> np.ndarray:
        names = {name: self._value(name) for name in COLUMN_PARAMS}
        return local_proportions(table, names, self._topic_model)

    @cached_property
    def _topic_model(self) -> TopicModel:
        """The same model without Spark, which scores what is not in Spark."""
        return TopicModel(self.files, self._recipe)

    @cached_property
    def _counter(self) -> TextCounter | None:
        return None if self._recipe is None else TextCounter(self._recipe, self.vocabulary or ())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self._value("topicDistributionCol")
        if output in dataset.columns:
            raise InputError(f"column '{output}' exists; set topicDistributionCol to another name")
        dataset, evaluation = self._evaluation_column(dataset)
        ready = self._prepared(dataset, scoring=True, counter=self._counter)
        model = self._proportions(dataset.sparkSession)
        added = add_proportions(ready.frame, ready.columns, output, model)
        if evaluation:
            added = add_evaluation(added, ready.columns, evaluation, self._evaluation(model))
        shares = F.col(f"`{output}`")
        return added.drop(*ready.temporary).withColumn(output, F.when(shares.isNotNull(), array_to_vector(shares)))

    def _evaluation_column(self, dataset: DataFrame) -> tuple[DataFrame, str]:
        """The column to add for an evaluator, "" for none. One that an earlier transform added is replaced; a column of
        the user's own is kept, and none is added unless it was asked for."""
        name: str = self._value("evaluationCol")
        if name not in dataset.columns:
            return dataset, name
        if METADATA_KEY in dataset.schema[name].metadata:
            return dataset.drop(name), name
        if self.isSet(self.evaluationCol):
            raise InputError(f"column '{name}' exists; set evaluationCol to another name")
        return dataset, ""

    def _evaluation(self, model: Proportions) -> DocumentEvaluation:
        known, seed = self._document_evaluation, self._value("seed")
        if known is None or known.seed != seed:
            known = self._document_evaluation = DocumentEvaluation(model, seed)
        return known

    def _proportions(self, spark: SparkSession) -> Proportions:
        """What infers proportions on executors; kept, so that all transforms share one broadcast."""
        if self._inference is None:
            fitted = self._fitted
            topics = FixedTopics(fitted.topics, fitted.nodes.proportions, fitted.document_concentration)
            self._inference = Proportions(topics, *node_hashes(spark, fitted.nodes.paths))
        return self._inference

    def logPerplexity(self, dataset: Any) -> float:
        """Document completion in nats per word: proportions from half of a document's words, loss on the others."""
        ready = self._prepared(self._on_spark(dataset), scoring=True, counter=self._counter)
        return completion_loss(ready.frame, ready.columns, ScoredTopics.of_model(self.files), seed=self._value("seed"))
