"""The three solvers as their papers print them, without our finishing touches, for comparisons (formulas §19).

Ours start apart, iterate together and end with exact polar iterations. These do not: errors of deflation add up, least
squares from random starts find some vectors twice, and sketched vectors keep the noise of their sketches.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from spectral_spark.moments.sketch_hashes import SketchHashes
from spectral_spark.solve.power import power
from spectral_spark.solve.sketch import MODES, CountSketch
from spectral_spark.solve.symmetric_tensor import checked_tensor, largest_turn, unit_columns
from spectral_spark.solve.tensor_decomposition import TensorDecomposition, finished

STILL = 1e-3            # a vector that turns by less has converged, as far as these methods go


def printed_power(
    tensor: np.ndarray, seed: int = 0, starts: int = 10, iterations: int = 10, final_iterations: int = 10
) -> TensorDecomposition:
    """The robust tensor power method: random starts on the sphere, the best one iterated further, deflation."""
    return power(tensor, seed, starts, iterations, final_iterations, polish=False, tolerance=STILL, anywhere=True)


def printed_als(
    tensor: np.ndarray, seed: int = 0, max_iterations: int = 200, tolerance: float = STILL
) -> TensorDecomposition:
    """Alternating least squares for the three sides of the tensor in turn, from a random start.

    The sides of a symmetric tensor agree in the end; the first one is returned.
    """
    tensor = checked_tensor(tensor)
    size, rng = len(tensor), np.random.default_rng(seed)
    sides = [unit_columns(rng.standard_normal((size, size))) for _ in range(3)]
    lengths, step, converged = np.ones(size), 0, False
    while step < max_iterations and not converged:
        step, before = step + 1, sides[0]
        for side in range(3):
            one, other = sides[(side + 1) % 3], sides[(side + 2) % 3]
            product = _between(tensor, one, other)
            solved = np.linalg.lstsq((one.T @ one) * (other.T @ other), product.T)[0].T
            lengths = np.linalg.norm(solved, axis=0)
            sides[side] = unit_columns(solved)
        converged = largest_turn(sides[0], before) < tolerance
    agree = np.sign((sides[0] * sides[1]).sum(axis=0) * (sides[0] * sides[2]).sum(axis=0))
    return finished(tensor, sides[0], step, converged, "als", lengths * np.where(agree < 0, -1.0, 1.0))


def _between(tensor: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """T(I, x_r, y_r) for the columns of two matrices (k, r): shape (k, r)."""
    size = len(tensor)
    half = (tensor.reshape(size * size, size) @ other).reshape(size, size, -1)
    return np.einsum("ijr,jr->ir", half, one)


def printed_sketch(
    tensor: np.ndarray, seed: int = 0, sketch_length: int | None = None, n_sketches: int = 10, starts: int = 10,
    iterations: int = 10, final_iterations: int = 10,
) -> TensorDecomposition:
    """The robust tensor power method on count sketches: medians of their contractions, deflation inside the sketches.

    Parameters
    ----------
    sketch_length : buckets b; by default the next power of two above k²/2, and at least 512.
    n_sketches : sketches with hashes of their own (B).
    """
    tensor = checked_tensor(tensor)
    size, rng = len(tensor), np.random.default_rng(seed)
    length = sketch_length or max(512, 1 << (size * size // 2).bit_length())
    sketches = [CountSketch.of_tensor(tensor, SketchHashes.draw(len(tensor), length, rng)) for _ in range(n_sketches)]
    values, vectors, turn = np.zeros(size), np.zeros((size, size)), 0.0
    for found in range(size):
        points = _ascend(sketches, unit_columns(rng.standard_normal((size, starts))), iterations)[0]
        heights = (_median(sketches, points) * points).sum(axis=0)
        point, last = _ascend(sketches, points[:, [int(np.argmax(heights))]], final_iterations)
        values[found] = float((_median(sketches, point) * point).sum())
        vectors[:, found], turn = point[:, 0], max(turn, last)
        for one in sketches:
            one.deflate(float(values[found]), point)
    return finished(tensor, vectors, size * (iterations + final_iterations), turn < STILL, "sketch", values)


def _median(sketches: Sequence[CountSketch], points: np.ndarray) -> np.ndarray:
    middle: np.ndarray = np.median([one.contract(points, MODES[:1]) for one in sketches], axis=0)
    return middle


def _ascend(sketches: Sequence[CountSketch], points: np.ndarray, iterations: int) -> tuple[np.ndarray, float]:
    turn = 1.0
    for _ in range(iterations):
        moved = unit_columns(_median(sketches, points))
        turn = float(np.linalg.norm(moved - points, axis=0).max())
        points = moved
    return points, turn


PRINTED: Mapping[str, Callable[..., TensorDecomposition]] = MappingProxyType(
    {"power": printed_power, "als": printed_als, "sketch": printed_sketch}
)
