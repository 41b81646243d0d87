"""The inner loops compiled by numba: fused per document, over a local copy of the topic rows of its words.

Two more things make the E-step fast. Topics with expected counts below ``NEGLIGIBLE`` words are removed
from the local copy, so that only a few columns remain after some iterations. And exp(ψ(x)) takes one division and one
short exponential, written so that the compiler vectorises them. The caller allocates scratch arrays and views are
avoided, which keeps compilation at about 1.5 seconds per Python worker (numba's cache on disk is a pickle, so it is not
used).
"""

import numpy as np
from numba import njit

from spectral_spark.refine.sweep_numba import sweep

__all__ = ["e_step", "infer", "sweep"]

NEGLIGIBLE = 1e-9            # words: below this, a topic does not return to a document and changes no result visibly
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2^52: adding it leaves the nearest whole number in the low bits
_exact = njit(fastmath={"contract"}, error_model="numpy", nogil=True)
_sums = njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")      # order fixed by the code


@_exact
def _exp_digamma(x: np.ndarray, size: int, work: np.ndarray, bits: np.ndarray, out: np.ndarray) -> None:
    """out ∝ exp(ψ(x)): ψ(x) = ψ(x+8) − Σ_{i<8} 1/(x+i), and exp(ψ(z+½)) as a series. bits shares the memory of work."""
    for j in range(size):
        a = x[j]
        z = a + 7.5
        v = a * (a + 7.0)                            # x(x+7), (x+1)(x+6), … are v, v+6, v+10, v+12
        denominator = (((v + 28.0) * v + 252.0) * v + 720.0) * v
        numerator = ((4.0 * v + 84.0) * v + 504.0) * v + 720.0
        both = 1.0 / (z * denominator)
        inverse = both * denominator
        square = inverse * inverse
        series = 1.0 / 24.0 + square * (-37.0 / 5760.0 + square * (10313.0 / 2903040.0 - square * 0.003953557))
        out[j] = z + inverse * series
        work[j] = -(a + a + 7.0) * numerator * (both * z)
    top = work[0]
    for j in range(size):
        top = work[j] if work[j] > top else top
    for j in range(size):
        y = work[j] - top
        y = y if y > -700.0 else -700.0
        biased = y * _LOG2E + _ROUND
        whole = biased - _ROUND
        r = (y - whole * _LN2_HIGH) - whole * _LN2_LOW
        p = 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[j] *= p * r + 1.0
        work[j] = biased
    for j in range(size):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(size):
        out[j] *= work[j]


@_sums
def _expected_counts(
    words: np.ndarray, counts: np.ndarray, start: int, length: int, theta: np.ndarray, size: int,
    ratio: np.ndarray, expected: np.ndarray,
) -> None:
    """ratio_i = c_i / Σ_j φ_ij θ_j and expected_j = θ_j Σ_i ratio_i φ_ij."""
    for j in range(size):
        expected[j] = 0.0
    for i in range(length):
        total = 0.0
        for j in range(size):
            total += words[i, j] * theta[j]
        r = counts[start + i] / total
        ratio[i] = r
        for j in range(size):
            expected[j] += r * words[i, j]
    for j in range(size):
        expected[j] *= theta[j]


@_exact
def _digamma_gain(prior: float, count: float) -> float:
    """ψ(prior + count) − ψ(prior)."""
    total, gain = prior + count, 0.0
    for i in range(8):
        gain += count / ((prior + i) * (total + i))
    a, b = total + 7.5, prior + 7.5
    p, q = 1.0 / (a * a), 1.0 / (b * b)
    upper = 1.0 + p * (1.0 / 24.0 + p * (-37.0 / 5760.0 + p * 10313.0 / 2903040.0))
    lower = 1.0 + q * (1.0 / 24.0 + q * (-37.0 / 5760.0 + q * 10313.0 / 2903040.0))
    return gain + np.log(a * upper / (b * lower))


def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    means: np.ndarray, concentration: np.ndarray, weights: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    """See ``backend.Backend.e_step``."""
    longest, k = int(np.diff(indptr).max(initial=0)), rows.shape[1]
    vectors = np.empty((7, k))
    _e_step(
        indptr, slots, counts, nodes, rows, means, concentration, weights, iterations, statistics, node_counts,
        node_tables, np.empty((longest, k)), np.empty(longest), vectors, vectors.view(np.int64),
    )


def infer(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: np.ndarray, iterations: int
) -> np.ndarray:
    """Posterior-mean proportions, see ``fold_in.infer``; prior has shape (n, k)."""
    longest, k = int(np.diff(indptr).max(initial=0)), rows.shape[1]
    out = np.empty(prior.shape)
    _infer(
        indptr, slots, counts, rows, prior, iterations, out, np.empty((longest, k)), np.empty(longest), np.empty((2, k))
    )
    return out


@_exact
def _e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    means: np.ndarray, concentration: np.ndarray, weights: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
    words: np.ndarray, ratio: np.ndarray, vectors: np.ndarray, integers: np.ndarray,
) -> None:
    """Scratch: words (longest, k), ratio (longest,), vectors (7, k) and integers, the same memory as int64."""
    k = rows.shape[1]
    theta, expected, prior, posterior, work = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    bits, index, kept = integers[4], integers[5], integers[6]
    for d in range(len(indptr) - 1):
        start, node = indptr[d], nodes[d]
        length = indptr[d + 1] - start
        if length == 0:
            continue
        for i in range(length):
            slot = slots[start + i]
            for j in range(k):
                words[i, j] = rows[slot, j]
        size = k
        for j in range(k):
            theta[j] = means[d, j]
            prior[j] = concentration[d] * theta[j]
            index[j] = j
        for iteration in range(iterations + 1):
            _expected_counts(words, counts, start, length, theta, size, ratio, expected)
            if iteration == iterations:
                break
            if iteration > 0:
                left = 0
                for j in range(size):
                    if expected[j] > NEGLIGIBLE:
                        kept[left], index[left] = j, index[j]
                        expected[left], prior[left] = expected[j], prior[j]
                        left += 1
                if left < size:
                    for i in range(length):
                        for j in range(left):
                            words[i, j] = words[i, kept[j]]
                size = left
            for j in range(size):
                posterior[j] = expected[j] + prior[j]
            _exp_digamma(posterior, size, work, bits, theta)
        total = 0.0
        for j in range(size):
            total += expected[j]
        for j in range(size):
            node_counts[node, index[j]] += expected[j] / total
            node_tables[node, index[j]] += prior[j] * _digamma_gain(prior[j], expected[j])
        for i in range(length):
            slot, weighted = slots[start + i], weights[d] * ratio[i]
            for j in range(size):
                statistics[slot, index[j]] += weighted * words[i, j] * theta[j]


@_exact
def _infer(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, rows: np.ndarray, prior: np.ndarray, iterations: int,
    out: np.ndarray, words: np.ndarray, ratio: np.ndarray, vectors: np.ndarray,
) -> None:
    n, k = prior.shape
    theta, expected = vectors[0], vectors[1]
    for d in range(n):
        start = indptr[d]
        length = indptr[d + 1] - start
        for i in range(length):
            slot = slots[start + i]
            for j in range(k):
                words[i, j] = rows[slot, j]
        for j in range(k):
            expected[j] = 0.0
        for iteration in range(iterations + 1):
            mass = 0.0
            for j in range(k):
                theta[j] = expected[j] + prior[d, j]
                mass += theta[j]
            for j in range(k):
                theta[j] /= mass
            if iteration < iterations:
                _expected_counts(words, counts, start, length, theta, k, ratio, expected)
        for j in range(k):
            out[d, j] = theta[j]
