"""From a decomposition to probabilities and the dictionary (formulas §10)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.ibp.cumulant_decomposition import CumulantDecomposition
from spectral_spark.ibp.feature_model import FeatureModel, largest_entry_positive
from spectral_spark.ibp.row_whitening import RowWhitening
from spectral_spark.ibp.source_kinds import GAUSSIAN, Kind

_MISFIT_LIMIT = 0.5
_GAUSSIAN_DEVIATIONS = 3.0
"""A Gaussian factor counts as always on while its λ4 is within this many standard deviations √(24/n) of zero. The
solver picks directions of large |λ4|, so one deviation misses half of them; three take π = .9 for 1 up to about 2,000
rows and π = .95 up to about 9,000, where the two cannot be told apart."""


@dataclass(frozen=True, eq=False)
class RecoveredFeatures:
    """A model and the estimates behind it.

    Attributes
    ----------
    model : the features, columns ordered by explained variance.
    from_mean, from_eigenvalues : π of shape (k,) each way, in the order of the model's columns. There is no estimate
        from the mean (NaN) in isFA and iICA.
    offset_misfit : distance of the mean from that of binary features without an offset (0 fits perfectly, centred data
        have 1).
    offset : "none" or "free", as used.
    unidentified : number of always-on Gaussian factors, of which only the subspace is known.
    """

    model: FeatureModel
    from_mean: np.ndarray
    from_eigenvalues: np.ndarray
    offset_misfit: float
    offset: str
    unidentified: int


def recover_features(
    decomposition: CumulantDecomposition, whitening: RowWhitening, mean: np.ndarray, kind: Kind, rows: float,
    offset: str = "auto", probabilities: str = "eigenvalues",
) -> RecoveredFeatures:
    """Probabilities, signs and the dictionary.

    Parameters
    ----------
    rows : how many rows the moments come from (``inf`` for exact moments); sets how close π may come to 0.
    offset : binary only. "none" takes the signs from the mean; "free" leaves the mean to an offset, with the entry of
        largest magnitude positive; "auto" takes "none" unless the mean contradicts the third moment.
    probabilities : binary only. "eigenvalues" reads π from λ3 (on sampled data a dictionary with a third to a half
        of the error when features are rare), "mean" at first order; a free offset always needs the eigenvalues.
    """
    if kind.is_binary:
        return _binary(decomposition, whitening, mean, rows, offset, probabilities)
    return _sparse(decomposition, whitening, mean, kind, rows)


def _binary(
    decomposition: CumulantDecomposition, whitening: RowWhitening, mean: np.ndarray, rows: float, offset: str,
    probabilities: str,
) -> RecoveredFeatures:
    columns = whitening.lift @ decomposition.vectors
    along = decomposition.vectors.T @ (whitening.matrix.T @ mean)          # ±√(π/(1−π)), formulas §10
    nearest, distances = _match_skewness(along, decomposition.third_eigenvalues)
    misfit = float(np.median(distances))
    used = ("free" if misfit > _MISFIT_LIMIT else "none") if offset == "auto" else offset
    signs = nearest if used == "none" else largest_entry_positive(columns)
    skew = decomposition.third_eigenvalues * signs
    from_eigenvalues = 0.5 - skew / (2 * np.sqrt(skew**2 + 4))
    from_mean = along**2 / (1 + along**2)
    chosen = from_mean if used == "none" and probabilities == "mean" else from_eigenvalues
    pi = np.clip(chosen, 0.25 / rows, 1 - 0.25 / rows)
    dictionary = columns * signs / np.sqrt(pi * (1 - pi))
    base = mean - dictionary @ pi if used == "free" else np.zeros(len(mean))
    model = FeatureModel("binary", dictionary, pi, base, whitening.noise_variance)
    order = model.order()
    return RecoveredFeatures(model.ordered(), from_mean[order], from_eigenvalues[order], misfit, used, 0)


def _match_skewness(along: np.ndarray, skew: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs of shape (k,) for which mean and skewness agree best, and the remaining distances.

    Without an offset λ3 = 1/a − a for a = ±√(π/(1−π)), so a is one of two roots, one for each sign. Distances are
    between angles arctan a, relative to the root's: 0 is a perfect match, and centred data have 1.
    """
    root = np.hypot(skew / 2, 1.0)
    angles = np.arctan(np.stack([root - skew / 2, -root - skew / 2]))
    distances = np.abs(np.arctan(along) - angles)
    closest = np.argmin(distances, axis=0)
    picked = (closest, np.arange(len(along)))
    return np.where(closest == 0, 1.0, -1.0), distances[picked] / np.abs(angles[picked])


def _sparse(
    decomposition: CumulantDecomposition, whitening: RowWhitening, mean: np.ndarray, kind: Kind, rows: float
) -> RecoveredFeatures:
    assert kind.kurtosis is not None
    excess = decomposition.fourth_eigenvalues
    from_eigenvalues = np.clip(kind.kurtosis / np.maximum(excess + 3, 1e-12), 0.25 / rows, 1.0)
    columns = whitening.lift @ decomposition.vectors
    noise = max(_GAUSSIAN_DEVIATIONS * np.sqrt(24 / rows), 1e-7)
    gaussian = np.flatnonzero(excess <= noise) if kind.kurtosis == GAUSSIAN else np.zeros(0, int)
    if len(gaussian) > 1:
        columns[:, gaussian] = _principal_axes(columns[:, gaussian])
    pi = from_eigenvalues.copy()
    pi[gaussian] = 1.0
    columns *= largest_entry_positive(columns)
    model = FeatureModel(kind.name, columns / np.sqrt(kind.variance * pi), pi, mean, whitening.noise_variance)
    unknown = np.full(len(pi), np.nan)
    unidentified = len(gaussian) if len(gaussian) > 1 else 0
    return RecoveredFeatures(model.ordered(), unknown, from_eigenvalues[model.order()], 0.0, "free", unidentified)


def _principal_axes(columns: np.ndarray) -> np.ndarray:
    """Columns with the same outer product, orthogonal to one another, longest first."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left * values
