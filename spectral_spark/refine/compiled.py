"""The compiled E-step: fused loops per document over a local copy of its words' topic rows.

Two things make it fast beside the fusing. Topics that a document has given up (expected counts below ``NEGLIGIBLE``
words) leave its local copy after a few iterations, and only a handful of columns remain; and exp(ψ(x)) needs one
division and one short exponential, written so that the compiler turns them into vector code.
"""

import numpy as np
from numba import njit

NEGLIGIBLE = 1e-9            # words: a topic below this in a document does not come back and moves no result visibly
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2^52: adding it leaves the nearest whole number in the low bits
_exact = njit(fastmath={"contract"}, error_model="numpy")
_sums = njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")   # as vectors, in an order fixed by the code


@_exact
def _exp_digamma_parts(x: np.ndarray, size: int, amplitude: np.ndarray, exponent: np.ndarray) -> None:
    """exp(ψ(x)) = amplitude · exp(exponent), from ψ(x) = ψ(x+8) − Σ_{i<8} 1/(x+i) and the series of exp(ψ(z+½))."""
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
        amplitude[j] = z + inverse * series
        exponent[j] = -(a + a + 7.0) * numerator * (both * z)


@_exact
def _times_exponential(
    amplitude: np.ndarray, exponent: np.ndarray, size: int, bits: np.ndarray, out: np.ndarray
) -> None:
    """out = amplitude · exp(exponent − largest exponent): relative sizes are all that matters. ``bits`` is scratch."""
    top = exponent[0]
    for j in range(1, size):
        top = max(top, exponent[j])
    shifted = bits.view(np.float64)
    for j in range(size):
        y = max(exponent[j] - top, -700.0)
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
        out[j] = (p * r + 1.0) * amplitude[j]
        shifted[j] = biased
    for j in range(size):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(size):
        out[j] *= shifted[j]


@_sums
def _responsibilities(
    words: np.ndarray, counts: np.ndarray, start: int, length: int, theta: np.ndarray, size: int,
    ratio: np.ndarray, gathered: np.ndarray,
) -> None:
    """ratio_i = c_i / Σ_j φ_ij θ_j and gathered_j = Σ_i ratio_i φ_ij."""
    for j in range(size):
        gathered[j] = 0.0
    for i in range(length):
        row = words[i]
        total = 0.0
        for j in range(size):
            total += row[j] * theta[j]
        r = counts[start + i] / total
        ratio[i] = r
        for j in range(size):
            gathered[j] += r * row[j]


@_exact
def _drop_negligible(
    words: np.ndarray, length: int, expected: np.ndarray, prior: np.ndarray, index: np.ndarray, size: int,
    kept: np.ndarray,
) -> int:
    """Close the gaps that given-up topics leave; returns how many stay."""
    left = 0
    for j in range(size):
        if expected[j] > NEGLIGIBLE:
            kept[left] = j
            expected[left] = expected[j]
            prior[left] = prior[j]
            index[left] = index[j]
            left += 1
    if left < size:
        for i in range(length):
            row = words[i]
            for j in range(left):
                row[j] = row[kept[j]]
    return left


@_exact
def _log_ratio(total: float, prior: float) -> float:
    """ψ(total) − ψ(prior)."""
    rest = 0.0
    for i in range(8):
        rest += 1.0 / (prior + i) - 1.0 / (total + i)
    a, b = total + 7.5, prior + 7.5
    p, q = 1.0 / (a * a), 1.0 / (b * b)
    upper = 1.0 + p * (1.0 / 24.0 + p * (-37.0 / 5760.0 + p * 10313.0 / 2903040.0))
    lower = 1.0 + q * (1.0 / 24.0 + q * (-37.0 / 5760.0 + q * 10313.0 / 2903040.0))
    return rest + np.log(a * upper / (b * lower))


@_exact
def e_step(
    indptr: np.ndarray, slots: np.ndarray, counts: np.ndarray, nodes: np.ndarray, rows: np.ndarray,
    node_prior: np.ndarray, concentration: np.ndarray, iterations: int,
    statistics: np.ndarray, node_counts: np.ndarray, node_tables: np.ndarray,
) -> None:
    n, k = len(indptr) - 1, rows.shape[1]
    longest = 0
    for d in range(n):
        longest = max(longest, indptr[d + 1] - indptr[d])
    words, ratio = np.empty((longest, k)), np.empty(longest)
    theta, expected, prior, posterior = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    amplitude, exponent, bits = np.empty(k), np.empty(k), np.empty(k, np.int64)
    index, kept = np.empty(k, np.int64), np.empty(k, np.int64)
    for d in range(n):
        start, node = indptr[d], nodes[d]
        length = indptr[d + 1] - start
        if length == 0:
            continue
        for i in range(length):
            words[i, :] = rows[slots[start + i]]
        size = k
        for j in range(k):
            theta[j] = node_prior[node, j]
            prior[j] = concentration[node] * theta[j]
            index[j] = j
        for iteration in range(iterations):
            _responsibilities(words, counts, start, length, theta, size, ratio, expected)
            for j in range(size):
                expected[j] *= theta[j]
            if iteration > 0 and size > 4:
                size = _drop_negligible(words, length, expected, prior, index, size, kept)
            for j in range(size):
                posterior[j] = expected[j] + prior[j]
            _exp_digamma_parts(posterior, size, amplitude, exponent)
            _times_exponential(amplitude, exponent, size, bits, theta)
        _responsibilities(words, counts, start, length, theta, size, ratio, expected)
        for i in range(length):
            row, target, r = words[i], statistics[slots[start + i]], ratio[i]
            for j in range(size):
                target[index[j]] += r * row[j] * theta[j]
        total = 0.0
        for j in range(size):
            expected[j] *= theta[j]
            total += expected[j]
        for j in range(size):
            node_counts[node, index[j]] += expected[j] / total
            node_tables[node, index[j]] += prior[j] * _log_ratio(prior[j] + expected[j], prior[j])


@_exact
def infer(
    indptr: np.ndarray, terms: np.ndarray, counts: np.ndarray, nodes: np.ndarray, topics: np.ndarray,
    prior: np.ndarray, iterations: int, out: np.ndarray,
) -> None:
    """Posterior-mean proportions of every document, see ``infer.infer``; prior has shape (nodes, k), out (n, k)."""
    n, k = out.shape
    longest = 0
    for d in range(n):
        longest = max(longest, indptr[d + 1] - indptr[d])
    words, ratio, expected = np.empty((longest, k)), np.empty(longest), np.empty(k)
    for d in range(n):
        start, theta, alpha = indptr[d], out[d], prior[nodes[d]]
        length = indptr[d + 1] - start
        for i in range(length):
            words[i, :] = topics[terms[start + i]]
        mass = 0.0
        for j in range(k):
            mass += alpha[j]
        for j in range(k):
            theta[j] = alpha[j] / mass
        for _ in range(iterations):
            _responsibilities(words, counts, start, length, theta, k, ratio, expected)
            mass = 0.0
            for j in range(k):
                theta[j] = theta[j] * expected[j] + alpha[j]
                mass += theta[j]
            for j in range(k):
                theta[j] /= mass
