"""Least squares given the codes: one more pass that makes a spectral dictionary as good as that of Gibbs sampling."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.data.dense_batch import DenseBatch, Runner
from spectral_spark.ibp.feature_codes import BinaryDecoder
from spectral_spark.ibp.feature_model import FeatureModel, largest_entry_positive
from spectral_spark.ibp.row_means import ColumnMeans
from spectral_spark.ibp.sparse_posterior import sparse_posterior


@dataclass(frozen=True)
class PolishKernel:
    """Sums for the regression of x on its codes: the most likely z, or for isFA and iICA the posterior of z ∘ y.

    Shared: ``dictionary`` (d, k), ``probabilities`` (k,), ``offset`` (d,), ``noise_variance`` (1,), ``mean`` (d,) for
    missing values. State: ``code_second`` Σ E[s sᵀ] (k, k), ``cross`` Σ (x−μ) E[s]ᵀ (d, k), ``codes`` Σ E[s] (k,),
    ``active`` Σ P(z = 1) (k,), ``squares`` Σ ‖x−μ‖² (1,).
    """

    kind: str

    def start(self, shared: Mapping[str, np.ndarray]) -> "_PolishAccumulator":
        return _PolishAccumulator(model_from_shared(self.kind, shared), shared["mean"])


class _PolishAccumulator:
    def __init__(self, model: FeatureModel, mean: np.ndarray) -> None:
        self._model, self._mean = model, mean
        self._decoder = BinaryDecoder(model) if model.law.is_binary else None
        d, k = model.dictionary.shape
        self._second, self._cross = np.zeros((k, k)), np.zeros((d, k))
        self._codes, self._active = np.zeros((2, k))
        self._squares = 0.0

    def add(self, batch: DenseBatch) -> None:
        values = batch.centred(self._mean)
        if self._decoder is not None:
            codes = self._decoder.most_likely(values + self._mean)
            self._second += codes.T @ codes
            self._active += codes.sum(axis=0)
        else:
            posterior = sparse_posterior(values + self._mean, self._model)
            codes = posterior.mean
            self._second += posterior.second
            self._active += posterior.activity.sum(axis=0)
        self._cross += values.T @ codes
        self._codes += codes.sum(axis=0)
        self._squares += float(np.einsum("nd,nd->", values, values))

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "code_second": self._second,
            "cross": self._cross,
            "codes": self._codes,
            "active": self._active,
            "squares": np.array([self._squares]),
        }


def model_from_shared(kind: str, shared: Mapping[str, np.ndarray]) -> FeatureModel:
    return FeatureModel(
        kind, shared["dictionary"], shared["probabilities"], shared["offset"], float(shared["noise_variance"][0])
    )


def shared_of(model: FeatureModel) -> dict[str, np.ndarray]:
    """A model as broadcast arrays."""
    return {
        "dictionary": model.dictionary,
        "probabilities": model.probabilities,
        "offset": model.offset,
        "noise_variance": np.array([model.noise_variance]),
    }


def polish_features(
    run: Runner, model: FeatureModel, means: ColumnMeans, rounds: int, *, free_offset: bool
) -> FeatureModel:
    """Refit Φ, π and σ² (and a free offset) to the codes, ``rounds`` times, one pass each."""
    for round_number in range(rounds):
        shared = shared_of(model) | {"mean": means.mean}
        sums = run(PolishKernel(model.kind), shared, f"polish {round_number + 1}")
        model = _refit(sums, model, means, free_offset)
    return canonical_signs(model, free_offset).ordered() if rounds else model


def canonical_signs(model: FeatureModel, free_offset: bool) -> FeatureModel:
    """The model with the largest entry of every column positive, if the data do not determine the sign.

    Sparse factors are symmetric; with a free offset, a binary z becomes 1 − z and its column is added to the offset.
    """
    if model.law.is_binary and not free_offset:
        return model
    signs = largest_entry_positive(model.dictionary)
    turned = replace(model, dictionary=model.dictionary * signs)
    if not model.law.is_binary:
        return turned
    flipped = signs < 0
    return replace(
        turned, probabilities=np.where(flipped, 1 - model.probabilities, model.probabilities),
        offset=model.offset + model.dictionary[:, flipped].sum(axis=1),
    )


def _refit(sums: Mapping[str, np.ndarray], model: FeatureModel, means: ColumnMeans, free_offset: bool) -> FeatureModel:
    rows, (d, k) = means.rows, model.dictionary.shape
    codes = sums["codes"] / rows
    if free_offset:                                   # regression with intercept: centre the codes as well
        gram = sums["code_second"] / rows - np.outer(codes, codes)
        cross = sums["cross"] / rows
    else:
        gram = sums["code_second"] / rows
        cross = sums["cross"] / rows + np.outer(means.mean, codes)
    ridge = 1.0 / rows                    # the last dictionary counts like one row: unused features keep their columns
    dictionary = np.linalg.solve(gram + ridge * np.eye(k), (cross + ridge * model.dictionary).T).T
    offset = means.mean - dictionary @ codes if free_offset else np.zeros(d)
    total = sums["squares"][0] / rows + (0.0 if free_offset else float(means.mean @ means.mean))
    noise = (total - float((dictionary * (2 * cross - dictionary @ gram)).sum())) / d
    pi = np.clip(sums["active"] / rows, 0.25 / rows, 1.0 if not model.law.is_binary else 1 - 0.25 / rows)
    return FeatureModel(model.kind, dictionary, pi, offset, max(noise, 0.0))


