"""Parameters of SpectralHDP with their getters and setters.

Generated from ``data/settings.py`` by ``python -m spectral_spark.cli.generate``: change the table, not this file.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.ml.param import Param
from pyspark.ml.param.shared import HasFeaturesCol, HasSeed, HasSolver
from typing_extensions import Self

from spectral_spark.data.settings import HDP
from spectral_spark.ml.table_params import TableParams, given_keywords, param


class HDPModelParams(TableParams, HasFeaturesCol, HasSeed, HasSolver):
    """Parameters that the estimator shares with its model, and the setters of the columns."""

    _table = HDP
    k: "Param[Any]" = param(HDP["k"])
    featuresCol: "Param[Any]" = param(HDP["featuresCol"])
    termsCol: "Param[Any]" = param(HDP["termsCol"])
    countsCol: "Param[Any]" = param(HDP["countsCol"])
    textCol: "Param[Any]" = param(HDP["textCol"])
    stopWords: "Param[Any]" = param(HDP["stopWords"])
    language: "Param[Any]" = param(HDP["language"])
    lemmas: "Param[Any]" = param(HDP["lemmas"])
    phrases: "Param[Any]" = param(HDP["phrases"])
    minWordLength: "Param[Any]" = param(HDP["minWordLength"])
    minDocuments: "Param[Any]" = param(HDP["minDocuments"])
    maxDocumentShare: "Param[Any]" = param(HDP["maxDocumentShare"])
    pathCol: "Param[Any]" = param(HDP["pathCol"])
    pathCols: "Param[Any]" = param(HDP["pathCols"])
    idCol: "Param[Any]" = param(HDP["idCol"])
    topicDistributionCol: "Param[Any]" = param(HDP["topicDistributionCol"])
    evaluationCol: "Param[Any]" = param(HDP["evaluationCol"])
    vocabulary: "Param[Any]" = param(HDP["vocabulary"])
    vocabSize: "Param[Any]" = param(HDP["vocabSize"])
    solver: "Param[Any]" = param(HDP["solver"])
    weighting: "Param[Any]" = param(HDP["weighting"])
    preset: "Param[Any]" = param(HDP["preset"])
    layers: "Param[Any]" = param(HDP["layers"])
    concentrations: "Param[Any]" = param(HDP["concentrations"])
    refinePasses: "Param[Any]" = param(HDP["refinePasses"])
    exploreSweeps: "Param[Any]" = param(HDP["exploreSweeps"])
    groupBalance: "Param[Any]" = param(HDP["groupBalance"])
    seeds: "Param[Any]" = param(HDP["seeds"])
    background: "Param[Any]" = param(HDP["background"])
    replayWords: "Param[Any]" = param(HDP["replayWords"])
    checkpointDir: "Param[Any]" = param(HDP["checkpointDir"])
    seed: "Param[Any]" = param(HDP["seed"])
    rankRule: "Param[Any]" = param(HDP["rankRule"])
    basisSize: "Param[Any]" = param(HDP["basisSize"])
    rangePasses: "Param[Any]" = param(HDP["rangePasses"])
    wordScaling: "Param[Any]" = param(HDP["wordScaling"])
    countCap: "Param[Any]" = param(HDP["countCap"])
    tensors: "Param[Any]" = param(HDP["tensors"])
    spectralStep: "Param[Any]" = param(HDP["spectralStep"])
    nodeSums: "Param[Any]" = param(HDP["nodeSums"])

    def getK(self) -> int | str:
        """Number of topics, or auto to estimate it from the spectrum of the second moment."""
        return self._value("k")

    def getFeaturesCol(self) -> str:
        """Column of word counts as pyspark.ml Vectors, as CountVectorizer makes it."""
        return self._value("featuresCol")

    def getTermsCol(self) -> str | None:
        """Column with an array of word ids per document. Use it with countsCol, instead of featuresCol."""
        return self._value("termsCol")

    def getCountsCol(self) -> str | None:
        """Column with an array of counts, one for each entry of termsCol."""
        return self._value("countsCol")

    def getTextCol(self) -> str | None:
        """Column of raw text, instead of featuresCol. Its words are counted as ingest counts them."""
        return self._value("textCol")

    def getStopWords(self) -> str | list[str]:
        """Words to leave out of textCol: the lists of languages (german,english), none, a file with one word per line,
        or a list of words. Where language is given, its lists are the default.
        """
        return self._value("stopWords")

    def getLanguage(self) -> list[str] | None:
        """Languages of the texts, as codes or names (de,en): their stop words are left out, Chinese and Japanese are
        cut into words, and elided articles are cut off in French, Italian and Catalan.
        """
        return self._value("language")

    def getLemmas(self) -> bool:
        """Take words in their dictionary form, in the languages given (English by default)."""
        return self._value("lemmas")

    def getPhrases(self) -> int | str | None:
        """Find phrases such as natural gas and take each as one word, natural_gas: at most so many, or all that pass a
        test (auto). None by default.
        """
        return self._value("phrases")

    def getMinWordLength(self) -> int:
        """Words of textCol with fewer letters are left out."""
        return self._value("minWordLength")

    def getMinDocuments(self) -> int:
        """A word of textCol must occur in at least this many documents."""
        return self._value("minDocuments")

    def getMaxDocumentShare(self) -> float:
        """A word of textCol must not occur in a larger share of the documents."""
        return self._value("maxDocumentShare")

    def getPathCol(self) -> str:
        """Column with the document's path in the tree: an array of strings, from the top-level group down to the group
        that holds the document, or one string, the group. If the column is absent, there is no tree.
        """
        return self._value("pathCol")

    def getPathCols(self) -> list[str] | None:
        """Columns with the names of the document's groups, one column per level of the tree, instead of pathCol."""
        return self._value("pathCols")

    def getIdCol(self) -> str | None:
        """Column that identifies a document. Without it, documents are told apart by their content."""
        return self._value("idCol")

    def getTopicDistributionCol(self) -> str:
        """Column of topic proportions that transform adds."""
        return self._value("topicDistributionCol")

    def getEvaluationCol(self) -> str:
        """Column that transform adds for TopicModelEvaluator; an empty name leaves it out.

        Spark computes it only where it is used.
        """
        return self._value("evaluationCol")

    def getVocabulary(self) -> list[str] | None:
        """The words in the order of their ids."""
        return self._value("vocabulary")

    def getVocabSize(self) -> int | None:
        """Number of distinct words.

        With termsCol, needed when there is no vocabulary; with textCol, the most words to keep (10,000 if not set).
        """
        return self._value("vocabSize")

    def getSolver(self) -> str:
        """Algorithm that decomposes the third moment into topics.

        implicit never forms that moment: it works on a sample of the documents, and its memory grows with k instead of
        its cube. auto takes implicit beyond 200 topics (a basis of 250 columns) and where all words of more than six
        million are sampled afterwards, and polar, from the moments of all documents, otherwise.
        """
        return self._value("solver")

    def getWeighting(self) -> str:
        """How documents are weighted in the moments: by their number of words (tokens), so that every tree node is the
        plain average of its children (uniform), or so that children count by how exactly they are known and how much
        they differ (ess): effective sample sizes by random effects.
        """
        return self._value("weighting")

    def getPreset(self) -> str | None:
        """Settings for a purpose: paper is the published spectral algorithm as it is printed, for comparisons, with
        solver power, als or sketch. Settings that are given win over the preset, and the summary names them.
        """
        return self._value("preset")

    def getLayers(self) -> int | str:
        """Layers of the document tree to use: 2 ignores the groups, 3 uses one level of groups, and so on."""
        return self._value("layers")

    def getConcentrations(self) -> str | list[float]:
        """Dirichlet concentrations, one per layer below the root, from the top down, or one for the documents alone.

        Given numbers are used by every step and stay as they are; auto learns them during refinement (without
        refinement, by held-out loss); calibrated takes them from the moments.
        """
        return self._value("concentrations")

    def getRefinePasses(self) -> int | str:
        """Passes of EM over all documents after sampling; 0 for neither sampling nor EM.

        auto runs 2, and none for corpora of more than 6 million words, all of which are sampled.
        """
        return self._value("refinePasses")

    def getExploreSweeps(self) -> int | str:
        """Sweeps of Gibbs sampling before the refinement passes; 0 for none.

        auto runs 60 sweeps, and up to 300 on small corpora. Of a corpus with more than 6 million words a sample is
        swept (160 times with auto), then all words, a tenth as often.
        """
        return self._value("exploreSweeps")

    def getGroupBalance(self) -> float:
        """How strongly small top-level groups are up-weighted in sampling and refinement: 0 counts all documents
        equally, 1 counts all groups equally. A document's weight is proportional to (documents in its group)^-B, and
        at most 16 times that of a document in the largest group.
        """
        return self._value("groupBalance")

    def getSeeds(self) -> str | dict[str, Any] | None:
        """Words that topics are to be about: a TOML file with a table for each topic, or the same as a dict, in short
        {"name": ["word", "word"]}. The topics get the names and numbers given there.
        """
        return self._value("seeds")

    def getBackground(self) -> bool | None:
        """Give the words that are common everywhere a topic of their own, the last one."""
        return self._value("background")

    def getReplayWords(self) -> int:
        """Size of the sample of documents, as word ids and counts without text, that stays with the model so that
        updates can refine the topics again; in words. 0 keeps none.
        """
        return self._value("replayWords")

    def getCheckpointDir(self) -> str | None:
        """Directory that keeps finished passes until the fit is done, so that the same fit resumes after it was killed.
        """
        return self._value("checkpointDir")

    def getSeed(self) -> int:
        """Random seed. The same documents, settings and seed give the same model, bit for bit."""
        return self._value("seed")

    def getRankRule(self) -> str:
        """How topics are counted when k is auto: eigenvalues above the noise floor, the largest relative gap between
        eigenvalues, or the rule of the paper.
        """
        return self._value("rankRule")

    def getBasisSize(self) -> int | str:
        """Columns of the basis in which moments are collected.

        auto takes a quarter more than k (at least 10 more), or 128 when k is auto too, and more where so many topics
        are found.
        """
        return self._value("basisSize")

    def getRangePasses(self) -> int | str:
        """Passes that find the basis.

        auto goes on until it settles, at most 8 times, but takes 2 for more than 200 topics and before sampling more
        than six million words. A number is that many of subspace iteration.
        """
        return self._value("rangePasses")

    def getWordScaling(self) -> float:
        """Exponent A of the word scaling (word frequency)^-A in the basis; larger values give rare words more
        influence.
        """
        return self._value("wordScaling")

    def getCountCap(self) -> float:
        """A word counts at most this many times per document in the moments; 0 for no cap."""
        return self._value("countCap")

    def getTensors(self) -> str:
        """Which third moments to decompose: that of the whole corpus (root), or the average over groups (groups), which
        is exact for the groups at hand. auto tries both on held-out words where concentrations are auto and nothing
        is refined; before a refinement it takes groups for up to 64 groups of at least 50 documents each, and root
        otherwise.
        """
        return self._value("tensors")

    def getSpectralStep(self) -> str:
        """How moments become topics.

        printed follows the paper to the letter: whitening by singular values, solvers without polish, topics and
        weights from eigenvalues, no smoothing; its topics contain zeros.
        """
        return self._value("spectralStep")

    def getNodeSums(self) -> str:
        """With the weightings uniform and ess: whether the moments of every tree node are kept apart, as updates,
        merges and removals need them; that takes time and memory for every node. auto keeps them in small trees,
        keep in all of up to 256 MiB.
        """
        return self._value("nodeSums")

    def setFeaturesCol(self, value: str | None) -> Self:
        """Column of word counts as pyspark.ml Vectors, as CountVectorizer makes it."""
        return self._set_given({"featuresCol": value})

    def setTermsCol(self, value: str | None) -> Self:
        """Column with an array of word ids per document. Use it with countsCol, instead of featuresCol."""
        return self._set_given({"termsCol": value})

    def setCountsCol(self, value: str | None) -> Self:
        """Column with an array of counts, one for each entry of termsCol."""
        return self._set_given({"countsCol": value})

    def setTextCol(self, value: str | None) -> Self:
        """Column of raw text, instead of featuresCol. Its words are counted as ingest counts them."""
        return self._set_given({"textCol": value})

    def setPathCol(self, value: str | None) -> Self:
        """Column with the document's path in the tree: an array of strings, from the top-level group down to the group
        that holds the document, or one string, the group. If the column is absent, there is no tree.
        """
        return self._set_given({"pathCol": value})

    def setIdCol(self, value: str | None) -> Self:
        """Column that identifies a document. Without it, documents are told apart by their content."""
        return self._set_given({"idCol": value})

    def setTopicDistributionCol(self, value: str | None) -> Self:
        """Column of topic proportions that transform adds."""
        return self._set_given({"topicDistributionCol": value})

    def setEvaluationCol(self, value: str | None) -> Self:
        """Column that transform adds for TopicModelEvaluator; an empty name leaves it out.

        Spark computes it only where it is used.
        """
        return self._set_given({"evaluationCol": value})


