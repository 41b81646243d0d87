"""Decomposition through count sketches and FFTs (Wang, Tung, Smola & Anandkumar 2015; formulas §9).

A sketch hashes the k³ entries of the tensor into b buckets, h1(i)+h2(j)+h3(l) mod b, with signs ξ1(i)ξ2(j)ξ3(l). The
sketch of v⊗v⊗v is a circular convolution of three sketches of v, so contractions with vectors are products of spectra:
inside an iteration the tensor itself is never used. The three hashes are independent; a shared one would be biased.
"""

import numpy as np
from scipy import fft

from spectral_spark.solve.polar import TOLERANCE, climb
from spectral_spark.solve.symmetric_tensor import (
    PairTensor,
    checked_tensor,
    largest_turn,
    nearest_orthogonal,
    random_orthogonal,
)
from spectral_spark.solve.tensor_decomposition import TensorDecomposition, finished

# Before a polish, the vectors only need to be close to the right maximum.
SKETCH_TOLERANCE, START_TOLERANCE = 1e-6, 1e-2
# Columns that are transformed together: their tables should fit in the cache.
BLOCK = 16
MODES = ((0, 1, 2), (1, 0, 2), (2, 0, 1))


def sketch(
    tensor: np.ndarray,
    seed: int = 0,
    sketch_length: int | None = None,
    n_sketches: int = 10,
    polish: bool = True,
    max_iterations: int = 60,
    tolerance: float = TOLERANCE,
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal tensor from ``n_sketches`` sketches of ``sketch_length`` numbers.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k), read once per sketch.
    sketch_length : buckets b; by default the power of two at or above k², or k²/4 before a polish, which keeps the
        relative error of a contraction, about k / √(b · n_sketches), the same for every k.
    n_sketches : independent sketches whose contractions are averaged (B).
    polish : finish with exact polar iterations. Without it the vectors are those of the sketched tensor, and their
        error falls with the sketch length.
    """
    tensor = checked_tensor(tensor)
    size, rng = len(tensor), np.random.default_rng(seed)
    length = sketch_length or _default_length(size, polish)
    sketches = [CountSketch(tensor, length, rng) for _ in range(n_sketches)]
    enough = START_TOLERANCE if polish else SKETCH_TOLERANCE
    vectors, step, converged = random_orthogonal(size, rng), 0, False
    while step < max_iterations and not converged:
        step += 1
        gradient = sum(one.contract(vectors) for one in sketches) / n_sketches
        moved = nearest_orthogonal(gradient * (gradient * vectors).sum(axis=0))
        converged = largest_turn(moved, vectors) < enough
        vectors = moved
    if polish:
        end = climb(PairTensor(tensor), vectors, tolerance=tolerance)
        vectors, converged, step = end.vectors, end.converged, step + end.iterations
    return finished(tensor, vectors, step, converged, "sketch")


def _default_length(size: int, polish: bool) -> int:
    wanted = size * size // 4 if polish else size * size
    return max(512, 1 << max(wanted - 1, 0).bit_length())


class CountSketch:
    """One sketch of a symmetric (k, k, k) tensor with three independent hashes, kept as its spectrum."""

    def __init__(self, tensor: np.ndarray, length: int, rng: np.random.Generator) -> None:
        size = len(tensor)
        self.length = length
        self._buckets = rng.integers(0, length, size=(3, size))
        self._signs = rng.choice((-1.0, 1.0), size=(3, size))
        buckets, signs = self._buckets, self._signs
        table = np.zeros(length)
        for i in range(size):
            where = (buckets[0, i] + buckets[1][:, None] + buckets[2]) % length
            signed = tensor[i] * (signs[0, i] * signs[1][:, None] * signs[2])
            table += np.bincount(where.ravel(), signed.ravel(), length)
        self._spectrum = fft.rfft(table)

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """Estimates of T(I, x, x) for every column x of ``vectors`` (k, r), averaged over the open slot."""
        blocks = range(0, vectors.shape[1], BLOCK)
        return np.hstack([self._contract_block(vectors[:, start : start + BLOCK]) for start in blocks])

    def _contract_block(self, vectors: np.ndarray) -> np.ndarray:
        spectra = [fft.rfft(self._sketched(vectors, mode), axis=1).conj() for mode in range(3)]
        total = np.zeros(vectors.shape)
        for mode, one, other in MODES:
            table = fft.irfft(self._spectrum * spectra[one] * spectra[other], self.length, axis=1)
            total += (table[:, self._buckets[mode]] * self._signs[mode]).T
        return total / 3.0

    def _sketched(self, vectors: np.ndarray, mode: int) -> np.ndarray:
        """Count sketches of the columns, shape (r, b)."""
        table = np.zeros((vectors.shape[1], self.length))
        signed = vectors * self._signs[mode][:, None]
        for row, bucket in enumerate(self._buckets[mode]):
            table[:, bucket] += signed[row]
        return table
