"""What SpectralHDP can be told: the parameters of the table, and what must hold between them."""

from dataclasses import fields

from spectral_spark.data.seeds import seeds_of
from spectral_spark.data.settings import AUTO, HDP
from spectral_spark.errors import SettingsError
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.settings_check import check_together
from spectral_spark.ml.hdp_accessors import HDPEstimatorParams, HDPModelParams

__all__ = ["AUTO", "SpectralHDPModelParams", "SpectralHDPParams"]

SpectralHDPModelParams = HDPModelParams


class SpectralHDPParams(HDPEstimatorParams):
    """Parameters of the estimator. Every one has a default or may be left out; ``explainParams()`` lists them."""

    def fitSettings(self) -> FitSettings:
        """The parameters of the fit as plain values, checked."""
        self._validate_columns()
        plain = {field.name for field in fields(FitSettings)}
        given = {
            setting.attribute: self._value(setting.name) for setting in HDP
            if setting.attribute in plain and self.isSet(setting.name)
        }
        seeds = seeds_of(self._value("seeds"), bool(self._value("background")))
        settings = FitSettings.chosen(given | {"seeds": seeds})
        check_together(settings)
        return settings

    def _validate_columns(self) -> None:
        """Every check across parameters that are about the documents."""
        k, vocabulary = self._value("k"), self._value("vocabulary")
        if vocabulary is not None and k != AUTO and k > len(vocabulary):
            raise SettingsError(f"`k` is {k} but there are {len(vocabulary)} words; topics cannot outnumber words")
        if (self._value("termsCol") is None) != (self._value("countsCol") is None):
            raise SettingsError("`termsCol` and `countsCol` go together: give both or neither")
        if self._value("textCol") is not None and self._value("termsCol") is not None:
            raise SettingsError("`textCol` has words to count, `termsCol` and `countsCol` words that are counted; "
                                "leave out the one or the others")
