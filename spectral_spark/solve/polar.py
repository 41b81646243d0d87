"""Simultaneous power iteration with polar orthogonalisation, the default solver (formulas §9)."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from spectral_spark.solve.symmetric_tensor import (
    Contraction,
    PairTensor,
    checked_tensor,
    largest_turn,
    nearest_orthogonal,
    random_orthogonal,
)
from spectral_spark.solve.tensor_decomposition import TensorDecomposition, finished

# A last step this short leaves its square as the error on exact tensors, and an error far below the noise on others.
TOLERANCE = 1e-7
MAX_ITERATIONS = 500
# Vectors that turn by less than this are close to their maximum, where curvature can be trusted.
CLOSE, MEMORY, HALVINGS = 0.3, 8, 20
# Up to this many topics, further starts cost next to nothing.
FEW_TOPICS, STARTS = 50, 3


def polar(
    tensor: np.ndarray,
    seed: int = 0,
    starts: int | None = None,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal tensor.

    Climbs Σ_r T(v_r, v_r, v_r)² over orthogonal V: each step replaces V by the orthogonal matrix nearest to the
    gradient, [λ_r T(I, v_r, v_r)]_r. Exact tensors converge quadratically. On noisy ones convergence
    becomes slow, so the last part of the climb uses a quasi-Newton method.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k).
    starts : number of random orthogonal starts, of which the best end is kept; by default 3 up to 50 topics, else 1.
    max_iterations : products with the tensor allowed for each start.
    tolerance : the iteration has converged when no vector turns by more than this in a step.
    """
    tensor = checked_tensor(tensor)
    size, rng, pairs = len(tensor), np.random.default_rng(seed), PairTensor(tensor)
    count = starts or (STARTS if size <= FEW_TOPICS else 1)
    ends = [climb(pairs, random_orthogonal(size, rng), max_iterations, tolerance) for _ in range(count)]
    best = max(ends, key=lambda end: end.height)
    return finished(tensor, best.vectors, sum(end.iterations for end in ends), best.converged, "polar")


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where a climb ended: vectors (k, k), products with the tensor, whether it converged, and Σ λ²."""

    vectors: np.ndarray
    iterations: int
    converged: bool
    height: float


def climb(
    pairs: Contraction, vectors: np.ndarray, max_iterations: int = MAX_ITERATIONS, tolerance: float = TOLERANCE,
    settled: float = 0.0,
) -> Ascent:
    """Polar iterations from orthogonal ``vectors`` (k, k) until close to a maximum, then quasi-Newton steps.

    With ``settled``, it has converged as well when an iteration raises Σ λ² by less than this share of it: the few
    vectors of a noisy tensor that still turn then are those that its noise does not determine.
    """
    height = 0.0
    for iteration in range(1, max_iterations + 1):
        gradient = pairs.contract(vectors)
        values = (gradient * vectors).sum(axis=0)
        below, height = height, float((values**2).sum())
        if settled and height - below < settled * height:
            return Ascent(vectors, iteration, True, height)
        moved = nearest_orthogonal(gradient * values)
        turn, vectors = largest_turn(moved, vectors), moved
        if turn < tolerance:
            return Ascent(vectors, iteration, True, float((values**2).sum()))
        if turn < CLOSE:
            return _quasi_newton(pairs, vectors, iteration, max_iterations, tolerance, settled)
    return Ascent(vectors, max_iterations, False, float((values**2).sum()))


def _quasi_newton(
    pairs: Contraction, vectors: np.ndarray, iterations: int, max_iterations: int, tolerance: float,
    settled: float = 0.0,
) -> Ascent:
    """Limited-memory BFGS over rotations V ← V(I + Ω), Ω antisymmetric; its first step is nearly a polar step."""
    memory: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
    slope, curvature, height = _local(pairs, vectors)
    iterations, length = iterations + 1, 1.0
    while iterations < max_iterations:
        rotation = _direction(slope, curvature, memory) * length
        moved = nearest_orthogonal(vectors + vectors @ rotation)
        new_slope, new_curvature, new_height = _local(pairs, moved)
        iterations += 1
        turn = largest_turn(moved, vectors)
        if new_height < height * (1.0 - 1e-13) and turn >= tolerance:
            memory.clear()
            length /= 2.0
            if length < 2.0**-HALVINGS:
                break
            continue
        memory.append((rotation, slope - new_slope))
        enough = turn < tolerance or (settled > 0 and new_height - height < settled * new_height)
        vectors, slope, curvature, height, length = moved, new_slope, new_curvature, new_height, 1.0
        if enough:
            return Ascent(vectors, iterations, True, height)
    return Ascent(vectors, iterations, False, height)


def _local(pairs: Contraction, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Slope of Σ λ² (over 6) for every rotation of a pair of vectors, its curvature on an exact tensor, and Σ λ²."""
    inner = vectors.T @ pairs.contract(vectors)
    values = np.diag(inner)
    pull = inner * values
    squares = values**2
    return pull - pull.T, squares[:, None] + squares, float(squares.sum())


def _direction(
    slope: np.ndarray, curvature: np.ndarray, memory: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """The two loops of limited-memory BFGS; falls back to slope over curvature if the result is no ascent."""
    scale = np.maximum(curvature, 1e-12 * curvature.max(initial=0.0) + 1e-300)
    rest, shares = slope.copy(), []
    useful = [(step, change, float((step * change).sum())) for step, change in memory]
    useful = [item for item in useful if item[2] > 0]
    for step, change, product in reversed(useful):
        shares.append(float((step * rest).sum()) / product)
        rest -= shares[-1] * change
    direction = rest / scale
    for (step, change, product), share in zip(useful, reversed(shares), strict=True):
        direction += (share - float((change * direction).sum()) / product) * step
    return direction if (direction * slope).sum() > 0 else slope / scale
