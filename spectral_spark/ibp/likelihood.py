"""Codes and log-likelihoods of rows under a model of any kind."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.dense_batch import DenseBatch
from spectral_spark.errors import InputError
from spectral_spark.ibp.feature_codes import BinaryDecoder
from spectral_spark.ibp.feature_model import FeatureModel
from spectral_spark.ibp.polish import model_from_shared
from spectral_spark.ibp.sparse_posterior import sparse_posterior


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """Codes and log-likelihoods of n rows.

    Attributes
    ----------
    codes : array of shape (n, k): the most likely binary z, or the posterior mean of z ∘ y.
    activity : array of shape (n, k): z itself, or P(z = 1 | x).
    log_likelihood : array of shape (n,), natural logarithm.
    """

    codes: np.ndarray
    activity: np.ndarray
    log_likelihood: np.ndarray


class RowReader:
    """Applies one model to rows, whatever its kind."""

    def __init__(self, model: FeatureModel) -> None:
        self._model = model
        self._decoder = BinaryDecoder(model) if model.law.is_binary else None

    def read(self, values: np.ndarray) -> RowFeatures:
        """Codes, activity and log-likelihood of rows of shape (n, d); NaN marks a missing value."""
        if self._decoder is not None:
            codes = self._decoder.decode(values)
            return RowFeatures(codes.most_likely, codes.most_likely, codes.log_likelihood)
        posterior = sparse_posterior(values, self._model)
        return RowFeatures(posterior.mean, posterior.activity, posterior.log_likelihood)


@dataclass(frozen=True)
class LikelihoodKernel:
    """Σ log p(x). Shared: the model (see ``polish.shared_of``). State: ``rows`` (1,), ``log_likelihood`` (1,)."""

    kind: str
    missing: str = "refuse"

    def start(self, shared: Mapping[str, np.ndarray]) -> "_LikelihoodAccumulator":
        return _LikelihoodAccumulator(RowReader(model_from_shared(self.kind, shared)), self.missing)


class _LikelihoodAccumulator:
    def __init__(self, reader: RowReader, missing: str) -> None:
        self._reader, self._missing = reader, missing
        self._rows, self._total = 0, 0.0

    def add(self, batch: DenseBatch) -> None:
        refuse_unreadable(batch.values, self._missing)
        self._rows += batch.n_rows
        self._total += float(self._reader.read(batch.values).log_likelihood.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        return {"rows": np.array([float(self._rows)]), "log_likelihood": np.array([self._total])}


def refuse_unreadable(values: np.ndarray, missing: str) -> None:
    """Raise when a value of rows of shape (n, d) is infinite, or missing where ``missing`` is "refuse"."""
    if np.isfinite(values).all():
        return
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        raise InputError(f"a value is infinite, in column {np.flatnonzero(infinite)[0]}; replace it first")
    if missing == "refuse":
        raise InputError(
            f"a value is missing (null or NaN), in column {np.flatnonzero(np.isnan(values).any(axis=0))[0]}; fill it, "
            "or set missing='mean' to put the expected value in its place"
        )
