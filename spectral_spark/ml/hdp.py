"""SpectralHDP and its model: what users import."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.documents import DocumentColumns, node_hashes
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.evaluate.evaluation import ScoredTopics, completion_loss
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.model_files import (
    METADATA,
    MODEL_KIND,
    MODEL_VERSION,
    NodeTable,
    TopicModelFiles,
    model_files_from,
    write_model_files,
)
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_summary import FitSummary
from spectral_spark.fit.fit_topics import basis_of, fit_topics, solve_again
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.update import UpdateOptions, merge_topics, update_topics
from spectral_spark.ml import persistence
from spectral_spark.ml.inference import Proportions, add_proportions
from spectral_spark.ml.params import SpectralHDPModelParams, SpectralHDPParams
from spectral_spark.ml.plots import ModelPictures
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState

ESTIMATOR_KIND, ESTIMATOR_VERSION = "spectral-hdp-estimator", 1


class _Columns(SpectralHDPModelParams):
    """What estimator and model share: the columns."""

    def _document_columns(self, frame: DataFrame) -> DocumentColumns:
        terms, path = self._value("termsCol"), self._value("pathCol")
        if path not in frame.columns and not self.isSet("pathCol"):
            path = None
        features = None if terms else self._value("featuresCol")
        return DocumentColumns(features, terms, self._value("countsCol"), path, self._value("idCol"))


class SpectralHDP(Estimator, _Columns, SpectralHDPParams, MLReadable, MLWritable):
    """Topics of a corpus with a document tree, by spectral inference for the Hierarchical Dirichlet Process.

    A handful of passes: two for a small basis, one for the moments in it, then the driver solves; each refinement pass
    is one more. The same input, settings and seed give the same model, bit for bit, however the data is partitioned.

    Parameters
    ----------
    k : number of topics, or "auto" for the rank of the second moment above its noise.
    featuresCol : Vector column of counts; or ``termsCol`` and ``countsCol``, arrays of word ids and counts.
    pathCol : array<string> from the root's children down to the document's group. Absent column: no tree.
    idCol : identifies a document; without it the document's content does.
    vocabulary : the words by id, for ``describeTopics``; ``vocabSize`` where only their number is known.
    solver : "polar", "power", "als" or "sketch".
    weighting : "tokens", "ess" or "uniform".
    layers : "all", or 2, 3, … to cut the tree.
    concentrations : "auto", "calibrated", or one number per layer below the root.
    rankRule, tensors, basisSize, countCap, wordScaling, rangePasses : of the spectral step, see ``explainParams()``.
    refinePasses : passes of incremental EM from the spectral start, with priors from the tree.
    exploreSweeps : sweeps of sampling, on the driver over a part of the documents, before these passes; or "auto".
    groupBalance : whom sampling and refinement serve, b from 0 to 1. A document counts in proportion to n^-b, n the
        documents of its top-level group: 0, all documents count alike and a large group gets most of the topics; 1, all
        groups do; between, where some groups have only a handful of documents. It weighs the words of topics; moments,
        spectral start and proportions of the tree are those of the documents as they are.
    checkpointDir : keeps finished passes until the fit is done; the same fit started again goes on from there.
    seed : of everything random.

    Examples
    --------
    >>> model = SpectralHDP(k=20, featuresCol="counts", pathCol="path").fit(df)     # doctest: +SKIP
    >>> model.describeTopics(10).show()                                            # doctest: +SKIP
    """

    progress: Progress = Progress()
    basis: Basis | None = None

    def setProgress(self, progress: Progress) -> "SpectralHDP":
        """Where to show progress, for example ``engine.progress.TerminalProgress()``. Not a parameter: not saved."""
        self.progress = progress
        return self

    def setBasis(self, basis: Basis | None) -> "SpectralHDP":
        """Collect moments in this basis instead of finding one, so that they add up with other fits in it."""
        self.basis = basis
        return self

    def copy(self, extra: dict | None = None) -> "SpectralHDP":
        that: SpectralHDP = super().copy(extra)
        that.progress, that.basis = self.progress, self.basis
        return that

    def findBasis(self, dataset: DataFrame) -> Basis:
        """Only the passes that find a basis; give it to other fits with ``setBasis``."""
        words = self._value("vocabulary")
        return basis_of(
            dataset, self._document_columns(dataset), self.fitSettings(), tuple(words) if words else None,
            self._value("vocabSize"), self.progress,
        )

    def _fit(self, dataset: DataFrame) -> "SpectralHDPModel":
        words = self._value("vocabulary")
        fitted = fit_topics(
            dataset, self._document_columns(dataset), self.fitSettings(),
            vocabulary=tuple(words) if words else None, vocab_size=self._value("vocabSize"), basis=self.basis,
            progress=self.progress, checkpoint_dir=self._value("checkpointDir"),
        )
        return self._copyValues(SpectralHDPModel(fitted))

    def write(self) -> persistence.DirectoryWriter:
        def fill(staging: Staging) -> None:
            staging.write_line(METADATA, persistence.params_metadata(self))

        return persistence.DirectoryWriter(ESTIMATOR_KIND, ESTIMATOR_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralHDP"]:
        def build(saved: SavedDirectory) -> SpectralHDP:
            estimator = cls()
            persistence.restore_params(estimator, persistence.metadata_of(saved), saved.path)
            return estimator

        return persistence.DirectoryReader(ESTIMATOR_KIND, ESTIMATOR_VERSION, build)


class SpectralHDPModel(Model, _Columns, ModelPictures, MLReadable, MLWritable):
    """Topics, the tree's proportions, and the moments they came from."""

    def __init__(self, fitted: FittedTopics) -> None:
        super().__init__()
        self._fitted = fitted

    @property
    def k(self) -> int:  # type: ignore[override]
        """Number of topics."""
        return int(self._fitted.topics.shape[1])

    @property
    def vocabSize(self) -> int:  # type: ignore[override]
        """Number of words d."""
        return int(self._fitted.topics.shape[0])

    @property
    def words(self) -> tuple[str, ...] | None:
        """The vocabulary, None when it is not known."""
        return self._fitted.vocabulary

    @property
    def weights(self) -> np.ndarray:
        """Share of the corpus' words of each topic, shape (k,); with a groupBalance, of the words as they counted."""
        return self._fitted.weights

    @property
    def summary(self) -> FitSummary:
        """The run report."""
        return self._fitted.summary

    @property
    def moments(self) -> MomentState:
        """The additive summary of the corpus: add it to others', save it, solve it again with other settings."""
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

    def topicsMatrix(self) -> np.ndarray:
        """Topics of shape (d, k); columns are positive and sum to one."""
        return self._fitted.topics

    def describeTopics(self, maxTermsPerTopic: int = 10) -> DataFrame:
        """The heaviest words of each topic: topic, weight, termIndices, terms (null if unknown), termWeights."""
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
        })
        return SparkSession.active().createDataFrame(table)

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
        return SparkSession.active().createDataFrame(table)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self._value("topicDistributionCol")
        if output in dataset.columns:
            raise InputError(f"column '{output}' exists; set topicDistributionCol to another name")
        added = add_proportions(dataset, self._document_columns(dataset), output, self._proportions(dataset))
        return added.withColumn(output, F.when(F.col(f"`{output}`").isNotNull(), array_to_vector(F.col(f"`{output}`"))))

    def _proportions(self, dataset: DataFrame) -> Proportions:
        if self._inference is None:                     # kept, so that all transforms share one broadcast
            hashes = node_hashes(dataset.sparkSession, self._fitted.nodes.paths)
            self._inference = Proportions(
                self._fitted.topics, self._fitted.nodes.proportions, *hashes, self._fitted.document_concentration
            )
        return self._inference

    _inference: Proportions | None = None

    def logPerplexity(self, dataset: DataFrame) -> float:
        """Document completion in nats per word: proportions from half of a document's words, loss on the others."""
        columns = self._document_columns(dataset)
        return completion_loss(dataset, columns, ScoredTopics.of_model(self.files), seed=self._value("seed"))

    def solveAgain(self, **settings: Any) -> "SpectralHDPModel":
        """A model from the same moments with another ``k``, ``solver``, ``concentrations``, ``rankRule`` or ``seed``.

        Takes seconds and no pass over the data; the topics are spectral ones, without refinement.
        """
        before = FitSettings.from_dict(self.summary.settings)
        estimator = SpectralHDP(
            k=before.k, solver=before.solver, concentrations=before.concentrations, rankRule=before.rank_rule,
            tensors=before.tensors, seed=before.seed,
        ).setParams(**settings)
        asked = estimator.fitSettings()
        changed = replace(
            before, k=asked.k, solver=asked.solver, concentrations=asked.concentrations, rank_rule=asked.rank_rule,
            tensors=asked.tensors, seed=asked.seed, refine_passes=0,
        )
        return self._with(solve_again(self._fitted, changed))

    def setCorpus(self, name: str, dropped: dict[str, int], heldOut: int | None = None) -> "SpectralHDPModel":
        """Say in the run report what corpus this is, what reading it dropped, and how many are for testing."""
        summary = self._fitted.summary
        known = {"name": name, "dropped": dict(dropped)} | ({} if heldOut is None else {"held_out": heldOut})
        extra = {**summary.extra, "corpus": known}
        self._fitted = replace(self._fitted, summary=replace(summary, extra=extra))
        self.__dict__.pop("files", None)
        return self

    @property
    def changes(self) -> dict[str, Any] | None:
        """How topics moved in the update that made this model, and its drift; None for a fit."""
        return self._fitted.changes

    def setProgress(self, progress: Progress) -> "SpectralHDPModel":
        """Where updates show progress."""
        self._progress = progress
        return self

    _progress = Progress()

    def update(
        self, dataset: DataFrame, *, remove: bool = False, skipKnown: bool = False, unseenShare: float = 0.0,
        replay: DataFrame | None = None, checkpointDir: str | None = None,
    ) -> "SpectralHDPModel":
        """A model of the old documents and these (or, with ``remove``, without these), from the moments.

        Costs passes over ``dataset`` only. The same documents twice are refused, or skipped with ``skipKnown``.
        ``replay`` are old documents to refine with again; ``unseenShare`` the share of words left out on the way here.
        A ``groupBalance`` stays: new documents count by the sizes that the groups have with them; the old ones are in
        the topics as they counted then, and are weighed anew only by ``replay`` or a new fit.
        """
        options = UpdateOptions(remove, skipKnown, unseenShare, checkpointDir)
        fitted = update_topics(
            self._fitted, dataset, self._document_columns(dataset), options, replay=replay, progress=self._progress
        )
        return self._with(fitted)

    def merge(self, other: "SpectralHDPModel") -> "SpectralHDPModel":
        """A model of the documents of both; both must have been fitted in the same basis. No documents are needed."""
        return self._with(merge_topics(self._fitted, other._fitted))

    def _with(self, fitted: FittedTopics) -> "SpectralHDPModel":
        model: SpectralHDPModel = self._copyValues(SpectralHDPModel(fitted))
        return model

    @cached_property
    def files(self) -> TopicModelFiles:
        """Everything but the moments, as it is saved; what reports are made of."""
        fitted = self._fitted
        return TopicModelFiles(
            fitted.topics, fitted.weights, fitted.vocabulary, fitted.nodes, fitted.summary.toDict(),
            persistence.params_metadata(self), changes=fitted.changes,
        )

    def write(self) -> persistence.DirectoryWriter:
        def fill(staging: Staging) -> None:
            write_model_files(staging, self.files)
            if self._fitted.moments is not None:
                self._fitted.moments.write_into(staging, "moments/")

        return persistence.DirectoryWriter(MODEL_KIND, MODEL_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralHDPModel"]:
        def build(saved: SavedDirectory) -> SpectralHDPModel:
            files = model_files_from(saved)
            moments = MomentState.read_from(saved, "moments/") if saved.has("moments/state.json") else None
            model = cls(FittedTopics.from_files(files, moments))
            persistence.restore_params(model, files.metadata, saved.path)
            return model

        return persistence.DirectoryReader(MODEL_KIND, MODEL_VERSION, build)
