"""Parameters of SpectralIBP with their getters and setters.

Generated from ``data/settings.py`` by ``python -m spectral_spark.cli.generate``: change the table, not this file.
"""

from typing import Any

from pyspark.ml.param import Param
from pyspark.ml.param.shared import HasFeaturesCol, HasSeed, HasSolver
from typing_extensions import Self

from spectral_spark.data.settings import IBP
from spectral_spark.ml.table_params import TableParams, given_keywords, param


class IBPModelParams(TableParams, HasFeaturesCol):
    """Parameters that the estimator shares with its model, and the setters of the columns."""

    _table = IBP
    featuresCol: "Param[Any]" = param(IBP["featuresCol"])
    idCol: "Param[Any]" = param(IBP["idCol"])
    codesCol: "Param[Any]" = param(IBP["codesCol"])
    activityCol: "Param[Any]" = param(IBP["activityCol"])
    reconstructionCol: "Param[Any]" = param(IBP["reconstructionCol"])
    missing: "Param[Any]" = param(IBP["missing"])

    def getFeaturesCol(self) -> str:
        """Column of pyspark.ml Vectors or arrays of numbers."""
        return self._value("featuresCol")

    def getIdCol(self) -> str | None:
        """Column that identifies a row. Without it, rows are told apart by their content."""
        return self._value("idCol")

    def getCodesCol(self) -> str:
        """Column that transform adds with the code of each row: the most likely binary features, or the expected value
        of the factors.
        """
        return self._value("codesCol")

    def getActivityCol(self) -> str:
        """Column that transform adds for isfa and iica with the probability that each feature is active."""
        return self._value("activityCol")

    def getReconstructionCol(self) -> str:
        """Column that reconstruct adds with each row as the features explain it."""
        return self._value("reconstructionCol")

    def getMissing(self) -> str:
        """What to do with nulls and NaN: refuse them, take every moment over the values that are there (pairwise,
        without bias), or put the mean of the column in their place (mean, which shrinks covariances).
        """
        return self._value("missing")

    def setFeaturesCol(self, value: str | None) -> Self:
        """Column of pyspark.ml Vectors or arrays of numbers."""
        return self._set_given({"featuresCol": value})

    def setIdCol(self, value: str | None) -> Self:
        """Column that identifies a row. Without it, rows are told apart by their content."""
        return self._set_given({"idCol": value})

    def setCodesCol(self, value: str | None) -> Self:
        """Column that transform adds with the code of each row: the most likely binary features, or the expected value
        of the factors.
        """
        return self._set_given({"codesCol": value})

    def setActivityCol(self, value: str | None) -> Self:
        """Column that transform adds for isfa and iica with the probability that each feature is active."""
        return self._set_given({"activityCol": value})

    def setReconstructionCol(self, value: str | None) -> Self:
        """Column that reconstruct adds with each row as the features explain it."""
        return self._set_given({"reconstructionCol": value})


