"""What SpectralHDP can be told: the parameters of the table, and what must hold between them."""

from dataclasses import fields

from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.ml.hdp_accessors import HDPEstimatorParams, HDPModelParams

__all__ = ["AUTO", "SpectralHDPModelParams", "SpectralHDPParams"]

SpectralHDPModelParams = HDPModelParams


class SpectralHDPParams(HDPEstimatorParams):
    """Parameters of the estimator. Every one has a default or may be left out; ``explainParams()`` lists them."""

    def fitSettings(self) -> FitSettings:
        """The parameters of the fit as plain values, checked."""
        self._validate_params()
        plain = {field.name for field in fields(FitSettings)}
        return FitSettings(**{
            setting.attribute: self._value(setting.name) for setting in HDP if setting.attribute in plain
        })

    def _validate_params(self) -> None:
        """Every check across parameters."""
        k, p = self._value("k"), self._value("basisSize")
        if k != AUTO and p != AUTO and k > p:
            raise SettingsError(
                f"`k` is {k} but the basis has {p} columns; raise `basisSize` to at least {k}, or leave it out"
            )
        vocabulary = self._value("vocabulary")
        if vocabulary is not None and k != AUTO and k > len(vocabulary):
            raise SettingsError(f"`k` is {k} but there are {len(vocabulary)} words; topics cannot outnumber words")
        if (self._value("termsCol") is None) != (self._value("countsCol") is None):
            raise SettingsError("`termsCol` and `countsCol` go together: give both or neither")
        concentrations, layers = self._value("concentrations"), self._value("layers")
        if isinstance(concentrations, list) and layers != "all" and len(concentrations) != layers - 1:
            raise SettingsError(
                f"`concentrations` has {len(concentrations)} numbers for {layers} layers; give {layers - 1}, one per "
                "layer below the root"
            )
        if self._value("solver") == "implicit" and self._value("tensors") == "groups":
            raise SettingsError('`tensors="groups"` needs the third moment of every group, which `solver=implicit` '
                                "does not collect; use another solver, or leave out `tensors`")
        if concentrations == "calibrated" and layers != 2 and self._value("tensors") == "groups":
            raise SettingsError(
                '`concentrations="calibrated"` needs the moments of the whole corpus; use `tensors="root"`'
            )
