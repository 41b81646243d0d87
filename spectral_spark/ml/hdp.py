"""SpectralHDP and its model: what users import."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.documents import node_hashes
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.evaluate.evaluation import ScoredTopics, completion_loss
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.formats import ESTIMATOR_KIND, ESTIMATOR_VERSION
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
from spectral_spark.fit.merge import merge_topics
from spectral_spark.fit.reuse import Reused, reusable
from spectral_spark.fit.update import UpdateOptions, update_topics
from spectral_spark.ml import persistence
from spectral_spark.ml.document_input import COLUMN_PARAMS, DocumentInput
from spectral_spark.ml.evaluation_column import METADATA_KEY, DocumentEvaluation, add_evaluation
from spectral_spark.ml.inference import Proportions, add_proportions
from spectral_spark.ml.local_documents import TEXT, as_table, is_local, is_texts, local_proportions, to_spark
from spectral_spark.ml.params import AUTO, SpectralHDPParams
from spectral_spark.ml.plots import ModelPictures
from spectral_spark.ml.training_documents import TrainingDocuments, training_documents
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.remembered_files import read_remembered, write_remembered
from spectral_spark.refine.fixed_topics import FixedTopics
from spectral_spark.serve.topic_model import TopicModel
from spectral_spark.text.text_recipe import TEXT_JSON, TextCounter, TextRecipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from pyspark.ml.feature import CountVectorizerModel


class SpectralHDP(Estimator, DocumentInput, SpectralHDPParams, MLReadable, MLWritable):
    """Topics of a corpus with a document tree, by spectral inference for the Hierarchical Dirichlet Process.

    A handful of passes: two for a small basis, one for the moments in it, then the driver solves; each refinement pass
    is one more. The same input, settings and seed give the same model, bit for bit, however the data is partitioned.

    Parameters
    ----------
    k : Number of topics, or auto to estimate it from the spectrum of the second moment. Default auto.
    featuresCol : Column of word counts as pyspark.ml Vectors, as CountVectorizer makes it. Default features.
    termsCol : Column with an array of word ids per document. Use it with countsCol, instead of featuresCol.
    countsCol : Column with an array of counts, one for each entry of termsCol.
    textCol : Column of raw text, instead of featuresCol. Its words are counted as ingest counts them.
    stopWords : Words to leave out of textCol. Default english.
    minWordLength : Words of textCol with fewer letters are left out. Default 3.
    minDocuments : A word of textCol must occur in at least this many documents. Default 10.
    maxDocumentShare : A word of textCol must not occur in a larger share of the documents. Default 0.5.
    pathCol : Column with the document's path in the tree: an array of strings, from the top-level group down to the
        group that holds the document, or one string, the group. If the column is absent, there is no tree. Default
        path.
    pathCols : Columns with the names of the document's groups, one column per level of the tree, instead of
        pathCol.
    idCol : Column that identifies a document. Without it, documents are told apart by their content.
    topicDistributionCol : Column of topic proportions that transform adds. Default topicDistribution.
    evaluationCol : Column that transform adds for TopicModelEvaluator; an empty name leaves it out. Spark computes
        it only where it is used. Default evaluation.
    vocabulary : The words in the order of their ids.
    vocabSize : Number of distinct words. With termsCol, needed when there is no vocabulary; with textCol, the most
        words to keep (10,000 if not set).
    solver : Algorithm that decomposes the third moment into topics: polar, power, als or sketch. Default polar.
    weighting : How documents are weighted in the moments: by their number of words (tokens), equally (ess), or so
        that every tree node is the plain average of its children (uniform). Default tokens.
    layers : Layers of the document tree to use: 2 ignores the groups, 3 uses one level of groups, and so on.
        Default all.
    concentrations : Dirichlet concentrations, one per layer below the root, from the top down, or one for the
        documents alone. Given numbers are used by every step and stay as they are; auto learns them during
        refinement (without refinement, by held-out loss); calibrated takes them from the moments. Default auto.
    refinePasses : Passes of EM over all documents after the spectral start. More passes improve the topics
        slightly. Default 2.
    exploreSweeps : Sweeps of Gibbs sampling over a subset of the documents before the refinement passes; 0 for
        none. auto runs 60 sweeps, and up to 300 on small corpora. Default auto.
    groupBalance : How strongly small top-level groups are up-weighted in sampling and refinement: 0 counts all
        documents equally, 1 counts all groups equally. A document's weight is proportional to (documents in its
        group)^-B, and at most 16 times that of a document in the largest group. Default 0.
    replayWords : Size of the sample of documents, as word ids and counts without text, that stays with the model so
        that updates can refine the topics again; in words. 0 keeps none. Default 6000000.
    checkpointDir : Directory that keeps finished passes until the fit is done, so that the same fit resumes after
        it was killed.
    seed : Random seed. The same documents, settings and seed give the same model, bit for bit. Default 0.
    rankRule : How topics are counted when k is auto: eigenvalues above the noise floor, the largest relative gap
        between eigenvalues, or the rule of the paper. Default noise-floor.
    basisSize : Columns of the basis in which moments are collected. auto takes a quarter more than k (at least 10
        more), or 128 when k is auto too. Default auto.
    rangePasses : Passes of subspace iteration that find the basis. Default 2.
    wordScaling : Exponent A of the word scaling (word frequency)^-A in the basis; larger values give rare words
        more influence. Default 0.25.
    countCap : A word counts at most this many times per document in the moments; 0 for no cap. Default 16.
    tensors : Which third moments to decompose: that of the whole corpus (root), or the average over groups
        (groups), which suits a few large groups. Default root.

    Examples
    --------
    ``notes`` is a DataFrame with the columns ``text`` and ``place``.

    >>> model = SpectralHDP(k=2, textCol="text", pathCol="place", minDocuments=2, seed=1).fit(notes)
    >>> model.k, model.topicsMatrix().shape == (model.vocabSize, 2)
    (2, True)
    >>> sorted(row["terms"][0] for row in model.describeTopics(3).collect())
    ['bread', 'wind']
    >>> model.transform(["wind in the sails"]).shape
    (1, 2)

    Counts of words work as well, for example those of a ``CountVectorizer`` in a ``Pipeline``:

    >>> from pyspark.ml import Pipeline
    >>> from pyspark.ml.feature import CountVectorizer, RegexTokenizer
    >>> pipeline = Pipeline(stages=[
    ...     RegexTokenizer(inputCol="text", outputCol="words"),
    ...     CountVectorizer(inputCol="words", outputCol="features"),
    ...     SpectralHDP(k=2, seed=1),
    ... ])
    >>> "wind" in pipeline.fit(notes).stages[-1].vocabulary
    True
    """

    progress: Progress = Progress()
    basis: Basis | None = None
    initial: "SpectralHDPModel | None" = None

    def setProgress(self, progress: Progress) -> "SpectralHDP":
        """Where to show progress, for example ``engine.progress.TerminalProgress()``. Not a parameter: not saved."""
        self.progress = progress
        return self

    def setBasis(self, basis: Basis | None) -> "SpectralHDP":
        """Collect moments in this basis instead of finding one, so that they add up with other fits in it."""
        self.basis = basis
        return self

    def setVocabulary(self, value: "Sequence[str] | CountVectorizerModel | None") -> Self:
        """Name the words: a list in the order of their ids, or a fitted ``CountVectorizerModel``.

        In a ``Pipeline`` behind a ``CountVectorizer`` the words are found without it.
        """
        words: Any = value if isinstance(value, list | tuple) else getattr(value, "vocabulary", value)
        return super().setVocabulary(words)

    def setInitialModel(self, model: "SpectralHDPModel | None") -> "SpectralHDP":
        """Start from a fitted model: its vocabulary, its basis and, for the same documents, its moments are reused.

        See ``SpectralHDPModel.refit``. Not a parameter: not saved.
        """
        self.initial = model
        return self

    def copy(self, extra: dict | None = None) -> "SpectralHDP":
        that: SpectralHDP = super().copy(extra)
        that.progress, that.basis, that.initial = self.progress, self.basis, self.initial
        return that

    def fit(self, dataset: Any, params: Any = None) -> Any:
        """Fit a model to documents.

        Parameters
        ----------
        dataset : DataFrame, pandas.DataFrame or list of str
            Documents. A list of strings is taken as one text per document; a pandas DataFrame goes to Spark first, and
            a session is started where none is running.
        params : dict or list of dict, optional
            Parameters for this fit only, as in ``pyspark.ml``.

        Returns
        -------
        SpectralHDPModel, or a list of them for a list of ``params``.
        """
        if not is_local(dataset):
            return super().fit(dataset, params)
        estimator = self
        if is_texts(dataset) and not self._value("textCol"):
            estimator = self.copy({self.textCol: TEXT})
        frame = to_spark(as_table(dataset, estimator._value("textCol") or TEXT), estimator._column_names())
        return super(SpectralHDP, estimator).fit(frame, params)

    def findBasis(self, dataset: DataFrame) -> Basis:
        """Only the passes that find a basis; give it to other fits with ``setBasis``."""
        with self._documents(dataset) as found:
            return basis_of(
                found.frame, found.columns, self.fitSettings(), found.words, found.vocab_size, self.progress
            )

    def _documents(self, dataset: DataFrame) -> AbstractContextManager[TrainingDocuments]:
        words, first = self._value("vocabulary"), self.initial
        if words is None and first is not None:
            words = first.vocabulary
        return training_documents(self, dataset, tuple(words) if words else None, first.textRecipe if first else None)

    def _fit(self, dataset: DataFrame) -> "SpectralHDPModel":
        settings, first = self.fitSettings(), self.initial
        reused = Reused(self.basis)
        if first is not None and self.basis is None:
            reused = reusable(first._fitted.moments, FitSettings.from_dict(first.summary.settings), settings)
        with self._documents(dataset) as found:
            fitted = fit_topics(
                found.frame, found.columns, settings, vocabulary=found.words, vocab_size=found.vocab_size,
                basis=reused.basis, moments=reused.moments, progress=self.progress,
                checkpoint_dir=self._value("checkpointDir"),
            )
        return self._copyValues(SpectralHDPModel(fitted, found.recipe))

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


class SpectralHDPModel(ModelPictures, Model, DocumentInput, MLReadable, MLWritable):
    """Topics, the tree's proportions, and the moments they came from."""

    def __init__(self, fitted: FittedTopics, recipe: TextRecipe | None = None) -> None:
        super().__init__()
        self._fitted = fitted
        self._recipe = recipe

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
        """The words in the order of their ids; None when they are not known."""
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

    _document_evaluation: DocumentEvaluation | None = None

    def _proportions(self, spark: SparkSession) -> Proportions:
        """What infers proportions on executors; kept, so that all transforms share one broadcast."""
        if self._inference is None:
            fitted = self._fitted
            topics = FixedTopics(fitted.topics, fitted.nodes.proportions, fitted.document_concentration)
            self._inference = Proportions(topics, *node_hashes(spark, fitted.nodes.paths))
        return self._inference

    _inference: Proportions | None = None

    def logPerplexity(self, dataset: DataFrame) -> float:
        """Document completion in nats per word: proportions from half of a document's words, loss on the others."""
        if is_local(dataset):
            dataset = to_spark(as_table(dataset, self._value("textCol") or TEXT), self._column_names())
        ready = self._prepared(dataset, scoring=True, counter=self._counter)
        return completion_loss(ready.frame, ready.columns, ScoredTopics.of_model(self.files), seed=self._value("seed"))

    def solveAgain(self, **settings: Any) -> "SpectralHDPModel":
        """Unrefined topics with another ``k``, ``solver``, ``concentrations``, ``rankRule`` or ``seed``.

        Takes seconds and reads no documents, only the stored moments. But the topics are those of the spectral step,
        without sampling and refinement, and clearly worse than those of a fit: on 64,000 short texts with 30 topics,
        the held-out loss was 6.86 where a fit had 6.68. Use it to compare numbers of topics, then call ``refit`` with
        the documents at hand.
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

    def refit(self, dataset: Any, **settings: Any) -> "SpectralHDPModel":
        """A full fit with other settings that reuses what this model already knows about the documents.

        Up to as many topics as the basis has columns, the basis is reused, and for the documents that the model was
        fitted to, its moments as well: only sampling and refinement read the documents again. With a larger ``k`` the
        basis has to grow, and the fit starts from the beginning in the same vocabulary.

        Parameters
        ----------
        dataset : DataFrame, pandas.DataFrame or list of str
            The documents, with the columns that the model was fitted to.
        **settings
            Parameters of :class:`SpectralHDP`, for example ``k=60``.

        Examples
        --------
        >>> model = SpectralHDP(k=2, textCol="text", minDocuments=2).fit(notes)
        >>> model.refit(notes, k=3).k
        3
        """
        estimator: SpectralHDP = self._copyValues(SpectralHDP())
        estimator.setParams(k=self.summary.settings.get("k", AUTO))
        if "basisSize" not in settings:
            estimator.clear(estimator.basisSize)
        estimator.setParams(**settings).setInitialModel(self).setProgress(self._progress)
        model: SpectralHDPModel = estimator.fit(dataset)
        return model

    def setCorpus(
        self, name: str, dropped: dict[str, int], heldOut: int | None = None, cutWords: Sequence[str] | None = None
    ) -> "SpectralHDPModel":
        """Say in the run report what corpus this is, what reading it dropped, and how many are for testing.

        ``cutWords`` were left out of the vocabulary on purpose: an update does not take them for new words.
        """
        summary = self._fitted.summary
        known: dict[str, Any] = {"name": name, "dropped": dict(dropped)}
        known |= {} if heldOut is None else {"held_out": heldOut}
        known |= {} if cutWords is None else {"cut_words": list(cutWords)}
        extra = {**summary.extra, "corpus": known}
        self._fitted = replace(self._fitted, summary=replace(summary, extra=extra))
        self.__dict__.pop("files", None)
        return self

    def setTextRecipe(self, recipe: TextRecipe | None) -> "SpectralHDPModel":
        """Say how the words were made from text, so that the model can read text."""
        self._recipe = recipe
        self.__dict__.pop("_counter", None)
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
        cutShare: float = 0.0, replay: DataFrame | None = None, checkpointDir: str | None = None,
    ) -> "SpectralHDPModel":
        """A model of the old documents and these (or, with ``remove``, without these), from the moments.

        Costs passes over ``dataset`` only. The same documents twice are refused, or skipped with ``skipKnown``.
        ``replay`` are old documents to refine with again; ``unseenShare`` the share of words left out on the way here,
        ``cutShare`` that of words which the vocabulary leaves out on purpose.
        A ``groupBalance`` stays: new documents count by the sizes that the groups have with them; the old ones are in
        the topics as they counted then, and are weighed anew only by ``replay`` or a new fit.
        """
        options = UpdateOptions(remove, skipKnown, unseenShare, checkpointDir, cutShare)
        ready = self._prepared(dataset, counter=self._counter)
        again = None if replay is None else self._prepared(replay, counter=self._counter).frame
        fitted = update_topics(
            self._fitted, ready.frame, ready.columns, options, replay=again, progress=self._progress
        )
        return self._with(fitted)

    def merge(self, other: "SpectralHDPModel") -> "SpectralHDPModel":
        """A model of the documents of both; both must have been fitted in the same basis. No documents are needed."""
        return self._with(
            merge_topics(self._fitted, other._fitted, spark=SparkSession.active(), progress=self._progress)
        )

    def _with(self, fitted: FittedTopics) -> "SpectralHDPModel":
        model: SpectralHDPModel = self._copyValues(SpectralHDPModel(fitted, self._recipe))
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
            write_remembered(staging, self._fitted.known, self._fitted.sample)
            if self._recipe is not None:
                staging.write_json(TEXT_JSON, self._recipe.as_dict())

        return persistence.DirectoryWriter(MODEL_KIND, MODEL_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralHDPModel"]:
        def build(saved: SavedDirectory) -> SpectralHDPModel:
            files = model_files_from(saved)
            moments = MomentState.read_from(saved, "moments/") if saved.has("moments/state.json") else None
            recipe = None
            if saved.has(TEXT_JSON):
                recipe = TextRecipe.from_dict(saved.read_json(TEXT_JSON), f"{saved.path}/{TEXT_JSON}")
            model = cls(FittedTopics.from_files(files, moments, *read_remembered(saved)), recipe)
            persistence.restore_params(model, files.metadata, saved.path, retired=("vocabulary",))
            return model

        return persistence.DirectoryReader(MODEL_KIND, MODEL_VERSION, build)
