"""From eigenvectors back to topics and proportions (formulas §4)."""

import numpy as np

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.solve.whitening import Whitening

# A recovered column whose sum is below this share of its absolute sum has no sign or scale of its own.
VANISHING_SUM = 1e-6
AT_ONCE = 8 << 20           # numbers
LIKELY = 0.01               # share of the corpus mean with which topics that have zeros are evaluated


def project_on_simplex(rows: np.ndarray, spread: np.ndarray | None = None) -> np.ndarray:
    """The nearest point of the probability simplex to each row.

    Parameters
    ----------
    rows : array of shape (n, d).
    spread : positive array of shape (d,); distances are Σ (x_j − y_j)²/spread_j, Euclidean if None.
    """
    width = np.ones(rows.shape[1]) if spread is None else spread
    active = np.broadcast_to(width > 0, rows.shape).copy()
    peaks = np.divide(rows, width, out=np.full(rows.shape, -np.inf), where=active).max(axis=1, keepdims=True)
    rows = rows - peaks * width             # changes no nearest point, and keeps digits beside huge entries
    count = np.full(len(rows), -1)
    excess = np.zeros(len(rows))
    while True:
        now = active.sum(axis=1)
        if (now == count).all():
            break
        count = now
        excess = (np.where(active, rows, 0.0).sum(axis=1) - 1.0) / np.where(active, width, 0.0).sum(axis=1)
        active &= rows > excess[:, None] * width
    inside = np.where(active, rows - excess[:, None] * width, 0.0)
    return inside / inside.sum(axis=1, keepdims=True)


def lifted_topics(lift: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Topics over words: each lifted column divided by its sum, then projected on the simplex.

    Dividing by the sum fixes sign and scale without the eigenvalue, whose error is of third order.

    Parameters
    ----------
    lift : array of shape (d, p).
    columns : array of shape (p, k), (W†)ᵀv_i.

    Returns
    -------
    topics : array of shape (d, k), columns non-negative with sum one.
    sums : array of shape (k,), what the columns were divided by.
    """
    d, k = len(lift), columns.shape[1]
    topics, sums = np.empty((d, k)), np.empty(k)
    together = max(1, AT_ONCE // d)                         # projecting needs several copies of its input
    for start in range(0, k, together):
        part = slice(start, start + together)
        rows = (lift @ columns[:, part]).T
        sums[part] = _scale_of(rows)
        topics[:, part] = project_on_simplex(rows / sums[part, None]).T
    return topics, sums


def printed_topics(lift: np.ndarray, columns: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Topics over words as the paper prints them: the lifted columns times λ_i C3/C6; array of shape (d, k).

    What a probability cannot be is undone as plainly as possible: negative entries become zero, and a column is divided
    by the sum of what is left.

    Parameters
    ----------
    lift : array of shape (d, p).
    columns : array of shape (p, k), (W†)ᵀv_i.
    scale : array of shape (k,), λ_i C3/C6.
    """
    topics = np.maximum((lift @ columns) * scale, 0.0)
    sums = topics.sum(axis=0)
    if not (sums > 0).all():
        raise InputError(f"topics: {int((sums <= 0).sum())} of {len(sums)} have no positive word as the paper "
                         "reconstructs them; lower `k`, or leave out `spectralStep=printed`")
    positive: np.ndarray = topics / sums
    return positive


def third_order_weights(eigenvalues: np.ndarray, kappa: float) -> np.ndarray:
    """π0_i ∝ κ²/λ_i² of shape (k,), as the paper prints it; divided by the sum, which is one for exact moments."""
    weights = (kappa / np.maximum(eigenvalues, VANISHING_SUM * eigenvalues.max())) ** 2
    total: np.ndarray = weights / weights.sum()
    return total


def _scale_of(rows: np.ndarray) -> np.ndarray:
    """The sum of each row, kept away from zero so that one can divide by it; shape (n,)."""
    sums, total = rows.sum(axis=1), np.abs(rows).sum(axis=1)
    if not (total > 0).all():
        raise InputError(
            f"topics: {int((total <= 0).sum())} of {len(total)} are zero over all words; "
            "the basis and the moments do not belong together"
        )
    floor = VANISHING_SUM * total
    return np.where(np.abs(sums) < floor, np.where(sums < 0, -floor, floor), sums)


def first_order_weights(first: np.ndarray, whitening: Whitening, vectors: np.ndarray) -> np.ndarray:
    """π0_i ∝ (coordinate of WᵀM1 along v_i)², of shape (k,), summing to one."""
    coordinates = np.linalg.pinv(vectors) @ (whitening.matrix.T @ first)
    weights = coordinates**2
    total = weights.sum()
    if total <= 0:
        raise InputError("topic weights: the corpus mean is zero in the basis; append the mean to the basis")
    return weights / total


def smoothed_topics(topics: np.ndarray, mean_words: np.ndarray, amount: float = 0.05) -> np.ndarray:
    """Topics mixed with the corpus mean: recovered topics contain exact zeros, whose likelihood would be zero.

    A word that does not occur in the corpus counts half as much as the rarest that does, so every entry is positive.

    Parameters
    ----------
    amount : the share of the corpus mean, in [0, 1].
    """
    if not 0 <= amount <= 1:
        raise SettingsError(f"smoothing: {amount!r} is not in [0, 1]; pass the share of the corpus mean to mix in")
    mean = positive_words(mean_words)
    mixed: np.ndarray = (1.0 - amount) * topics
    mixed += amount * mean[:, None]
    return mixed


def likely_topics(topics: np.ndarray, mean_words: np.ndarray) -> np.ndarray:
    """Topics under which every word is possible: as they are, or mixed with a little of the mean if they have zeros."""
    return topics if topics.min() > 0 else smoothed_topics(topics, mean_words, LIKELY)


def positive_words(mean_words: np.ndarray) -> np.ndarray:
    """Word frequencies of shape (d,) without zeros, summing to one."""
    floor = np.maximum(mean_words, mean_words[mean_words > 0].min(initial=1.0) / 2)
    return floor / floor.sum()
