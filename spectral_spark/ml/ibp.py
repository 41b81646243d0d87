"""SpectralIBP and its model: latent binary features of real vectors."""


import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.formats import FEATURE_ESTIMATOR_KIND as ESTIMATOR_KIND
from spectral_spark.files.formats import FEATURE_ESTIMATOR_VERSION as ESTIMATOR_VERSION
from spectral_spark.files.formats import FEATURE_MODEL_KIND as MODEL_KIND
from spectral_spark.files.formats import FEATURE_MODEL_VERSION as MODEL_VERSION
from spectral_spark.files.model_files import METADATA
from spectral_spark.fit.feature_summary import IbpSummary
from spectral_spark.fit.fit_features import FittedFeatures, fit_rows, log_likelihood
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ml import persistence
from spectral_spark.ml.ibp_params import RowParams, SpectralIBPParams
from spectral_spark.ml.ibp_rows import add_rows


class SpectralIBP(Estimator, SpectralIBPParams, MLReadable, MLWritable):
    """Latent features of real vectors, by spectral inference for the Indian Buffet Process and its relatives.

    ``binary``: x = Φ z + ε; ``isfa``: x = Φ (z ∘ y) + ε with Gaussian y; ``iica``: the same with Laplace y. A pass for
    the mean, one for the covariance (a few, sketched, beyond 1,024 columns) and one for the whitened third and fourth
    cumulants; the driver does the rest. The same input, settings and seed give the same model, bit for bit, however the
    data is partitioned. What cannot be identified (signs and scale in isfa and iica, z against 1 − z with a free
    offset, always-on Gaussian factors) comes in the canonical form that :mod:`spectral_spark.ibp` describes.

    Parameters
    ----------
    kind : "binary", "isfa" or "iica".
    k : number of features, or "auto" for the eigenvalues above the edge of the noise; at most 40.
    featuresCol : column of pyspark.ml Vectors or arrays of numbers.
    idCol : identifies a row; without it the row's content does.
    missing : "refuse" nulls and NaN, or put the "mean" of the column in their place.
    solver : "joint" or "paper".
    offset, probabilitiesFrom : of binary features, see ``explainParams()``.
    polish : rounds of least squares given the codes, one more pass each.
    powerPasses, noiseVariance : of the covariance, see ``explainParams()``.
    codesCol, activityCol, reconstructionCol : columns that the model adds.
    checkpointDir : keeps finished passes until the fit is done; the same fit started again goes on from there.
    seed : of everything random.

    Examples
    --------
    ``pixels`` is a DataFrame with a column ``features`` of 2,000 vectors of length 6, sums of two patterns.

    >>> model = SpectralIBP(kind="binary", k=2, seed=1).fit(pixels)
    >>> model.dictionary().shape
    (6, 2)
    >>> len(model.transform(pixels).select("codes").first()["codes"])
    2
    """

    progress: Progress = Progress()

    def setProgress(self, progress: Progress) -> "SpectralIBP":
        """Where to show progress, for example ``engine.progress.TerminalProgress()``. Not a parameter: not saved."""
        self.progress = progress
        return self

    def copy(self, extra: dict | None = None) -> "SpectralIBP":
        that: SpectralIBP = super().copy(extra)
        that.progress = self.progress
        return that

    def _fit(self, dataset: DataFrame) -> "SpectralIBPModel":
        fitted = fit_rows(
            dataset, self._value("featuresCol"), self.fitSettings(), id_column=self._value("idCol"),
            progress=self.progress, checkpoint_dir=self._value("checkpointDir"),
        )
        return self._copyValues(SpectralIBPModel(fitted))

    def write(self) -> persistence.DirectoryWriter:
        def fill(staging: Staging) -> None:
            staging.write_line(METADATA, persistence.params_metadata(self))

        return persistence.DirectoryWriter(ESTIMATOR_KIND, ESTIMATOR_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralIBP"]:
        def build(saved: SavedDirectory) -> SpectralIBP:
            estimator = cls()
            persistence.restore_params(estimator, persistence.metadata_of(saved), saved.path)
            return estimator

        return persistence.DirectoryReader(ESTIMATOR_KIND, ESTIMATOR_VERSION, build)


class SpectralIBPModel(Model, RowParams, MLReadable, MLWritable):
    """A dictionary of features, how often each is on, and the level of the noise."""

    def __init__(self, fitted: FittedFeatures) -> None:
        super().__init__()
        self._fitted = fitted

    @property
    def features(self) -> FeatureModel:
        """The model as plain arrays."""
        return self._fitted.model

    @property
    def k(self) -> int:
        """Number of features."""
        return self.features.k

    @property
    def numFeatures(self) -> int:
        """Length d of a row."""
        return self.features.width

    @property
    def probabilities(self) -> np.ndarray:
        """π of shape (k,): how often each feature is on."""
        return self.features.probabilities

    @property
    def noiseVariance(self) -> float:
        """σ²."""
        return self.features.noise_variance

    @property
    def offsetVector(self) -> np.ndarray:
        """What every row has without any feature, shape (d,)."""
        return self.features.offset

    @property
    def summary(self) -> IbpSummary:
        """The run report."""
        return self._fitted.summary

    def dictionary(self) -> np.ndarray:
        """Φ of shape (d, k), columns by the variance they explain."""
        return self.features.dictionary

    def describeFeatures(self, maxEntriesPerFeature: int = 10) -> DataFrame:
        """The largest entries of each feature: feature, probability, explainedVariance, indices, weights."""
        count = min(maxEntriesPerFeature, self.numFeatures)
        top = np.argsort(-np.abs(self.features.dictionary), axis=0, kind="stable")[:count].T
        table = pa.table({
            "feature": pa.array(range(self.k), pa.int32()),
            "probability": pa.array(self.probabilities, pa.float64()),
            "explainedVariance": pa.array(self.features.explained_variances, pa.float64()),
            "indices": pa.array(top.tolist(), pa.list_(pa.int32())),
            "weights": pa.array(
                np.take_along_axis(self.features.dictionary.T, top, axis=1).tolist(), pa.list_(pa.float64())
            ),
        })
        return SparkSession.active().createDataFrame(table)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        codes, activity = self._value("codesCol"), self._value("activityCol")
        if self.features.law.is_binary:
            return self._with(dataset, "codes", {codes: (1, self.k)})
        return self._with(dataset, "both", {codes: (1, self.k), activity: (self.k + 1, self.k)})

    def reconstruct(self, dataset: DataFrame) -> DataFrame:
        """Adds what the features make of each row: offset + Φ · codes."""
        return self._with(dataset, "reconstruction", {self._value("reconstructionCol"): (1, self.numFeatures)})

    def logLikelihood(self, dataset: DataFrame) -> float:
        """Σ log p(x) over the rows, natural logarithm.

        Binary: exact up to 12 features, a lower bound beyond. isFA and iICA: the evidence of expectation propagation.
        """
        return log_likelihood(
            dataset, self._value("featuresCol"), self.features, self._value("missing"), self._value("idCol")
        )

    def _with(self, dataset: DataFrame, output: str, parts: dict[str, tuple[int, int]]) -> DataFrame:
        """The dataset with slices (from, length) of one output as Vector columns, null where there is no vector."""
        for name in parts:
            if name in dataset.columns:
                raise InputError(f"column '{name}' exists; set codesCol, activityCol or reconstructionCol to another")
        features, missing, read = self._value("featuresCol"), self._value("missing"), "spectral_spark_read"
        whole = F.col(read)
        vectors = {
            name: F.when(whole.isNotNull(), array_to_vector(F.slice(whole, start, length)))
            for name, (start, length) in parts.items()
        }
        return add_rows(dataset, features, read, self.features, output, missing).withColumns(vectors).drop(read)

    def copy(self, extra: dict | None = None) -> "SpectralIBPModel":
        that: SpectralIBPModel = super().copy(extra)
        return that

    def write(self) -> persistence.DirectoryWriter:
        def fill(staging: Staging) -> None:
            self.features.write(staging)
            staging.write_json("summary.json", self.summary.toDict())
            staging.write_line(METADATA, persistence.params_metadata(self))

        return persistence.DirectoryWriter(MODEL_KIND, MODEL_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralIBPModel"]:
        def build(saved: SavedDirectory) -> SpectralIBPModel:
            summary = IbpSummary.fromDict(saved.read_object("summary.json"))
            model = cls(FittedFeatures(FeatureModel.read(saved), summary))
            persistence.restore_params(model, persistence.metadata_of(saved), saved.path)
            return model

        return persistence.DirectoryReader(MODEL_KIND, MODEL_VERSION, build)
