"""The largest eigenvalue of pure sampling noise: the edge of a random matrix with the corpus' variances (formulas §8).

Within a document, the deviation of the scaled counts from their expectation has variance m·v_w at word w. A weighted
sum over documents of products of such deviations, diagonal excepted, is a random matrix with a computable edge.
"""

from dataclasses import dataclass

import numpy as np

BINS = 256
GRID = 400


@dataclass(frozen=True, eq=False)
class DocumentNoise:
    """Documents by the weight w = η/(m−1) with which their sampling noise enters the second moment.

    Attributes
    ----------
    weights : array of shape (bins,).
    documents : array of shape (bins,), how many documents have that weight.
    """

    weights: np.ndarray
    documents: np.ndarray


def word_variances(scale: np.ndarray, mean_words: np.ndarray) -> np.ndarray:
    """v_w = s_w² M1_w of shape (d,): constant when the scaling is M1^(−1/2)."""
    return scale**2 * np.maximum(mean_words, 0.0)


def pair_noise_edge(variances: np.ndarray) -> float:
    """The edge of a random symmetric matrix with entries of variance v_i v_j, shape (d,): 2√d when all are one.

    Outside the bulk an eigenvalue z solves z² = Σ v/(y(1 − v y)); the edge is the minimum over y in (0, 1/max v).
    """
    values, counts = _binned(variances)
    y = np.linspace(0.0, 1.0 / values.max(), GRID + 2)[1:-1, None]
    return float(np.sqrt((counts * values / (y * (1.0 - values * y))).sum(axis=1).min()))


def document_noise_edge(variances: np.ndarray, noise: DocumentNoise) -> float:
    """The edge of Σ_i w_i (z_i z_iᵀ − D) with z_i ~ N(0, D), D = diag(variances): a few heavy documents push it out.

    Deterministic equivalent: with b(α) = Σ w²α/(1 − wα), z(α) solves α = Σ_j v_j/(z − v_j b), and the edge is min z(α).
    """
    values, counts = _binned(variances)
    weights, documents = _binned(noise.weights, noise.documents)
    alpha = np.linspace(0.0, 1.0 / weights.max(), GRID + 2)[1:-1, None]
    pull = (documents * weights**2 * alpha / (1.0 - weights * alpha)).sum(axis=1, keepdims=True)
    total = (counts * values).sum()
    low, high = values.max() * pull, values.max() * pull + total / alpha
    for _ in range(60):
        middle = (low + high) / 2.0
        too_small = (counts * values / (middle - values * pull)).sum(axis=1, keepdims=True) > alpha
        low, high = np.where(too_small, middle, low), np.where(too_small, high, middle)
    return float(high.min())


def _binned(values: np.ndarray, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """At most BINS values with their multiplicities; the mean of each bin is kept."""
    counts = np.ones(len(values)) if counts is None else counts
    kept = (values > 0) & (counts > 0)
    values, counts = values[kept], counts[kept]
    if len(values) <= BINS:
        return values, counts
    order = np.argsort(values, kind="stable")
    bins = np.arange(len(values)) * BINS // len(values)
    total = np.bincount(bins, counts[order], BINS)
    return np.bincount(bins, (counts * values)[order], BINS) / total, total
