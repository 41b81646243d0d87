"""SpectralIBP and its model: latent binary features of real vectors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.engine.progress import Progress
from spectral_spark.engine.spark_versions import frame_from_arrow
from spectral_spark.errors import InputError
from spectral_spark.files.directories import SavedDirectory, Staging
from spectral_spark.files.formats import FEATURE_ESTIMATOR_KIND as ESTIMATOR_KIND
from spectral_spark.files.formats import FEATURE_ESTIMATOR_VERSION as ESTIMATOR_VERSION
from spectral_spark.files.formats import FEATURE_MODEL_KIND as MODEL_KIND
from spectral_spark.files.formats import FEATURE_MODEL_VERSION as MODEL_VERSION
from spectral_spark.files.model_files import METADATA
from spectral_spark.files.safe_reading import damaged
from spectral_spark.fit.feature_summary import IbpSummary
from spectral_spark.fit.fit_features import FittedFeatures, fit_rows, log_likelihood
from spectral_spark.fit.summary_view import html_view, text_view
from spectral_spark.fit.update_features import settings_before, solve_rows_again
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.feature_state import FeatureBasis
from spectral_spark.ibp.state_files import read_state, write_state
from spectral_spark.ml import persistence
from spectral_spark.ml.feature_updates import FeatureUpdates
from spectral_spark.ml.ibp_params import RowParams, SpectralIBPParams
from spectral_spark.ml.ibp_rows import add_rows
from spectral_spark.moments.remembered_files import read_remembered, write_remembered


class SpectralIBP(Estimator, SpectralIBPParams, MLReadable, MLWritable):
    """Latent features of real vectors, by spectral inference for the Indian Buffet Process and its relatives.

    ``binary``: x = Φ z + ε; ``isfa``: x = Φ (z ∘ y) + ε with Gaussian y; ``iica``: the same with Laplace y. A pass for
    the mean, one for the covariance (a few, sketched, beyond 1,024 columns) and one for the whitened third and fourth
    cumulants; the driver does the rest. The same input, settings and seed give the same model, bit for bit, however the
    data is partitioned. What cannot be identified (signs and scale in isfa and iica, z against 1 − z with a free
    offset, always-on Gaussian factors) comes in the canonical form that :mod:`spectral_spark.ibp` describes.

    Parameters
    ----------
    kind : The model: binary features, sparse factors (isfa, Gaussian) or independent components (iica, Laplace).
        Default binary.
    k : Number of features, or auto to count the eigenvalues above the noise. Default auto.
    featuresCol : Column of pyspark.ml Vectors or arrays of numbers. Default features.
    idCol : Column that identifies a row. Without it, rows are told apart by their content.
    codesCol : Column that transform adds with the code of each row: the most likely binary features, or the expected
        value of the factors. Default codes.
    activityCol : Column that transform adds for isfa and iica with the probability that each feature is active. Default
        activity.
    reconstructionCol : Column that reconstruct adds with each row as the features explain it. Default reconstruction.
    missing : What to do with nulls and NaN: refuse them, take every moment over the values that are there (pairwise,
        without bias), or put the mean of the column in their place (mean, which shrinks covariances). Default refuse.
    polish : Rounds of least squares that improve the features after the spectral solution; each takes one more pass.
        Default 0.
    checkpointDir : Directory that keeps finished passes until the fit is done, so that the same fit resumes after it
        was killed.
    seed : Random seed. The same documents, settings and seed give the same model, bit for bit. Default 0.
    solver : How cumulants are decomposed: third and fourth together (joint), or one after the other as in the paper.
        Default joint.
    offset : Whether binary features come with a constant offset: none, free (estimated), or auto to decide from the
        data. Default auto.
    probabilitiesFrom : Where the probabilities of binary features come from: eigenvalues of the third cumulant, or the
        mean. Default eigenvalues.
    powerPasses : Passes of subspace iteration when there are too many columns for a full covariance matrix. Default 3.
    noiseVariance : Variance of the noise, if it is known. By default it is estimated from the smallest eigenvalues.
    kurtosis : Kurtosis of the sources of isfa and iica (the fourth moment over the squared variance), or estimate to
        measure it with one more pass. By default 3 for isfa, Gaussian, and 6 for iica, Laplace.
    rankRule : How features are counted when k is auto: eigenvalues above the edge of the noise, or up to the largest
        drop between neighbouring eigenvalues, the rule of the paper. One of noise-edge, largest-slope. Default
        noise-edge.
    noiseRule : How the variance of the noise is estimated: the mean of the eigenvalues below the features, or the
        smallest eigenvalue, the rule of the paper. One of trailing-mean, smallest-eigenvalue. Default trailing-mean.
    basisSize : Directions in which third and fourth moments are kept with the model, for updates and for another k.
        auto takes a quarter more than k (at least 4 more and at least 12 in all, at most 40 and the columns). Default
        auto.

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
    basis: FeatureBasis | None = None

    def setBasis(self, basis: FeatureBasis | None) -> "SpectralIBP":
        """Collect moments in the basis of another model (``model.basis``), so that both can be merged. Not saved."""
        self.basis = basis
        return self

    def setProgress(self, progress: Progress) -> "SpectralIBP":
        """Where to show progress, for example ``engine.progress.TerminalProgress()``. Not a parameter: not saved."""
        self.progress = progress
        return self

    def copy(self, extra: dict | None = None) -> "SpectralIBP":
        that: SpectralIBP = super().copy(extra)
        that.progress, that.basis = self.progress, self.basis
        return that

    def _fit(self, dataset: DataFrame) -> "SpectralIBPModel":
        fitted = fit_rows(
            dataset, self._value("featuresCol"), self.fitSettings(), id_column=self._value("idCol"),
            basis=self.basis, progress=self.progress, checkpoint_dir=self._value("checkpointDir"),
        )
        return self._copyValues(SpectralIBPModel(fitted))

    def write(self) -> persistence.DirectoryWriter:
        return persistence.estimator_writer(self, ESTIMATOR_KIND, ESTIMATOR_VERSION)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralIBP"]:
        return persistence.estimator_reader(cls, ESTIMATOR_KIND, ESTIMATOR_VERSION)


