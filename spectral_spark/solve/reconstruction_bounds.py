"""How far reconstructed topics and weights can be from the true ones, given errors of S2 and S3 (formulas §20).

Two theorems, with every constant proved there. The first compares eigenvalues and vectors of the whitened tensor with
the true ones (Weyl's inequality in the empirical whitening), the second carries them back to topics (Davis and Kahan).
What is not known about the truth is bounded by what was measured, so both can be evaluated on a fit. Where a
precondition fails they say nothing, and :class:`ReconstructionBounds` says which.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from spectral_spark.solve.topic_solution import TopicSolution

ORTHOGONAL = 1e-6


@dataclass(frozen=True, eq=False)
class ReconstructionBounds:
    """Bounds on the errors of a solution.

    Attributes
    ----------
    whitening : ε_w, the error of S2 relative to its smallest eigenvalue kept; must be below one.
    tensor : ε, the error of the whitened tensor; None if ε_w is too large for one.
    smallest : the smallest eigenvalue λ̂ of that tensor; ε must be below λ̂/(1 + √2).
    eigenvalues : array of shape (k, 2), between which the true eigenvalues lie; None if ``missing``.
    vectors : array of shape (k,), distances of the eigenvectors to the true ones; None if ``missing``.
    weights : array of shape (k, 2), between which the true proportions π0 lie; None if ``missing``.
    topics : array of shape (k,), distances of λ (C3/C6) (W†)ᵀv to the true topics, in the basis; None if ``missing``.
    missing : the precondition that fails, in words; empty if the bounds hold.
    """

    whitening: float
    tensor: float | None
    smallest: float
    eigenvalues: np.ndarray | None = None
    vectors: np.ndarray | None = None
    weights: np.ndarray | None = None
    topics: np.ndarray | None = None
    missing: str = ""


def reconstruction_bounds(
    solution: TopicSolution, projection: np.ndarray, second_error: float, third_error: float
) -> ReconstructionBounds:
    """The bounds for a solution whose S2 and S3 are known up to errors.

    They hold if the true S2 and S3 are C3 Σ π φφᵀ and C6 Σ π φ⊗φ⊗φ with k topics in the range of the basis.

    Parameters
    ----------
    solution : topics from root moments, with orthogonal eigenvectors.
    projection : array of shape (d, p), the basis B.
    second_error, third_error : bounds on |S(u) − Ŝ(u)| over unit vectors u over words.
    """
    found, spectrum, k = solution.decomposition, solution.whitening.spectrum, solution.k
    values, smallest = found.eigenvalues, float(found.eigenvalues.min())
    width = float(np.linalg.norm(projection @ solution.whitening.matrix, 2))            # ‖BŴ‖
    near = second_error * width**2
    unsure = ReconstructionBounds(near, None, smallest)
    turned = float(np.abs(found.vectors.T @ found.vectors - np.eye(k)).max())
    if turned > ORTHOGONAL or not (spectrum[:k] > 0).all():
        return _without(unsure, "eigenvectors and whitening must be orthogonal and positive")
    if near >= 1.0 or (1.0 - near) ** 1.5 <= near**3:
        return _without(unsure, f"the error of S2 must be below its smallest eigenvalue, and may be {near:.3g} times "
                                "as large")
    left = found.residual * sqrt(float((values**2).sum()) / max(1.0 - found.residual**2, 1e-12))
    noise = third_error * width**3
    largest = (float(values.max()) + left + noise) / ((1.0 - near) ** 1.5 - near**3)    # of the true eigenvalues
    error = noise + 1.5 * largest * near * (2.0 + near) + left
    unsure = ReconstructionBounds(near, error, smallest)
    if error * (1.0 + sqrt(2.0)) >= smallest:
        most = smallest / (1.0 + sqrt(2.0))
        return _without(unsure, f"the error of the whitened tensor must be below {most:.3g}, and may be {error:.3g}")
    return _bounded(unsure, error, solution, projection, second_error)


def _without(bounds: ReconstructionBounds, missing: str) -> ReconstructionBounds:
    return ReconstructionBounds(bounds.whitening, bounds.tensor, bounds.smallest, missing=missing)


def _bounded(
    known: ReconstructionBounds, error: float, solution: TopicSolution, projection: np.ndarray, second_error: float
) -> ReconstructionBounds:
    values, spectrum, k, c = solution.decomposition.eigenvalues, solution.whitening.spectrum, solution.k, \
        solution.coefficients
    sine = error / (values - error)
    cosine = np.sqrt(1.0 - sine**2)
    between = np.stack([values - error, (values + error) / cosine], axis=1)
    turns = np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))
    weights = (c.kappa / between[:, ::-1]) ** 2
    apart = np.abs(between - values[:, None]).max(axis=1) + between[:, 1] * (turns + known.whitening)
    basis_error = second_error * float(np.linalg.norm(projection, 2)) ** 2
    gap = spectrum[k - 1] - basis_error - max(float(spectrum[k]) if len(spectrum) > k else 0.0, 0.0)
    if gap <= 0:
        missing = (f"the smallest eigenvalue of S2 must exceed the next one by {basis_error:.3g}; bounds on "
                   "eigenvalues and weights hold, those on topics do not")
        return ReconstructionBounds(known.whitening, error, known.smallest, between, turns, weights, None, missing)
    outside = basis_error / gap * float(np.linalg.norm(projection, axis=1).max())
    topics = c.c3 / c.c6 * sqrt(float(spectrum[0])) * apart + outside
    return ReconstructionBounds(known.whitening, error, known.smallest, between, turns, weights, topics)
