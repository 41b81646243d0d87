"""What a topic model knows: topics, words, the document tree, the run report and the moments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from typing_extensions import Self

from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError
from spectral_spark.files.labels_file import checked_labels
from spectral_spark.files.model_files import NodeTable, TopicModelFiles
from spectral_spark.fit.fit_summary import FitSummary
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.lineage import lineage_of
from spectral_spark.ml.document_input import DocumentInput
from spectral_spark.ml.persistence import params_metadata
from spectral_spark.ml.plots import ModelPictures
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.report.taxonomy_view import Taxonomy, taxonomy_of
from spectral_spark.report.topic_names import topic_names
from spectral_spark.text.text_recipe import TextRecipe


class TopicView(ModelPictures, DocumentInput):
    """The fitted quantities of a topic model, as numbers, tables and pictures."""

    _fitted: FittedTopics
    _recipe: TextRecipe | None

    @property
    def k(self) -> int:  # type: ignore[override]
        """Number of topics."""
        return int(self._fitted.topics.shape[1])

    @property
    def vocabSize(self) -> int:  # type: ignore[override]
        """Number of words d."""
        return int(self._fitted.topics.shape[0])

    @property
    def vocabulary(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The words in the order of their ids; None if they are not known."""
        return self._fitted.vocabulary

    @property
    def words(self) -> tuple[str, ...] | None:
        """The same as ``vocabulary``."""
        return self._fitted.vocabulary

    @property
    def textRecipe(self) -> TextRecipe | None:
        """How words were made from text; None for a model that was fitted to counts."""
        return self._recipe

    @property
    def weights(self) -> np.ndarray:
        """Share of the corpus' words in each topic, shape (k,); with a groupBalance, of the weighted words."""
        return self._fitted.weights

    @property
    def summary(self) -> FitSummary:
        """The run report."""
        return self._fitted.summary

    @property
    def moments(self) -> MomentState:
        """The additive summary of the corpus: it can be added, saved, and solved again with other settings."""
        if self._fitted.moments is None:
            raise InputError("this model was saved without its moments")
        return self._fitted.moments

    @property
    def basis(self) -> Basis:
        """The basis of the moments; give it to another fit with ``setBasis`` so that their moments add up."""
        return self.moments.basis

    @property
    def documentConcentration(self) -> float:
        """Total Dirichlet weight of a document's prior."""
        return self._fitted.document_concentration

    @property
    def stability(self) -> np.ndarray | None:
        """The probability that each topic comes back from another seed, shape (k,); None if it is unknown.

        Known for models that a fit with sampling made; an update, or topics that were merged or split, leave it open.
        """
        return self._fitted.stability

    def topicsMatrix(self) -> np.ndarray:
        """Topics of shape (d, k); columns are positive and sum to one."""
        return self._fitted.topics

    @property
    def labels(self) -> list[str]:
        """One short name per topic: the one that people gave (``setLabels``, ``labels.toml``), or its most distinctive
        words."""
        return topic_names(self.files)

    def setLabels(self, labels: Mapping[int, str]) -> Self:
        """Name topics: numbers of topics with their labels. Every output shows them, and updates carry them on.

        Labels that were given before are replaced; an empty mapping removes them all.
        """
        self._fitted = replace(self._fitted, labels=checked_labels(labels, self.k))
        self.__dict__.pop("files", None)
        return self

    @property
    def lineage(self) -> list[str]:
        """Where every topic comes from: its number in the fitted model, "3+7" where topics were merged by hand, "12a"
        and "12b" where one was split."""
        return lineage_of(self.summary.lineage, self.k)

    def taxonomy(self, levels: Sequence[int] | None = None) -> Taxonomy:
        """The topics folded into a tree with as many nodes on each level as asked for.

        Always the two nodes are merged that lose the least information about words. The tree stays with the model:
        ``save`` writes it to ``taxonomy.json``, and the report shows it.

        Parameters
        ----------
        levels : numbers of nodes, such as [10, 30]; None returns the tree that the model has.
        """
        if levels is not None:
            stored = taxonomy_of(self.files, levels).as_dict()
            self._fitted = replace(self._fitted, taxonomy=stored)
            self.__dict__.pop("files", None)
        if self._fitted.taxonomy is None:
            raise InputError("this model has no taxonomy yet; say how many nodes its levels are to have: "
                             "taxonomy([10, 30])")
        return Taxonomy.from_dict(self._fitted.taxonomy)

    def describeTopics(self, maxTermsPerTopic: int = 10) -> DataFrame:
        """The heaviest words of each topic: topic, weight, termIndices, terms (null if unknown), termWeights.

        The last column, ``stability``, is the probability that a topic comes back from another seed, null if unknown.
        """
        count = min(maxTermsPerTopic, self.vocabSize)
        top = np.argsort(-self._fitted.topics, axis=0, kind="stable")[:count].T
        shares = np.take_along_axis(self._fitted.topics.T, top, axis=1)
        words = self.words
        named = [[words[i] for i in row] for row in top] if words is not None else [None] * self.k
        table = pa.table({
            "topic": pa.array(range(self.k), pa.int32()),
            "weight": pa.array(self.weights, pa.float64()),
            "termIndices": pa.array(top.tolist(), pa.list_(pa.int32())),
            "terms": pa.array(named, pa.list_(pa.string())),
            "termWeights": pa.array(shares.tolist(), pa.list_(pa.float64())),
            "stability": pa.nulls(self.k, pa.float64()) if self.stability is None else pa.array(self.stability),
        })
        return frame_from_arrow(SparkSession.active(), table)

    @property
    def nodes(self) -> NodeTable:
        """The document tree with its proportions, as arrays."""
        return self._fitted.nodes

    def nodeProportions(self) -> DataFrame:
        """The document tree: path, level, documents, effectiveSampleSize, proportions."""
        nodes = self._fitted.nodes
        table = pa.table({
            "path": pa.array([list(path) for path in nodes.paths], pa.list_(pa.string())),
            "level": pa.array(nodes.levels, pa.int32()),
            "documents": pa.array(nodes.documents, pa.int64()),
            "effectiveSampleSize": pa.array(nodes.effective_sample_size, pa.float64()),
            "proportions": pa.array(nodes.proportions.tolist(), pa.list_(pa.float64())),
        })
        return frame_from_arrow(SparkSession.active(), table)

    @cached_property
    def files(self) -> TopicModelFiles:
        """Everything but the moments, as it is saved; what reports are made of."""
        fitted = self._fitted
        return TopicModelFiles(
            fitted.topics, fitted.weights, fitted.vocabulary, fitted.nodes, fitted.summary.toDict(),
            params_metadata(self), changes=fitted.changes, labels=fitted.labels, taxonomy=fitted.taxonomy,
            stability=fitted.stability,
        )
