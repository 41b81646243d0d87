"""Joint decomposition of the whitened third and fourth cumulants in one orthogonal basis (formulas §10)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.ibp.cumulants import WhitenedCumulants
from spectral_spark.moments.symmetric_packing import pair_indices, pair_positions
from spectral_spark.solve.symmetric_tensor import nearest_orthogonal

_STARTS, _WARM_STEPS, _STEPS, _TOLERANCE = 10, 30, 1000, 1e-14
THIRD_WEIGHT, FOURTH_WEIGHT = 4.0, 1.0
"""Weights of λ3² and λ4² in the joint objective: those of the expansion of negentropy, κ3²/12 + κ4²/48."""


@dataclass(frozen=True, eq=False)
class CumulantDecomposition:
    """W3 ≈ Σ λ3_i v_i^⊗3 and W4 ≈ Σ λ4_i v_i^⊗4.

    Attributes
    ----------
    vectors : orthogonal array of shape (k, k), columns v_i.
    third_eigenvalues, fourth_eigenvalues : arrays of shape (k,).
    residual : share of the squared norm of the tensors used that the sums leave unexplained.
    solver : "joint" or "paper".
    """

    vectors: np.ndarray
    third_eigenvalues: np.ndarray
    fourth_eigenvalues: np.ndarray
    residual: float
    solver: str


class Contraction:
    """Products of the whitened cumulants with vectors, by matrix products over index pairs."""

    def __init__(self, cumulants: WhitenedCumulants) -> None:
        k = cumulants.k
        self.k = k
        self._first, self._second = pair_indices(k)
        self._multiplicity = np.where(self._first == self._second, 1.0, 2.0)
        self._positions = pair_positions(k)
        self._third = cumulants.third[self._first, self._second]        # (pairs, k)
        self._fourth = cumulants.fourth                                  # (pairs, pairs)

    def third(self, vectors: np.ndarray) -> np.ndarray:
        """W3(I, v, v) for every column v of an array of shape (k, r); shape (k, r)."""
        return self._third.T @ self._squares(vectors)

    def fourth(self, vectors: np.ndarray) -> np.ndarray:
        """W4(I, v, v, v), shape (k, r)."""
        folded = (self._fourth @ self._squares(vectors))[self._positions]
        return np.einsum("ijr,jr->ir", folded, vectors)

    def third_slice(self, vector: np.ndarray) -> np.ndarray:
        """W3(I, I, v), shape (k, k)."""
        return (self._third @ vector)[self._positions]

    def fourth_slice(self, matrix: np.ndarray) -> np.ndarray:
        """W4(I, I, A) for a symmetric A of shape (k, k)."""
        return (self._fourth @ (matrix[self._first, self._second] * self._multiplicity))[self._positions]

    def norms(self) -> tuple[float, float]:
        """Squared Frobenius norms of W3 and W4."""
        return (
            float((self._third**2 * self._multiplicity[:, None]).sum()),
            float((self._fourth**2 * np.outer(self._multiplicity, self._multiplicity)).sum()),
        )

    def _squares(self, vectors: np.ndarray) -> np.ndarray:
        return vectors[self._first] * vectors[self._second] * self._multiplicity[:, None]


def joint_decomposition(
    cumulants: WhitenedCumulants,
    *,
    third_weight: float = THIRD_WEIGHT,
    fourth_weight: float = FOURTH_WEIGHT,
    starts: int = _STARTS,
    seed: int = 0,
) -> CumulantDecomposition:
    """Ascend Σ (w3 λ3² + w4 λ4²) over orthogonal V by V ← polar(gradient), from several starts.

    Third moments alone are blind at π = ½ and fourth moments at π ≈ .21 and .79; together they are never blind for
    binary features. Starts are eigenvectors of random contractions (exact on exact tensors) and random rotations.
    """
    weights = (third_weight, fourth_weight)
    contraction = Contraction(cumulants)
    rng = np.random.default_rng(seed)
    candidates = [
        _ascend(contraction, _start(contraction, rng, weights, algebraic=attempt % 2 == 0), weights, _WARM_STEPS)
        for attempt in range(starts)
    ]
    best = max(candidates, key=lambda candidate: candidate[0])
    return finish(contraction, _ascend(contraction, best[1], weights, _STEPS)[1], weights, "joint")


def finish(
    contraction: Contraction, vectors: np.ndarray, weights: tuple[float, float], solver: str
) -> CumulantDecomposition:
    """Eigenvalues of both tensors along given orthogonal columns, and the share they leave unexplained."""
    third = (contraction.third(vectors) * vectors).sum(axis=0)
    fourth = (contraction.fourth(vectors) * vectors).sum(axis=0)
    total = float(np.dot(weights, contraction.norms()))
    explained = weights[0] * (third**2).sum() + weights[1] * (fourth**2).sum()
    residual = max(1.0 - float(explained) / total, 0.0) if total > 0 else 0.0
    return CumulantDecomposition(vectors, third, fourth, residual, solver)


def _start(
    contraction: Contraction, rng: np.random.Generator, weights: tuple[float, float], algebraic: bool
) -> np.ndarray:
    k = contraction.k
    vector, matrix = rng.standard_normal(k), rng.standard_normal((k, k))
    if not algebraic:
        return np.linalg.qr(matrix)[0]
    slices = np.sqrt(weights[0]) * contraction.third_slice(vector)
    slices += np.sqrt(weights[1]) * contraction.fourth_slice(matrix + matrix.T)
    return np.linalg.eigh(slices)[1]


def _ascend(
    contraction: Contraction, vectors: np.ndarray, weights: tuple[float, float], steps: int
) -> tuple[float, np.ndarray]:
    """The best point of ``steps`` steps, or the one where the columns converge."""
    best, best_vectors = -1.0, vectors
    for _ in range(steps):
        third, fourth = contraction.third(vectors), contraction.fourth(vectors)
        third_values, fourth_values = (third * vectors).sum(axis=0), (fourth * vectors).sum(axis=0)
        value = float(weights[0] * (third_values**2).sum() + weights[1] * (fourth_values**2).sum())
        if value > best:
            best, best_vectors = value, vectors
        gradient = 3 * weights[0] * third * third_values + 4 * weights[1] * fourth * fourth_values
        moved = nearest_orthogonal(gradient)
        still = np.abs(np.abs((moved * vectors).sum(axis=0)) - 1.0).max() < _TOLERANCE
        vectors = moved
        if still:
            return max(value, best), vectors
    return best, best_vectors