class HDPEstimatorParams(HDPModelParams):
    """Everything that the estimator can be told."""

    @given_keywords
    def __init__(
        self, *, k: int | str = "auto", featuresCol: str = "features", termsCol: str | None = None,
        countsCol: str | None = None, textCol: str | None = None, stopWords: str | Sequence[str] = "english",
        language: Sequence[str] | None = None, lemmas: bool = False, phrases: int | str | None = None,
        minWordLength: int = 3, minDocuments: int = 10, maxDocumentShare: float = 0.5, pathCol: str = "path",
        pathCols: Sequence[str] | None = None, idCol: str | None = None,
        topicDistributionCol: str = "topicDistribution", evaluationCol: str = "evaluation",
        vocabulary: Sequence[str] | None = None, vocabSize: int | None = None, solver: str = "auto",
        weighting: str = "tokens", preset: str | None = None, layers: int | str = "all",
        concentrations: str | float | Sequence[float] = "auto", refinePasses: int | str = "auto",
        exploreSweeps: int | str = "auto", groupBalance: float = 0.0, seeds: str | dict[str, Any] | None = None,
        background: bool | None = None, replayWords: int = 6000000, checkpointDir: str | None = None, seed: int = 0,
        rankRule: str = "noise-floor", basisSize: int | str = "auto", rangePasses: int | str = "auto",
        wordScaling: float = 0.25, countCap: float = 16.0, tensors: str = "auto", spectralStep: str = "robust",
        nodeSums: str = "auto",
    ) -> None:
        super().__init__()
        self._set_given(self._input_kwargs)

    @given_keywords
    def setParams(
        self, *, k: int | str = "auto", featuresCol: str = "features", termsCol: str | None = None,
        countsCol: str | None = None, textCol: str | None = None, stopWords: str | Sequence[str] = "english",
        language: Sequence[str] | None = None, lemmas: bool = False, phrases: int | str | None = None,
        minWordLength: int = 3, minDocuments: int = 10, maxDocumentShare: float = 0.5, pathCol: str = "path",
        pathCols: Sequence[str] | None = None, idCol: str | None = None,
        topicDistributionCol: str = "topicDistribution", evaluationCol: str = "evaluation",
        vocabulary: Sequence[str] | None = None, vocabSize: int | None = None, solver: str = "auto",
        weighting: str = "tokens", preset: str | None = None, layers: int | str = "all",
        concentrations: str | float | Sequence[float] = "auto", refinePasses: int | str = "auto",
        exploreSweeps: int | str = "auto", groupBalance: float = 0.0, seeds: str | dict[str, Any] | None = None,
        background: bool | None = None, replayWords: int = 6000000, checkpointDir: str | None = None, seed: int = 0,
        rankRule: str = "noise-floor", basisSize: int | str = "auto", rangePasses: int | str = "auto",
        wordScaling: float = 0.25, countCap: float = 16.0, tensors: str = "auto", spectralStep: str = "robust",
        nodeSums: str = "auto",
    ) -> Self:
        """Set several parameters by name; None leaves one unset."""
        return self._set_given(self._input_kwargs)

    def setK(self, value: int | str | None) -> Self:
        """Number of topics, or auto to estimate it from the spectrum of the second moment."""
        return self._set_given({"k": value})

    def setStopWords(self, value: str | Sequence[str] | None) -> Self:
        """Words to leave out of textCol: the lists of languages (german,english), none, a file with one word per line,
        or a list of words. Where language is given, its lists are the default.
        """
        return self._set_given({"stopWords": value})

    def setLanguage(self, value: Sequence[str] | None) -> Self:
        """Languages of the texts, as codes or names (de,en): their stop words are left out, Chinese and Japanese are
        cut into words, and elided articles are cut off in French, Italian and Catalan.
        """
        return self._set_given({"language": value})

    def setLemmas(self, value: bool | None) -> Self:
        """Take words in their dictionary form, in the languages given (English by default)."""
        return self._set_given({"lemmas": value})

    def setPhrases(self, value: int | str | None) -> Self:
        """Find phrases such as natural gas and take each as one word, natural_gas: at most so many, or all that pass a
        test (auto). None by default.
        """
        return self._set_given({"phrases": value})

    def setMinWordLength(self, value: int | None) -> Self:
        """Words of textCol with fewer letters are left out."""
        return self._set_given({"minWordLength": value})

    def setMinDocuments(self, value: int | None) -> Self:
        """A word of textCol must occur in at least this many documents."""
        return self._set_given({"minDocuments": value})

    def setMaxDocumentShare(self, value: float | None) -> Self:
        """A word of textCol must not occur in a larger share of the documents."""
        return self._set_given({"maxDocumentShare": value})

    def setPathCols(self, value: Sequence[str] | None) -> Self:
        """Columns with the names of the document's groups, one column per level of the tree, instead of pathCol."""
        return self._set_given({"pathCols": value})

    def setVocabulary(self, value: Sequence[str] | None) -> Self:
        """The words in the order of their ids."""
        return self._set_given({"vocabulary": value})

    def setVocabSize(self, value: int | None) -> Self:
        """Number of distinct words.

        With termsCol, needed when there is no vocabulary; with textCol, the most words to keep (10,000 if not set).
        """
        return self._set_given({"vocabSize": value})

    def setSolver(self, value: str | None) -> Self:
        """Algorithm that decomposes the third moment into topics.

        implicit never forms that moment: it works on a sample of the documents, and its memory grows with k instead of
        its cube. auto takes implicit beyond 200 topics (a basis of 250 columns) and where all words of more than six
        million are sampled afterwards, and polar, from the moments of all documents, otherwise.
        """
        return self._set_given({"solver": value})

    def setWeighting(self, value: str | None) -> Self:
        """How documents are weighted in the moments: by their number of words (tokens), so that every tree node is the
        plain average of its children (uniform), or so that children count by how exactly they are known and how much
        they differ (ess): effective sample sizes by random effects.
        """
        return self._set_given({"weighting": value})

    def setPreset(self, value: str | None) -> Self:
        """Settings for a purpose: paper is the published spectral algorithm as it is printed, for comparisons, with
        solver power, als or sketch. Settings that are given win over the preset, and the summary names them.
        """
        return self._set_given({"preset": value})

    def setLayers(self, value: int | str | None) -> Self:
        """Layers of the document tree to use: 2 ignores the groups, 3 uses one level of groups, and so on."""
        return self._set_given({"layers": value})

    def setConcentrations(self, value: str | float | Sequence[float] | None) -> Self:
        """Dirichlet concentrations, one per layer below the root, from the top down, or one for the documents alone.

        Given numbers are used by every step and stay as they are; auto learns them during refinement (without
        refinement, by held-out loss); calibrated takes them from the moments.
        """
        return self._set_given({"concentrations": value})

    def setRefinePasses(self, value: int | str | None) -> Self:
        """Passes of EM over all documents after sampling; 0 for neither sampling nor EM.

        auto runs 2, and none for corpora of more than 6 million words, all of which are sampled.
        """
        return self._set_given({"refinePasses": value})

    def setExploreSweeps(self, value: int | str | None) -> Self:
        """Sweeps of Gibbs sampling before the refinement passes; 0 for none.

        auto runs 60 sweeps, and up to 300 on small corpora. Of a corpus with more than 6 million words a sample is
        swept (160 times with auto), then all words, a tenth as often.
        """
        return self._set_given({"exploreSweeps": value})

    def setGroupBalance(self, value: float | None) -> Self:
        """How strongly small top-level groups are up-weighted in sampling and refinement: 0 counts all documents
        equally, 1 counts all groups equally. A document's weight is proportional to (documents in its group)^-B, and
        at most 16 times that of a document in the largest group.
        """
        return self._set_given({"groupBalance": value})

    def setSeeds(self, value: str | dict[str, Any] | None) -> Self:
        """Words that topics are to be about: a TOML file with a table for each topic, or the same as a dict, in short
        {"name": ["word", "word"]}. The topics get the names and numbers given there.
        """
        return self._set_given({"seeds": value})

    def setBackground(self, value: bool | None) -> Self:
        """Give the words that are common everywhere a topic of their own, the last one."""
        return self._set_given({"background": value})

    def setReplayWords(self, value: int | None) -> Self:
        """Size of the sample of documents, as word ids and counts without text, that stays with the model so that
        updates can refine the topics again; in words. 0 keeps none.
        """
        return self._set_given({"replayWords": value})

    def setCheckpointDir(self, value: str | None) -> Self:
        """Directory that keeps finished passes until the fit is done, so that the same fit resumes after it was killed.
        """
        return self._set_given({"checkpointDir": value})

    def setSeed(self, value: int | None) -> Self:
        """Random seed. The same documents, settings and seed give the same model, bit for bit."""
        return self._set_given({"seed": value})

    def setRankRule(self, value: str | None) -> Self:
        """How topics are counted when k is auto: eigenvalues above the noise floor, the largest relative gap between
        eigenvalues, or the rule of the paper.
        """
        return self._set_given({"rankRule": value})

    def setBasisSize(self, value: int | str | None) -> Self:
        """Columns of the basis in which moments are collected.

        auto takes a quarter more than k (at least 10 more), or 128 when k is auto too, and more where so many topics
        are found.
        """
        return self._set_given({"basisSize": value})

    def setRangePasses(self, value: int | str | None) -> Self:
        """Passes that find the basis.

        auto goes on until it settles, at most 8 times, but takes 2 for more than 200 topics and before sampling more
        than six million words. A number is that many of subspace iteration.
        """
        return self._set_given({"rangePasses": value})

    def setWordScaling(self, value: float | None) -> Self:
        """Exponent A of the word scaling (word frequency)^-A in the basis; larger values give rare words more
        influence.
        """
        return self._set_given({"wordScaling": value})

    def setCountCap(self, value: float | None) -> Self:
        """A word counts at most this many times per document in the moments; 0 for no cap."""
        return self._set_given({"countCap": value})

    def setTensors(self, value: str | None) -> Self:
        """Which third moments to decompose: that of the whole corpus (root), or the average over groups (groups), which
        is exact for the groups at hand. auto tries both on held-out words where concentrations are auto and nothing
        is refined; before a refinement it takes groups for up to 64 groups of at least 50 documents each, and root
        otherwise.
        """
        return self._set_given({"tensors": value})

    def setSpectralStep(self, value: str | None) -> Self:
        """How moments become topics.

        printed follows the paper to the letter: whitening by singular values, solvers without polish, topics and
        weights from eigenvalues, no smoothing; its topics contain zeros.
        """
        return self._set_given({"spectralStep": value})

    def setNodeSums(self, value: str | None) -> Self:
        """With the weightings uniform and ess: whether the moments of every tree node are kept apart, as updates,
        merges and removals need them; that takes time and memory for every node. auto keeps them in small trees,
        keep in all of up to 256 MiB.
        """
        return self._set_given({"nodeSums": value})
