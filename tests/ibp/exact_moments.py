"""Closed forms of the moments of the three models, and how to compare dictionaries."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from spectral_spark.ibp.cumulants import WhitenedCumulants
from spectral_spark.ibp.row_whitening import RowWhitening, whiten_rows
from spectral_spark.ibp.spectrum import exact_spectrum
from spectral_spark.moments.symmetric_packing import pair_indices

KURTOSIS = {"isfa": (1.0, 3.0), "iica": (2.0, 6.0)}


def exact_whitened(
    kind: str, dictionary: np.ndarray, pi: np.ndarray, noise: float
) -> tuple[np.ndarray, RowWhitening, WhitenedCumulants]:
    """Mean, whitening and cumulants of the model itself: no sampling error."""
    if kind == "binary":
        mean = dictionary @ pi
        second, third, fourth = pi - pi**2, pi - 3 * pi**2 + 2 * pi**3, pi - 7 * pi**2 + 12 * pi**3 - 6 * pi**4
    else:
        c, kurtosis = KURTOSIS[kind]
        mean = np.zeros(len(dictionary))
        second, third, fourth = c * pi, 0 * pi, kurtosis * c**2 * pi - 3 * c**2 * pi**2
    covariance = (dictionary * second) @ dictionary.T + noise * np.eye(len(dictionary))
    whitening = whiten_rows(exact_spectrum(covariance, np.inf), dictionary.shape[1])
    columns = whitening.matrix.T @ dictionary
    a, b = pair_indices(len(pi))
    products = columns[a] * columns[b]
    return mean, whitening, WhitenedCumulants(
        whitening.matrix.T @ mean,
        np.einsum("r,ir,jr,kr->ijk", third, columns, columns, columns),
        (products * fourth) @ products.T,
    )


def matched(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Positions of found columns that pair best with the columns of the truth."""
    cost = ((found[:, None, :] - truth[:, :, None]) ** 2).sum(axis=0)
    return linear_sum_assignment(cost)[1]


def block_images() -> np.ndarray:
    """Four features on 6 × 6 pixels, one in each corner, shape (36, 4)."""
    images = np.zeros((4, 6, 6))
    images[0, [0, 1, 1, 1, 2], [1, 0, 1, 2, 1]] = 1
    images[1, [0, 0, 0, 1, 1, 2, 2, 2], [3, 4, 5, 3, 5, 3, 4, 5]] = 1
    images[2, [3, 4, 4, 5, 5, 5], [0, 0, 1, 0, 1, 2]] = 1
    images[3, [3, 3, 3, 4, 5], [3, 4, 5, 4, 4]] = 1
    return images.reshape(4, 36).T


def sample(
    kind: str, dictionary: np.ndarray, pi: np.ndarray, noise: float, rows: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of shape (n, d) and their codes z or z ∘ y of shape (n, k)."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((rows, len(pi))) < pi).astype(np.float64)
    if kind == "isfa":
        codes *= rng.standard_normal(codes.shape)
    if kind == "iica":
        codes *= rng.laplace(size=codes.shape)
    return codes @ dictionary.T + np.sqrt(noise) * rng.standard_normal((rows, len(dictionary))), codes
