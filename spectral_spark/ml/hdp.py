"""SpectralHDP and its model: what users import."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame
from typing_extensions import Self

from spectral_spark.answers.choose_k import ChoiceInput, choose_k
from spectral_spark.answers.k_recommendation import STABLE, KChoice
from spectral_spark.data.settings import HDP
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.formats import ESTIMATOR_KIND, ESTIMATOR_VERSION
from spectral_spark.files.model_files import (
    MODEL_KIND,
    MODEL_VERSION,
    TopicModelFiles,
    model_files_from,
    write_model_files,
)
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fit_topics import basis_of, fit_topics, solve_again, topics_below
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.fit.reuse import Reused, reusable
from spectral_spark.ml import persistence
from spectral_spark.ml.document_input import DocumentInput, TrainingDocuments, training_documents
from spectral_spark.ml.local_documents import TEXT, is_texts
from spectral_spark.ml.model_writer import ModelWriter
from spectral_spark.ml.params import AUTO, SpectralHDPParams
from spectral_spark.ml.topic_updates import TopicUpdates
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.remembered_files import read_remembered, write_remembered
from spectral_spark.text.text_recipe import TEXT_JSON, TextRecipe

if TYPE_CHECKING:
    from pyspark.ml.feature import CountVectorizerModel

# What may change between the moments of a fit and its topics.
SOLVED_WITH = ("k", "solver", "concentrations", "rankRule", "tensors", "spectralStep", "seed")


class SpectralHDP(Estimator, DocumentInput, SpectralHDPParams, MLReadable, MLWritable):
    """Topics of a corpus with a document tree, by spectral inference for the Hierarchical Dirichlet Process.

    A fit reads the documents about a dozen times: at most eight times to find a small basis, once to collect the
    moments in it, once for Gibbs sampling, and three times to refine the topics. The driver solves for the topics in
    between. A corpus of more than six million words is sampled where its documents are, and not refined afterwards. The
    same input, settings and seed give the same model, bit for bit, however the data is partitioned.

    Parameters
    ----------
    k : Number of topics, or auto to estimate it from the spectrum of the second moment. Default auto.
    featuresCol : Column of word counts as pyspark.ml Vectors, as CountVectorizer makes it. Default features.
    termsCol : Column with an array of word ids per document. Use it with countsCol, instead of featuresCol.
    countsCol : Column with an array of counts, one for each entry of termsCol.
    textCol : Column of raw text, instead of featuresCol. Its words are counted as ingest counts them.
    stopWords : Words to leave out of textCol: the lists of languages (german,english), none, a file with one word per
        line, or a list of words. Where language is given, its lists are the default. Default english.
    language : Languages of the texts, as codes or names (de,en): their stop words are left out, Chinese and Japanese
        are cut into words, and elided articles are cut off in French, Italian and Catalan.
    lemmas : Take words in their dictionary form, in the languages given (English by default). Default False.
    phrases : Find phrases such as natural gas and take each as one word, natural_gas: at most so many, or all that pass
        a test (auto). None by default.
    minWordLength : Words of textCol with fewer letters are left out. Default 3.
    minDocuments : A word of textCol must occur in at least this many documents. Default 10.
    maxDocumentShare : A word of textCol must not occur in a larger share of the documents. Default 0.5.
    pathCol : Column with the document's path in the tree: an array of strings, from the top-level group down to the
        group that holds the document, or one string, the group. If the column is absent, there is no tree. Default
        path.
    pathCols : Columns with the names of the document's groups, one column per level of the tree, instead of pathCol.
    idCol : Column that identifies a document. Without it, documents are told apart by their content.
    topicDistributionCol : Column of topic proportions that transform adds. Default topicDistribution.
    evaluationCol : Column that transform adds for TopicModelEvaluator; an empty name leaves it out. Spark computes it
        only where it is used. Default evaluation.
    vocabulary : The words in the order of their ids.
    vocabSize : Number of distinct words. With termsCol, needed when there is no vocabulary; with textCol, the most
        words to keep (10,000 if not set).
    solver : Algorithm that decomposes the third moment into topics. implicit never forms that moment: it works on a
        sample of the documents, and its memory grows with k instead of its cube. auto takes implicit beyond 200 topics
        (a basis of 250 columns) and where all words of more than six million are sampled afterwards, and polar, from
        the moments of all documents, otherwise. One of auto, polar, power, als, sketch, implicit. Default auto.
    weighting : How documents are weighted in the moments: by their number of words (tokens), so that every tree node is
        the plain average of its children (uniform), or so that children count by how exactly they are known and how
        much they differ (ess): effective sample sizes by random effects. Default tokens.
    preset : Settings for a purpose: paper is the published spectral algorithm as it is printed, for comparisons, with
        solver power, als or sketch. Settings that are given win over the preset, and the summary names them.
    layers : Layers of the document tree to use: 2 ignores the groups, 3 uses one level of groups, and so on. Default
        all.
    concentrations : Dirichlet concentrations, one per layer below the root, from the top down, or one for the documents
        alone. Given numbers are used by every step and stay as they are; auto learns them during refinement (without
        refinement, by held-out loss); calibrated takes them from the moments. Default auto.
    refinePasses : Passes of EM over all documents after sampling; 0 for neither sampling nor EM. auto runs 2, and none
        for corpora of more than 6 million words, all of which are sampled. Default auto.
    exploreSweeps : Sweeps of Gibbs sampling before the refinement passes; 0 for none. auto runs 60 sweeps, and up to
        300 on small corpora. Of a corpus with more than 6 million words a sample is swept (160 times with auto), then
        all words, a tenth as often. Default auto.
    groupBalance : How strongly small top-level groups are up-weighted in sampling and refinement: 0 counts all
        documents equally, 1 counts all groups equally. A document's weight is proportional to (documents in its
        group)^-B, and at most 16 times that of a document in the largest group. Default 0.
    seeds : Words that topics are to be about: a TOML file with a table for each topic, or the same as a dict, in short
        {"name": ["word", "word"]}. The topics get the names and numbers given there.
    background : Give the words that are common everywhere a topic of their own, the last one.
    replayWords : Size of the sample of documents, as word ids and counts without text, that stays with the model so
        that updates can refine the topics again; in words. 0 keeps none. Default 6000000.
    checkpointDir : Directory that keeps finished passes until the fit is done, so that the same fit resumes after it
        was killed.
    seed : Random seed. The same documents, settings and seed give the same model, bit for bit. Default 0.
    rankRule : How topics are counted when k is auto: eigenvalues above the noise floor, the largest relative gap
        between eigenvalues, or the rule of the paper. One of noise-floor, gap, paper. Default noise-floor.
    basisSize : Columns of the basis in which moments are collected. auto takes a quarter more than k (at least 10
        more), or 128 when k is auto too, and more where so many topics are found. Default auto.
    rangePasses : Passes that find the basis. auto goes on until it settles, at most 8 times, but takes 2 for more than
        200 topics and before sampling more than six million words. A number is that many of subspace iteration. Default
        auto.
    wordScaling : Exponent A of the word scaling (word frequency)^-A in the basis; larger values give rare words more
        influence. Default 0.25.
    countCap : A word counts at most this many times per document in the moments; 0 for no cap. Default 16.
    tensors : Which third moments to decompose: that of the whole corpus (root), or the average over groups (groups),
        which is exact for the groups at hand. auto tries both on held-out words where concentrations are auto and
        nothing is refined; before a refinement it takes groups for up to 64 groups of at least 50 documents each, and
        root otherwise. Default auto.
    spectralStep : How moments become topics. printed follows the paper to the letter: whitening by singular values,
        solvers without polish, topics and weights from eigenvalues, no smoothing; its topics contain zeros. One of
        robust, printed. Default robust.
    nodeSums : With the weightings uniform and ess: whether the moments of every tree node are kept apart, as updates,
        merges and removals need them; that takes time and memory for every node. auto keeps them in small trees, keep
        in all of up to 256 MiB. Default auto.

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
            Documents. A list of strings has one text per document. A pandas DataFrame is sent to Spark first; a session
            is started if none is running.
        params : dict or list of dict, optional
            Parameters for this fit only, as in ``pyspark.ml``.

        Returns
        -------
        SpectralHDPModel, or a list of them for a list of ``params``.
        """
        if isinstance(dataset, DataFrame):
            return super().fit(dataset, params)
        estimator = self
        if is_texts(dataset) and not self._value("textCol"):
            estimator = self.copy({self.textCol: TEXT})
        return super(SpectralHDP, estimator).fit(estimator._on_spark(dataset), params)

    def findBasis(self, dataset: Any) -> Basis:
        """Only the passes that find a basis; give it to other fits with ``setBasis``."""
        with self._documents(self._on_spark(dataset)) as found:
            return basis_of(
                found.frame, found.columns, self.fitSettings(), found.words, found.vocab_size, self.progress
            )

    def chooseK(
        self, dataset: Any, ks: Sequence[int | str], test: Any = None, *, stable: float = STABLE
    ) -> KChoice:
        """Compare numbers of topics: held-out loss, coherence, exclusivity, and how many topics come back.

        Four models are fitted for every number, all from the same moments: two seeds on all documents, and one on each
        half of the documents.

        Parameters
        ----------
        dataset : documents, as for ``fit``.
        ks : numbers of topics, and "auto" for what the spectrum suggests.
        test : held-out documents with the same columns; by default, a tenth of ``dataset``.
        stable : the share of topics that must come back from another seed for a number to be recommended.

        Returns
        -------
        KChoice
            ``results``, one per number, ``recommended`` and the ``reason`` for it; ``rows()`` gives dicts.
        """
        if test is not None and self._value("textCol"):
            raise SettingsError("chooseK: `test` needs counted words; with `textCol` leave it out, and a tenth of the "
                                "documents is held out")
        test = None if test is None else self._on_spark(test)
        with self._documents(self._on_spark(dataset)) as found:
            given = ChoiceInput(found.frame, test, found.columns, found.words, found.vocab_size)
            return choose_k(given, self.fitSettings(), ks, stable=stable, progress=self.progress)

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
        return persistence.estimator_writer(self, ESTIMATOR_KIND, ESTIMATOR_VERSION)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralHDP"]:
        return persistence.estimator_reader(cls, ESTIMATOR_KIND, ESTIMATOR_VERSION)


class SpectralHDPModel(TopicUpdates, MLReadable, MLWritable):
    """Topics, the tree's proportions, and the moments they came from."""

    def solveAgain(self, **settings: Any) -> "SpectralHDPModel":
        """Unrefined topics with another ``k``, ``solver``, ``concentrations``, ``rankRule`` or ``seed``.

        Takes seconds and reads no documents, only the stored moments; ``tensors`` and ``spectralStep`` may be changed
        as well. But the topics are those of the spectral step,
        without sampling and refinement, and clearly worse than those of a fit: on 64,000 short texts with 30 topics,
        the held-out loss was 6.86 where a fit had 6.68. Use it to compare numbers of topics, then call ``refit`` with
        the documents at hand.
        """
        return self._with(solve_again(self._fitted, self._asked(settings)))

    def subtree(self, path: str | Sequence[str], **settings: Any) -> "SpectralHDPModel":
        """Unrefined topics of the documents at or below one node of the tree, which becomes the root.

        Solves the node's own moments, in seconds and without reading documents, with its own number of topics and its
        own concentrations. The model must have kept the sums of every node: ``weighting`` "uniform" or "ess".

        Parameters
        ----------
        path : the names of the node's groups from the top down, as a list or joined by "/".
        **settings : ``k`` (default "auto"), ``solver``, ``concentrations``, ``rankRule`` or ``seed``. Concentrations
            that were given at the fit are used for the levels below the node, unless others are given.
        """
        names = [name for name in path.split("/") if name] if isinstance(path, str) else list(path)
        asked = self._asked({"k": "auto", **settings})
        if "concentrations" not in settings and len(asked.given_concentrations) > 1:
            *levels, documents = asked.given_concentrations
            below = (len(known) for known in self._fitted.nodes.paths if list(known[: len(names)]) == names)
            asked = replace(asked, concentrations=(*levels[len(names) : max(below, default=0)], documents))
        return self._with(topics_below(self._fitted, names, asked))

    def _asked(self, settings: dict[str, Any]) -> FitSettings:
        """The settings of the fit with those of the solver changed."""
        for name in settings:
            if name in HDP and name not in SOLVED_WITH:
                raise SettingsError(f"`{name}` is not for solving the moments of a fit again, which takes "
                                    f"{', '.join(SOLVED_WITH)}; for other settings use `refit`")
        before = FitSettings.from_dict(self.summary.settings)
        estimator = SpectralHDP(
            k=before.k, solver=before.solver, concentrations=before.concentrations, rankRule=before.rank_rule,
            tensors=before.tensors, spectralStep=before.spectral_step, seed=before.seed,
        ).setParams(**settings)
        asked = estimator.fitSettings()
        return replace(
            before, k=asked.k, solver=asked.solver, concentrations=asked.concentrations, rank_rule=asked.rank_rule,
            tensors=asked.tensors, spectral_step=asked.spectral_step, seed=asked.seed, refine_passes=0,
        )

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

    def write(self) -> ModelWriter:
        def fill(staging: Staging, files: TopicModelFiles) -> None:
            write_model_files(staging, files)
            if self._fitted.moments is not None:
                self._fitted.moments.write_into(staging, "moments/")
            write_remembered(staging, self._fitted.known, self._fitted.sample)
            if self._recipe is not None:
                staging.write_json(TEXT_JSON, self._recipe.as_dict())

        return ModelWriter(self.files, fill)

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
