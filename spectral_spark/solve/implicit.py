"""Third moments that are never formed: their products with vectors, from a sample of documents (formulas §16).

A tensor of k topics has k³ entries, 8 GB for a thousand. Its product with k vectors at once needs only the documents:
with A = W̃V (W̃ the whitened words, of shape (d, k)) a document with counts c has the coordinates x = Σ_w c_w a_w and
y = Σ_w c_w a_w², and the sum over its triples of different words, one of them w, is x² − y − 2 a_w x + 2 a_w².
Documents stay sparse, so the memory is that of three (d, k) arrays and the documents' words.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.moments.third_sample import ThirdSample
from spectral_spark.solve.corrected_moments import CorrectedMoments, second_corrected
from spectral_spark.solve.polar import MAX_ITERATIONS, TOLERANCE, climb, polar
from spectral_spark.solve.symmetric_tensor import Contraction, random_orthogonal, unit_columns
from spectral_spark.solve.tensor_decomposition import TensorDecomposition
from spectral_spark.solve.triples import triple_sums

COLUMNS = 128                    # vectors that are multiplied together: more need more memory
MOST_THREADS = 8
NORM_PAIRS = 32                 # random pairs of vectors that estimate the norm of the tensor


class SampledTensor:
    """S3(W, W, W) of a sample of documents, of shape (k, k, k), known by its products with vectors.

    Parameters
    ----------
    sample : n documents over d words, with their weights.
    words : array of shape (d, k), W̃ = BW: the whitened words.
    mean : array of shape (k,), WᵀM1.
    coefficients : C4 and C5 of the correction.
    """

    def __init__(
        self, sample: ThirdSample, words: np.ndarray, mean: np.ndarray, coefficients: HDPCoefficients
    ) -> None:
        used = np.flatnonzero(np.bincount(sample.counts.indices, minlength=sample.counts.shape[1]))
        self._counts = sample.counts[:, used].tocsr()
        self._words = np.ascontiguousarray(words[used])
        self._weights, self._mean, self._coefficients = sample.weights, mean, coefficients
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._threads = min(cores, MOST_THREADS)

    @property
    def size(self) -> int:
        return len(self._mean)

    def contract(self, vectors: np.ndarray) -> np.ndarray:
        """T(I, x_r, x_r) for every column of ``vectors`` (k, r): shape (k, r).

        Columns are independent of each other, so the result does not depend on the number of threads.
        """
        starts = range(0, vectors.shape[1], COLUMNS)
        with ThreadPoolExecutor(self._threads) as pool:
            parts = pool.map(lambda start: self._contract(vectors[:, start : start + COLUMNS]), starts)
            return np.hstack(list(parts))

    def _contract(self, vectors: np.ndarray) -> np.ndarray:
        sums = triple_sums(self._counts, self._weights, self._words @ vectors)
        along = self._mean @ vectors
        c, mean = self._coefficients, self._mean[:, None]
        common = c.c4 * mean * along**2 + c.c5 * (2.0 * vectors * along + mean * (vectors * vectors).sum(axis=0))
        return self._words.T @ sums - common


def sampled_moments(
    moments: ProjectedMoments, sample: ThirdSample, projection: np.ndarray, coefficients: HDPCoefficients
) -> CorrectedMoments:
    """S2 of all documents, and S3 of the sample as its products with vectors.

    Parameters
    ----------
    projection : array of shape (d, p), B.
    """
    if sample.counts.shape[1] != len(projection):
        raise InputError(f"the sample is over {sample.counts.shape[1]} words and the basis over {len(projection)}; use "
                         "the sample of the model")

    def third_in(whitening: np.ndarray) -> Contraction:
        return SampledTensor(sample, projection @ whitening, whitening.T @ moments.first, coefficients)

    return CorrectedMoments(moments.first, second_corrected(moments, coefficients), third_in, coefficients)


def implicit(
    tensor: np.ndarray | Contraction,
    seed: int = 0,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
    settled: float = 0.0,
) -> TensorDecomposition:
    """Decompose a symmetric, nearly orthogonal (k, k, k) tensor that is known by its products with vectors alone.

    The same ascent as :func:`~spectral_spark.solve.polar.polar`, from one random start; the residual is an estimate. A
    tensor that is given as an array is left to ``polar``.

    Parameters
    ----------
    tensor : the products of the tensor, or the tensor itself.
    max_iterations : products allowed.
    tolerance : the iteration has converged when no vector turns by more than this in a step,
    settled : or when a step raises Σ λ² by less than this share of it.
    """
    if isinstance(tensor, np.ndarray):
        return replace(polar(tensor, seed, None, max_iterations, tolerance), solver="implicit")
    rng = np.random.default_rng(seed)
    end = climb(tensor, random_orthogonal(tensor.size, rng), max_iterations, tolerance, settled)
    return from_products(tensor, end.vectors, end.iterations, end.converged, "implicit", rng)


def from_products(
    tensor: Contraction, vectors: np.ndarray, iterations: int, converged: bool, solver: str, rng: np.random.Generator
) -> TensorDecomposition:
    """The decomposition that these vectors, as columns, lead to; its residual is an estimate."""
    vectors = unit_columns(vectors)
    values = (tensor.contract(vectors) * vectors).sum(axis=0)
    vectors = vectors * np.where(values < 0, -1.0, 1.0)
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors = np.abs(values)[order], vectors[:, order]
    residual = _residual(tensor, values, vectors, rng)
    return TensorDecomposition(values, vectors, residual, iterations, converged, solver)


def _residual(tensor: Contraction, values: np.ndarray, vectors: np.ndarray, rng: np.random.Generator) -> float:
    """‖R‖ / ‖T‖, R = T − Σ λ v⊗v⊗v with orthonormal v: ‖R‖² is the mean of ‖R(I, x, y)‖² over random pairs x, y."""
    x, y = rng.standard_normal((2, len(values), NORM_PAIRS))
    products = tensor.contract(np.hstack([x + y, x - y]))
    products = (products[:, :NORM_PAIRS] - products[:, NORM_PAIRS:]) / 4.0                 # T(I, x, y)
    rest = products - vectors @ (values[:, None] * (vectors.T @ x) * (vectors.T @ y))
    unexplained, explained = float((rest**2).sum()) / NORM_PAIRS, float((values**2).sum())
    total = unexplained + explained
    return float(np.sqrt(unexplained / total)) if total > 0 else 0.0
