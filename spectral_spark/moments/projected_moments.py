"""The first three moments of a corpus in a small basis: all that the solvers see."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ProjectedMoments:
    """Unbiased weighted-mean moments in a basis of p columns (weights sum to one).

    Attributes
    ----------
    first : array of shape (p,), BᵀM1.
    second : symmetric array of shape (p, p), BᵀM2B.
    third : symmetric array of shape (p, p, p), M3(B, B, B).
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray
