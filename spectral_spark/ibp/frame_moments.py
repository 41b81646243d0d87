"""Moments up to the fourth in one set of coordinates, and the same moments in others."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.moments.symmetric_packing import pair_indices


@dataclass(frozen=True, eq=False)
class FrameMoments:
    """Raw moments E y, E y⊗y, E y⊗y⊗y and E y⊗y⊗y⊗y of a vector y of length p.

    Attributes
    ----------
    first, second, third : arrays of shape (p,), (p, p) and (p, p, p).
    fourth : symmetric tensor as a matrix of shape (pairs, pairs) over index pairs.
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray
    fourth: np.ndarray

    def turned(self, matrix: np.ndarray) -> "FrameMoments":
        """The moments of Rᵀy for R of shape (p, k)."""
        third = np.einsum("ijl,ia,jb,lc->abc", self.third, matrix, matrix, matrix, optimize=True)
        pairs = pair_products_of(matrix)
        return FrameMoments(
            matrix.T @ self.first, matrix.T @ self.second @ matrix, third, pairs.T @ self.fourth @ pairs
        )

    def moved(self, step: np.ndarray) -> "FrameMoments":
        """The moments of y + v for v of shape (p,)."""
        outer = np.outer(step, step)
        cross = np.outer(self.first, step)
        second = self.second + cross + cross.T + outer
        third = self.third + _thrice(self.second, step) + _thrice(outer, self.first) + np.multiply.outer(outer, step)
        a, b = pair_indices(len(step))
        fourth = self.fourth + _four_times(self.third, step) + _six_times(self.second, outer)
        fourth += _four_times(np.multiply.outer(outer, step), self.first) + np.outer(outer[a, b], outer[a, b])
        return FrameMoments(self.first + step, second, third, fourth)

    def central(self) -> "FrameMoments":
        """The moments around the mean."""
        return self.moved(-self.first)


def pair_products_of(matrix: np.ndarray) -> np.ndarray:
    """P of shape (pairs of p, pairs of k) with (RᵀMR)_(ab) = Σ_(ij) P_(ij)(ab) M_(ij), for R of shape (p, k)."""
    i, j = pair_indices(len(matrix))
    a, b = pair_indices(matrix.shape[1])
    products = matrix[np.ix_(i, a)] * matrix[np.ix_(j, b)]
    products += np.where((i != j)[:, None], matrix[np.ix_(j, a)] * matrix[np.ix_(i, b)], 0.0)
    return products


def _thrice(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A_ab v_c + A_ac v_b + A_bc v_a for a symmetric A."""
    placed = np.multiply.outer(matrix, vector)
    return np.asarray(placed + placed.transpose(0, 2, 1) + placed.transpose(2, 1, 0))


def _four_times(tensor: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """T_abc v_d + T_abd v_c + T_acd v_b + T_bcd v_a over index pairs, for a symmetric T."""
    a, b = pair_indices(len(vector))
    left = tensor[a, b]                                        # (pairs, p): T_ab·
    right = left[:, a] * vector[b] + left[:, b] * vector[a]    # T_abc v_d + T_abd v_c
    return np.asarray(right + right.T)


def _six_times(matrix: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The six placements of A ⊗ B over index pairs, for symmetric A and B."""
    a, b = pair_indices(len(matrix))
    outer = np.outer(matrix[a, b], other[a, b])
    crossed = matrix[np.ix_(a, a)] * other[np.ix_(b, b)] + matrix[np.ix_(b, b)] * other[np.ix_(a, a)]
    crossed += matrix[np.ix_(a, b)] * other[np.ix_(b, a)] + matrix[np.ix_(b, a)] * other[np.ix_(a, b)]
    return np.asarray(outer + outer.T + crossed)