class SpectralIBPModel(FeatureUpdates, Model, RowParams, MLReadable, MLWritable):
    """A dictionary of features, how often each is on, and the level of the noise."""

    def __init__(self, fitted: FittedFeatures) -> None:
        super().__init__()
        self._fitted = fitted

    def solveAgain(self, **settings: Any) -> "SpectralIBPModel":
        """Features with another ``k``, ``kind``, ``solver``, ``kurtosis`` or other setting, from the stored moments.

        Takes a moment and reads no rows. ``k`` may be as large as ``basisSize`` was; ``polish`` needs the rows.
        """
        before = settings_before(self._fitted)
        estimator = SpectralIBP(
            kind=before.kind, k=before.k, solver=before.solver, offset=before.offset,
            probabilitiesFrom=before.probabilities, noiseVariance=before.noise_variance, kurtosis=before.kurtosis,
            rankRule=before.rank_rule, noiseRule=before.noise_rule, missing=before.missing, seed=before.seed,
        )
        if "kind" in settings:
            estimator.clear(estimator.kurtosis)
            estimator.clear(estimator.offset)
            estimator.clear(estimator.probabilitiesFrom)
        asked = estimator.setParams(**settings).fitSettings()
        return self._with_fitted(solve_rows_again(self._fitted, replace(asked, basis_size=before.basis_size)))

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

    def _facts(self) -> list[tuple[str, str]]:
        shares = self.features.explained_variances / self.summary.trace
        facts = []
        for feature in range(self.k):
            column = self.features.dictionary[:, feature]
            top = np.argsort(-np.abs(column), kind="stable")[:5]
            entries = ", ".join(f"{entry} ({column[entry]:+.3g})" for entry in top)
            facts.append((
                f"feature {feature}",
                f"on in {self.probabilities[feature]:.1%} of the rows, {shares[feature]:.1%} of the variance, "
                f"largest entries {entries}",
            ))
        return facts

    def _headline(self) -> str:
        return (f"SpectralIBPModel: {self.k} {self.summary.kind} features from {self.summary.rows:,} rows of "
                f"{self.numFeatures:,} columns, noise variance {self.noiseVariance:.4g}")

    def __repr__(self) -> str:
        return text_view(self._headline(), self._facts())

    def _repr_html_(self) -> str:
        return html_view(self._headline(), self._facts())

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
        return frame_from_arrow(SparkSession.active(), table)

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
            write_state(staging, self._fitted.state)
            write_remembered(staging, self._fitted.known, None)
            if self.changes is not None:
                staging.write_json("changes.json", self.changes)

        return persistence.DirectoryWriter(MODEL_KIND, MODEL_VERSION, fill)

    @classmethod
    def read(cls) -> persistence.DirectoryReader["SpectralIBPModel"]:
        def build(saved: SavedDirectory) -> SpectralIBPModel:
            summary = IbpSummary.fromDict(saved.read_object("summary.json"))
            features, state, known = FeatureModel.read(saved), read_state(saved), read_remembered(saved)[0]
            if state is not None and state.basis.width != features.width:
                raise damaged(f"{saved.path}/moments", "they have another number of columns than the features")
            changes = saved.read_object("changes.json") if saved.has("changes.json") else None
            model = cls(FittedFeatures(features, summary, state, known, changes))
            persistence.restore_params(model, persistence.metadata_of(saved), saved.path)
            return model

        return persistence.DirectoryReader(MODEL_KIND, MODEL_VERSION, build)