class IBPEstimatorParams(IBPModelParams, HasSeed, HasSolver):
    """Everything that the estimator can be told."""

    kind: "Param[Any]" = param(IBP["kind"])
    k: "Param[Any]" = param(IBP["k"])
    polish: "Param[Any]" = param(IBP["polish"])
    checkpointDir: "Param[Any]" = param(IBP["checkpointDir"])
    seed: "Param[Any]" = param(IBP["seed"])
    solver: "Param[Any]" = param(IBP["solver"])
    offset: "Param[Any]" = param(IBP["offset"])
    probabilitiesFrom: "Param[Any]" = param(IBP["probabilitiesFrom"])
    powerPasses: "Param[Any]" = param(IBP["powerPasses"])
    noiseVariance: "Param[Any]" = param(IBP["noiseVariance"])
    kurtosis: "Param[Any]" = param(IBP["kurtosis"])
    rankRule: "Param[Any]" = param(IBP["rankRule"])
    noiseRule: "Param[Any]" = param(IBP["noiseRule"])
    basisSize: "Param[Any]" = param(IBP["basisSize"])

    @given_keywords
    def __init__(
        self, *, kind: str = "binary", k: int | str = "auto", featuresCol: str = "features", idCol: str | None = None,
        codesCol: str = "codes", activityCol: str = "activity", reconstructionCol: str = "reconstruction",
        missing: str = "refuse", polish: int = 0, checkpointDir: str | None = None, seed: int = 0,
        solver: str = "joint", offset: str = "auto", probabilitiesFrom: str = "eigenvalues", powerPasses: int = 3,
        noiseVariance: float | None = None, kurtosis: float | str | None = None, rankRule: str = "noise-edge",
        noiseRule: str = "trailing-mean", basisSize: int | str = "auto",
    ) -> None:
        super().__init__()
        self._set_given(self._input_kwargs)

    @given_keywords
    def setParams(
        self, *, kind: str = "binary", k: int | str = "auto", featuresCol: str = "features", idCol: str | None = None,
        codesCol: str = "codes", activityCol: str = "activity", reconstructionCol: str = "reconstruction",
        missing: str = "refuse", polish: int = 0, checkpointDir: str | None = None, seed: int = 0,
        solver: str = "joint", offset: str = "auto", probabilitiesFrom: str = "eigenvalues", powerPasses: int = 3,
        noiseVariance: float | None = None, kurtosis: float | str | None = None, rankRule: str = "noise-edge",
        noiseRule: str = "trailing-mean", basisSize: int | str = "auto",
    ) -> Self:
        """Set several parameters by name; None leaves one unset."""
        return self._set_given(self._input_kwargs)

    def getKind(self) -> str:
        """The model: binary features, sparse factors (isfa, Gaussian) or independent components (iica, Laplace)."""
        return self._value("kind")

    def getK(self) -> int | str:
        """Number of features, or auto to count the eigenvalues above the noise."""
        return self._value("k")

    def getPolish(self) -> int:
        """Rounds of least squares that improve the features after the spectral solution; each takes one more pass."""
        return self._value("polish")

    def getCheckpointDir(self) -> str | None:
        """Directory that keeps finished passes until the fit is done, so that the same fit resumes after it was killed.
        """
        return self._value("checkpointDir")

    def getSeed(self) -> int:
        """Random seed. The same documents, settings and seed give the same model, bit for bit."""
        return self._value("seed")

    def getSolver(self) -> str:
        """How cumulants are decomposed: third and fourth together (joint), or one after the other as in the paper."""
        return self._value("solver")

    def getOffset(self) -> str:
        """Whether binary features come with a constant offset: none, free (estimated), or auto to decide from the data.
        """
        return self._value("offset")

    def getProbabilitiesFrom(self) -> str:
        """Where the probabilities of binary features come from: eigenvalues of the third cumulant, or the mean."""
        return self._value("probabilitiesFrom")

    def getPowerPasses(self) -> int:
        """Passes of subspace iteration when there are too many columns for a full covariance matrix."""
        return self._value("powerPasses")

    def getNoiseVariance(self) -> float | None:
        """Variance of the noise, if it is known. By default it is estimated from the smallest eigenvalues."""
        return self._value("noiseVariance")

    def getKurtosis(self) -> float | str | None:
        """Kurtosis of the sources of isfa and iica (the fourth moment over the squared variance), or estimate to
        measure it with one more pass. By default 3 for isfa, Gaussian, and 6 for iica, Laplace.
        """
        return self._value("kurtosis")

    def getRankRule(self) -> str:
        """How features are counted when k is auto: eigenvalues above the edge of the noise, or up to the largest drop
        between neighbouring eigenvalues, the rule of the paper.
        """
        return self._value("rankRule")

    def getNoiseRule(self) -> str:
        """How the variance of the noise is estimated: the mean of the eigenvalues below the features, or the smallest
        eigenvalue, the rule of the paper.
        """
        return self._value("noiseRule")

    def getBasisSize(self) -> int | str:
        """Directions in which third and fourth moments are kept with the model, for updates and for another k.

        auto takes a quarter more than k (at least 4 more and at least 12 in all, at most 40 and the columns).
        """
        return self._value("basisSize")

    def setKind(self, value: str | None) -> Self:
        """The model: binary features, sparse factors (isfa, Gaussian) or independent components (iica, Laplace)."""
        return self._set_given({"kind": value})

    def setK(self, value: int | str | None) -> Self:
        """Number of features, or auto to count the eigenvalues above the noise."""
        return self._set_given({"k": value})

    def setMissing(self, value: str | None) -> Self:
        """What to do with nulls and NaN: refuse them, take every moment over the values that are there (pairwise,
        without bias), or put the mean of the column in their place (mean, which shrinks covariances).
        """
        return self._set_given({"missing": value})

    def setPolish(self, value: int | None) -> Self:
        """Rounds of least squares that improve the features after the spectral solution; each takes one more pass."""
        return self._set_given({"polish": value})

    def setCheckpointDir(self, value: str | None) -> Self:
        """Directory that keeps finished passes until the fit is done, so that the same fit resumes after it was killed.
        """
        return self._set_given({"checkpointDir": value})

    def setSeed(self, value: int | None) -> Self:
        """Random seed. The same documents, settings and seed give the same model, bit for bit."""
        return self._set_given({"seed": value})

    def setSolver(self, value: str | None) -> Self:
        """How cumulants are decomposed: third and fourth together (joint), or one after the other as in the paper."""
        return self._set_given({"solver": value})

    def setOffset(self, value: str | None) -> Self:
        """Whether binary features come with a constant offset: none, free (estimated), or auto to decide from the data.
        """
        return self._set_given({"offset": value})

    def setProbabilitiesFrom(self, value: str | None) -> Self:
        """Where the probabilities of binary features come from: eigenvalues of the third cumulant, or the mean."""
        return self._set_given({"probabilitiesFrom": value})

    def setPowerPasses(self, value: int | None) -> Self:
        """Passes of subspace iteration when there are too many columns for a full covariance matrix."""
        return self._set_given({"powerPasses": value})

    def setNoiseVariance(self, value: float | None) -> Self:
        """Variance of the noise, if it is known. By default it is estimated from the smallest eigenvalues."""
        return self._set_given({"noiseVariance": value})

    def setKurtosis(self, value: float | str | None) -> Self:
        """Kurtosis of the sources of isfa and iica (the fourth moment over the squared variance), or estimate to
        measure it with one more pass. By default 3 for isfa, Gaussian, and 6 for iica, Laplace.
        """
        return self._set_given({"kurtosis": value})

    def setRankRule(self, value: str | None) -> Self:
        """How features are counted when k is auto: eigenvalues above the edge of the noise, or up to the largest drop
        between neighbouring eigenvalues, the rule of the paper.
        """
        return self._set_given({"rankRule": value})

    def setNoiseRule(self, value: str | None) -> Self:
        """How the variance of the noise is estimated: the mean of the eigenvalues below the features, or the smallest
        eigenvalue, the rule of the paper.
        """
        return self._set_given({"noiseRule": value})

    def setBasisSize(self, value: int | str | None) -> Self:
        """Directions in which third and fourth moments are kept with the model, for updates and for another k.

        auto takes a quarter more than k (at least 4 more and at least 12 in all, at most 40 and the columns).
        """
        return self._set_given({"basisSize": value})
