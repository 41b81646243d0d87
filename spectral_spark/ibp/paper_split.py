"""The paper's decomposition: the third moment for components with |λ3| > 1, the fourth for the rest (formulas §10)."""

import numpy as np

from spectral_spark.ibp.cumulant_decomposition import Contraction, CumulantDecomposition, finish
from spectral_spark.ibp.cumulants import WhitenedCumulants

_CLEAR, _STARTS, _STEPS, _TOLERANCE = 1.0, 20, 200, 1e-15


def paper_decomposition(cumulants: WhitenedCumulants, *, third: bool = True, seed: int = 0) -> CumulantDecomposition:
    """Power iterations with deflation: W3 while |λ3| > 1, then W4 in the space that is left (Algorithm 1).

    Parameters
    ----------
    third : False skips W3, for models with symmetric y.
    """
    contraction = Contraction(cumulants)
    rng = np.random.default_rng(seed)
    found = np.zeros((contraction.k, 0))
    tensors = [(contraction.third, _CLEAR)] if third else []
    for apply, threshold in [*tensors, (contraction.fourth, 0.0)]:
        while found.shape[1] < contraction.k:
            vector, value = _strongest(apply, found, rng)
            if abs(value) <= threshold and threshold > 0:
                break
            found = np.column_stack([found, vector])
    weights = (1.0 if third else 0.0, 1.0)
    return finish(contraction, found, weights, "paper")


def _strongest(apply, found: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:  # type: ignore[no-untyped-def]
    """The unit vector orthogonal to ``found`` with the largest |eigenvalue| from several random starts."""
    vectors = _normalised(_outside(found, rng.standard_normal((len(found), _STARTS))))
    for _ in range(_STEPS):
        moved = _normalised(_outside(found, apply(vectors)), vectors)
        still = np.abs(np.abs((moved * vectors).sum(axis=0)) - 1.0).max() < _TOLERANCE
        vectors = moved
        if still:
            break
    values = (apply(vectors) * vectors).sum(axis=0)
    best = int(np.argmax(np.abs(values)))
    return vectors[:, best], float(values[best])


def _outside(found: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    for _ in range(2):                     # a second time removes rounding errors
        vectors = vectors - found @ (found.T @ vectors)
    return vectors


def _normalised(vectors: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=0)
    if otherwise is not None and (norms < 1e-300).any():
        vectors, norms = np.where(norms < 1e-300, otherwise, vectors), np.where(norms < 1e-300, 1.0, norms)
    return vectors / norms
