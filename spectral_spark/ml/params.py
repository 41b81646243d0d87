"""What SpectralHDP can be told: the parameters of the table, and what must hold between them."""

from dataclasses import fields
from typing import Any

from spectral_spark.data.seeds import seeds_of
from spectral_spark.data.settings import AUTO, HDP, PRESETS
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
        given = {
            setting.attribute: self._value(setting.name) for setting in HDP
            if setting.attribute in plain and self.isSet(setting.name)
        }
        seeds = seeds_of(self._value("seeds"), bool(self._value("background")))
        return FitSettings.chosen(given | {"seeds": seeds})

    def _effective(self, name: str) -> Any:
        """The value that a fit uses: given, of the preset, or the default."""
        preset = PRESETS.get(self._value("preset") or "", {})
        return self._value(name) if self.isSet(name) else preset.get(name, self._value(name))

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
        if self._effective("solver") == "implicit" and self._effective("tensors") == "groups":
            raise SettingsError('`tensors="groups"` needs the third moment of every group, which `solver=implicit` '
                                "does not collect; use another solver, or leave out `tensors`")
        if concentrations == "calibrated" and layers != 2 and self._effective("tensors") == "groups":
            raise SettingsError(
                '`concentrations="calibrated"` needs the moments of the whole corpus; use `tensors="root"`'
            )
