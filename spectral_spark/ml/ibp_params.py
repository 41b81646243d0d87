"""What SpectralIBP can be told: the parameters of the table, as the plain values of a fit."""

from spectral_spark.fit.settings_check import check_features
from spectral_spark.ibp.solve_features import IbpSettings
from spectral_spark.ml.ibp_accessors import IBPEstimatorParams, IBPModelParams

__all__ = ["RowParams", "SpectralIBPParams"]

RowParams = IBPModelParams


class SpectralIBPParams(IBPEstimatorParams):
    """Parameters of the estimator. Every one has a default or may be left out; ``explainParams()`` lists them."""

    def fitSettings(self) -> IbpSettings:
        """The parameters of the fit as plain values, checked."""
        settings = IbpSettings(
            kind=self.getKind(), k=self.getK(), missing=self.getMissing(), solver=self.getSolver(),
            offset=self.getOffset(), probabilities=self.getProbabilitiesFrom(), polish=self.getPolish(),
            power_passes=self.getPowerPasses(), noise_variance=self.getNoiseVariance(), seed=self.getSeed(),
            kurtosis=self.getKurtosis(), rank_rule=self.getRankRule(), noise_rule=self.getNoiseRule(),
            basis_size=self.getBasisSize(),
        )
        check_features(settings)
        return settings
