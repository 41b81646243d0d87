"""The Indian Buffet Process itself: its concentration, and the probability of the codes under it.

For N rows, K features and m_i rows that have feature i (Griffiths and Ghahramani),

    p(Z | α) = α^K exp(−α H_N) Π_i (N − m_i)! (m_i − 1)! / N!,        H_N = 1 + 1/2 + … + 1/N,

up to the factor 1/Π K_h! of features that are on in exactly the same rows, which are taken to be different here. It is
largest at α̂ = K / H_N. With m_i = N π_i, the counts that the model expects, it needs no pass over the rows.
"""

import numpy as np
from scipy.special import digamma, gammaln


def buffet_concentration(rows: float, k: int) -> float:
    """α̂ = K / H_N, the most likely concentration."""
    return float(k / (digamma(rows + 1) + np.euler_gamma))


def log_prior_of_codes(rows: float, probabilities: np.ndarray, concentration: float) -> float:
    """log p(Z | α) for counts of N π_i, at least one row and at most all; natural logarithm."""
    counts = np.clip(rows * probabilities, 1.0, rows)
    harmonic = digamma(rows + 1) + np.euler_gamma
    each = gammaln(rows - counts + 1) + gammaln(counts) - gammaln(rows + 1)
    return float(len(counts) * np.log(concentration) - concentration * harmonic + each.sum())
