"""Parameters of SpectralIBP: declared, documented and checked once."""

from typing import Any

from pyspark.ml.param import Params

from spectral_spark.errors import SettingsError
from spectral_spark.ibp.recover import OFFSETS, PROBABILITIES
from spectral_spark.ibp.solve_features import SOLVERS, IbpSettings
from spectral_spark.ibp.source_kinds import KINDS
from spectral_spark.ml.params import AUTO, _choice, _number, _param, _whole

MISSING = ("refuse", "mean")


class RowParams(Params):
    """What estimator and model share: the columns, and what a missing value means."""

    featuresCol = _param("featuresCol", "column of vectors: pyspark.ml Vectors or arrays of numbers")
    idCol = _param("idCol", "column that identifies a row; without it, its content does")
    codesCol = _param("codesCol", "Vector column that transform adds: the most likely z, or E[z ∘ y]")
    activityCol = _param("activityCol", "Vector column that transform adds for isfa and iica: P(z = 1)")
    reconstructionCol = _param("reconstructionCol", "Vector column that reconstruct adds")
    missing = _param(
        "missing", "nulls and NaN: refuse, or the mean of their column in their place", _choice("missing", MISSING)
    )

    def _set_column_defaults(self) -> None:
        self._setDefault(
            featuresCol="features", codesCol="codes", activityCol="activity", reconstructionCol="reconstruction",
            missing="refuse",
        )

    def _value(self, name: str) -> Any:
        """The value of a parameter, None when it has neither value nor default."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _set_given(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if not self.hasParam(name):
                raise SettingsError(f"there is no parameter '{name}'; explainParams() lists them")
            if value is None:
                self.clear(self.getParam(name))
                continue
            try:
                self._set(**{name: value})
            except TypeError as error:
                raise SettingsError(str(error)) from None


class SpectralIBPParams(RowParams):
    """What a fit can be told. Every parameter has a default; see the list in :class:`SpectralIBP`."""

    kind = _param("kind", "the model: " + ", ".join(KINDS), _choice("kind", tuple(KINDS)))
    k = _param("k", 'number of features, or "auto"', _whole("k", 1, auto=True))
    solver = _param(
        "solver", "joint (third and fourth cumulant together) or paper (the third where |λ| > 1, then the fourth)",
        _choice("solver", SOLVERS),
    )
    offset = _param(
        "offset", "of binary features: none, free (leaves the mean to an offset), or auto", _choice("offset", OFFSETS)
    )
    probabilitiesFrom = _param(
        "probabilitiesFrom", "of binary features: eigenvalues of the third cumulant, or the mean (first order)",
        _choice("probabilitiesFrom", PROBABILITIES),
    )
    polish = _param("polish", "rounds of least squares given the codes, one more pass each", _whole("polish", 0))
    powerPasses = _param(
        "powerPasses", "passes of subspace iteration when there are too many columns for a whole covariance",
        _whole("powerPasses", 2),
    )
    noiseVariance = _param(
        "noiseVariance", "σ² if it is known; otherwise the mean of the trailing spectrum",
        _number("noiseVariance", 0, float("inf")),
    )
    checkpointDir = _param(
        "checkpointDir", "where finished passes are kept until the fit is done, so that a killed fit resumes"
    )
    seed = _param("seed", "of everything random", _whole("seed", 0))

    def _set_defaults(self) -> None:
        self._set_column_defaults()
        self._setDefault(
            kind="binary", k=AUTO, solver="joint", offset="auto", probabilitiesFrom="eigenvalues", polish=0,
            powerPasses=3, seed=0,
        )

    def fitSettings(self) -> IbpSettings:
        """The parameters of the fit as plain values, checked."""
        return IbpSettings(
            kind=self._value("kind"), k=self._value("k"), missing=self._value("missing"),
            solver=self._value("solver"), offset=self._value("offset"),
            probabilities=self._value("probabilitiesFrom"), polish=self._value("polish"),
            power_passes=self._value("powerPasses"), noise_variance=self._value("noiseVariance"),
            seed=self._value("seed"),
        )
