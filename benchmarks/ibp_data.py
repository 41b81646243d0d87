"""Data of the feature benchmarks: simulated images and factors, the block images, the liver expression profiles."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.io import loadmat
from scipy.optimize import linear_sum_assignment

SHAPES = ("010000111000010000", "000111000101000111", "100000110000111000", "000111000010000010")
TREATMENTS = ("azole", "fibrate", "statin", "toxicant")


def data_root() -> Path:
    """Where the real data is: SPECTRAL_DATA, or ../shared/data beside the repository."""
    return Path(os.environ.get("SPECTRAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


def image_features() -> np.ndarray:
    """The four 6 × 6 features of Griffiths and Ghahramani, shape (36, 4)."""
    features = np.zeros((4, 36))
    for row, (shape, half) in enumerate(zip(SHAPES, (0, 0, 18, 18), strict=True)):
        features[row, half : half + 18] = [int(pixel) for pixel in shape]
    return features.T


def noisy_images(rows: int, noise: float, seed: int, probability: float = 0.5) -> np.ndarray:
    """Images with each feature on with ``probability``, shape (n, 36)."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((rows, 4)) < probability).astype(np.float64)
    return codes @ image_features().T + noise * rng.standard_normal((rows, 36))


def sparse_factors(kind: str, rows: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 7 dimensions with 4 sources, each on with probability .2 to .5, and the true dictionary (7, 4)."""
    rng = np.random.default_rng(seed)
    dictionary = rng.standard_normal((7, 4))
    codes = (rng.random((rows, 4)) < [0.2, 0.3, 0.4, 0.5]).astype(np.float64)
    codes *= rng.standard_normal(codes.shape) if kind == "isfa" else rng.laplace(size=codes.shape)
    return codes @ dictionary.T + noise * rng.standard_normal((rows, 7)), dictionary


def block_images() -> tuple[np.ndarray, np.ndarray]:
    """The published set: centred images (1000, 36) and their features (36, 4)."""
    content = loadmat(data_root() / "ibp" / "block_image_set.mat")
    return np.asarray(content["data"], np.float64), np.asarray(content["trueWeights"], np.float64).T


@dataclass(frozen=True, eq=False)
class Expression:
    """Liver expression: log ratios (587, 8565) with NaN, treatment ("" where unknown), replicate group of each sample
    (identical profiles), and series (neighbouring samples of one treatment)."""

    values: np.ndarray
    treatment: np.ndarray
    replicates: np.ndarray
    series: np.ndarray


def liver_expression() -> Expression:
    table = pq.read_table(data_root() / "ibp" / "gse2187.parquet")
    values = np.array([np.asarray(row, np.float64) for row in table["log_ratio"].to_pylist()])
    treatment = np.array([name or "" for name in table["treatment"].to_pylist()])
    replicates = np.unique(np.nan_to_num(values, nan=1e9), axis=0, return_inverse=True)[1].ravel()
    series = np.cumsum(np.concatenate(([True], treatment[1:] != treatment[:-1])))
    return Expression(values, treatment, replicates, series)


def matched_columns(found: np.ndarray, truth: np.ndarray, *, signs: bool = False) -> np.ndarray:
    """Found columns in the order (and with ``signs`` the sign) that fits the truth best; absent ones are zero."""
    missing = truth.shape[1] - found.shape[1]
    if missing > 0:
        found = np.pad(found, ((0, 0), (0, missing)))
    cost = ((found[:, None, :] - truth[:, :, None]) ** 2).sum(axis=0)
    flipped = ((-found[:, None, :] - truth[:, :, None]) ** 2).sum(axis=0) if signs else np.full_like(cost, np.inf)
    order = linear_sum_assignment(np.minimum(cost, flipped))[1]
    turn = np.where((flipped < cost)[np.arange(len(order)), order], -1.0, 1.0)
    return found[:, order] * turn


def image_error(found: np.ndarray, truth: np.ndarray) -> float:
    """RMSE per pixel of matched features."""
    return float(np.sqrt(((matched_columns(found, truth) - truth) ** 2).mean()))
