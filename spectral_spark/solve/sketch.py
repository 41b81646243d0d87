"""Decomposition through count sketches and FFTs (Wang, Tung, Smola & Anandkumar 2015; formulas §9).

A sketch hashes the k³ entries of the tensor into b buckets, h1(i)+h2(j)+h3(l) mod b, with signs ξ1(i)ξ2(j)ξ3(l). The
sketch of v⊗v⊗v is a circular convolution of three sketches of v, so contractions with vectors are products of spectra:
inside an iteration the tensor itself is never used. The three hashes are independent; a shared one would be biased.
Sketches of many topics are summed over the documents (``moments.third_sketch``), and the tensor is never formed.
"""

from collections.abc import Sequence

import numpy as np
from scipy import fft

from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.moments.sketch_hashes import SketchHashes
from spectral_spark.moments.third_sketch import SketchSource, corrected_spectra
from spectral_spark.solve.corrected_moments import CorrectedMoments, second_corrected
from spectral_spark.solve.implicit import from_products
from spectral_spark.solve.polar import TOLERANCE, climb
from spectral_spark.solve.symmetric_tensor import (
    Contraction,
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
SKETCHES = 10
SKETCH_SETTLED = 1e-4
MODES = ((0, 1, 2), (1, 0, 2), (2, 0, 1))


class CountSketch:
    """One sketch of a symmetric (k, k, k) tensor with three independent hashes, kept as its spectrum."""

    def __init__(self, hashes: SketchHashes, spectrum: np.ndarray) -> None:
        self._hashes, self._spectrum = hashes, spectrum

    @classmethod
    def of_tensor(cls, tensor: np.ndarray, hashes: SketchHashes) -> "CountSketch":
        """The sketch of a tensor that is given as an array."""
        buckets, signs, table = hashes.buckets, hashes.signs, np.zeros(hashes.length)
        for i in range(len(tensor)):
            where = (buckets[0, i] + buckets[1][:, None] + buckets[2]) % hashes.length
            signed = tensor[i] * (signs[0, i] * signs[1][:, None] * signs[2])
            table += np.bincount(where.ravel(), signed.ravel(), hashes.length)
        return cls(hashes, np.asarray(fft.rfft(table)))

    @property
    def spectrum(self) -> np.ndarray:
        return self._spectrum

    def deflate(self, value: float, vector: np.ndarray) -> None:
        """Subtract the sketch of λ v⊗v⊗v, for a column v of shape (k, 1): a product of three spectra."""
        spectra = [fft.rfft(self._sketched(vector, mode)[0]) for mode in range(3)]
        self._spectrum = self._spectrum - value * (spectra[0] * spectra[1] * spectra[2])

    def contract(self, vectors: np.ndarray, modes: Sequence[tuple[int, int, int]] = MODES) -> np.ndarray:
        """Estimates of T(I, x, x) for every column x of ``vectors`` (k, r), averaged over the slots left open."""
        blocks = range(0, vectors.shape[1], BLOCK)
        return np.hstack([self._contract_block(vectors[:, start : start + BLOCK], modes) for start in blocks])

    def _contract_block(self, vectors: np.ndarray, modes: Sequence[tuple[int, int, int]]) -> np.ndarray:
        closed = sorted({side for _, one, other in modes for side in (one, other)})
        spectra = {side: fft.rfft(self._sketched(vectors, side), axis=1).conj() for side in closed}
        total = np.zeros(vectors.shape)
        for mode, one, other in modes:
            table = fft.irfft(self._spectrum * spectra[one] * spectra[other], self._hashes.length, axis=1)
            total += (table[:, self._hashes.buckets[mode]] * self._hashes.signs[mode]).T
        return total / float(len(modes))

    def _sketched(self, vectors: np.ndarray, mode: int) -> np.ndarray:
        """Count sketches of the columns, shape (r, b)."""
        table = np.zeros((vectors.shape[1], self._hashes.length))
        signed = vectors * self._hashes.signs[mode][:, None]
        for row, bucket in enumerate(self._hashes.buckets[mode]):
            table[:, bucket] += signed[row]
        return table


class Sketches:
    """A tensor of shape (k, k, k) that is known by its sketches."""

    def __init__(self, sketches: Sequence[CountSketch], size: int) -> None:
        self.sketches, self._size = tuple(sketches), size

    @property
    def size(self) -> int:
        return self._size

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """Estimates of T(I, x, x) for every column x of ``vectors`` (k, r): shape (k, r)."""
        return sum((one.contract(vectors) for one in self.sketches), np.zeros(vectors.shape)) / len(self.sketches)


class SketchedTensor(Sketches):
    """S3(W, W, W) of documents, of shape (k, k, k), known by sketches that were summed over the documents.

    Parameters
    ----------
    source : the documents.
    words : array of shape (d, k), W̃ = BW: the whitened words.
    mean : array of shape (k,), WᵀM1.
    coefficients : C4 and C5 of the correction.
    seed : of the hashes.
    """

    def __init__(
        self, source: SketchSource, words: np.ndarray, mean: np.ndarray, coefficients: HDPCoefficients, seed: int = 0,
        sketch_length: int | None = None, n_sketches: int = SKETCHES,
    ) -> None:
        size = len(mean)
        length = sketch_length or default_length(size, polish=True)
        hashes = SketchHashes.family(size, length, n_sketches, seed)
        sums = source.sums(words, length, n_sketches, seed)
        spectra = corrected_spectra(sums, hashes, words, mean, coefficients)
        super().__init__([CountSketch(own, found) for own, found in zip(hashes, spectra, strict=True)], size)


def sketched_moments(
    moments: ProjectedMoments, source: SketchSource, projection: np.ndarray, coefficients: HDPCoefficients, seed: int
) -> CorrectedMoments:
    """S2 of all documents, and S3 of the source as its sketches; ``projection`` is B of shape (d, p)."""

    def third_in(whitening: np.ndarray) -> Contraction:
        return SketchedTensor(source, projection @ whitening, whitening.T @ moments.first, coefficients, seed)

    return CorrectedMoments(moments.first, second_corrected(moments, coefficients), third_in, coefficients)


def sketch(
    tensor: np.ndarray | Contraction,
    seed: int = 0,
    sketch_length: int | None = None,
    n_sketches: int = SKETCHES,
    polish: bool = True,
    max_iterations: int = 60,
    tolerance: float = TOLERANCE,
    settled: float = 0.0,
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal tensor from ``n_sketches`` sketches of ``sketch_length`` numbers.

    Parameters
    ----------
    tensor : symmetric array of shape (k, k, k), read once per sketch; or a :class:`SketchedTensor`, whose sketches were
        summed over documents. There is nothing to polish such a one with, and its residual is an estimate.
    sketch_length : buckets b; by default the power of two at or above k², or k²/4 before a polish, which keeps the
        relative error of a contraction, about k / √(b · n_sketches), the same for every k.
    n_sketches : independent sketches whose contractions are averaged (B).
    polish : finish with exact polar iterations. Without it the vectors are those of the sketched tensor, and their
        error falls with the sketch length.
    settled : of a :class:`SketchedTensor`, the gain of Σ λ² in a step, as a share of it, at which the climb ends.
    """
    if not isinstance(tensor, np.ndarray):
        rng = np.random.default_rng(seed)
        start = random_orthogonal(tensor.size, rng)
        end = climb(tensor, start, max_iterations, START_TOLERANCE, max(settled, SKETCH_SETTLED))
        vectors, step, converged = end.vectors, end.iterations, end.converged
        return from_products(tensor, vectors, step, converged, "sketch", rng)
    tensor = checked_tensor(tensor)
    size, rng = len(tensor), np.random.default_rng(seed)
    length = sketch_length or default_length(size, polish)
    sketches = [CountSketch.of_tensor(tensor, SketchHashes.draw(size, length, rng)) for _ in range(n_sketches)]
    enough = START_TOLERANCE if polish else SKETCH_TOLERANCE
    vectors, step, converged = _climbed(Sketches(sketches, size), random_orthogonal(size, rng), max_iterations, enough)
    if polish:
        end = climb(PairTensor(tensor), vectors, tolerance=tolerance)
        vectors, converged, step = end.vectors, end.converged, step + end.iterations
    return finished(tensor, vectors, step, converged, "sketch")


def _climbed(
    tensor: Contraction, vectors: np.ndarray, most: int, enough: float
) -> tuple[np.ndarray, int, bool]:
    """Polar iterations with estimated products, until no vector turns by more than ``enough``."""
    step, converged = 0, False
    while step < most and not converged:
        step += 1
        gradient = tensor.contract(vectors)
        moved = nearest_orthogonal(gradient * (gradient * vectors).sum(axis=0))
        converged = largest_turn(moved, vectors) < enough
        vectors = moved
    return vectors, step, converged


def default_length(size: int, polish: bool) -> int:
    wanted = size * size // 4 if polish else size * size
    return max(512, 1 << max(wanted - 1, 0).bit_length())
