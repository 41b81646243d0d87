"""Binary codes: the most likely z of every row, and the probability of the row.

Given x, a code costs ‖x − offset − Φz‖²/(2σ²) − Σ log P(z_i): a binary quadratic form in z. Up to ``EXACT_FEATURES``
features all 2^k codes are compared by one matrix product. Beyond, a beam follows the triangular form of ΦᵀΦ one feature
at a time and keeps the best partial codes (in the theory of detection: a K-best sphere decoder), then single flips
descend from the best of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import logsumexp

from spectral_spark.data.dense_batch import centred
from spectral_spark.ibp.feature_model import FeatureModel

EXACT_FEATURES = 12
_BEAM = 64
_CHUNK_VALUES = 2_000_000


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes of n rows.

    Attributes
    ----------
    most_likely : float array of shape (n, k) of zeros and ones.
    log_likelihood : log p(x) of shape (n,), natural logarithm. Exact up to ``EXACT_FEATURES`` features; beyond, a
        lower bound: the sum over the codes in the beam.
    """

    most_likely: np.ndarray
    log_likelihood: np.ndarray


class BinaryDecoder:
    """Decodes rows under one binary model."""

    def __init__(self, model: FeatureModel, *, exact_features: int = EXACT_FEATURES, beam: int = _BEAM) -> None:
        self._model = model
        self._noise = effective_noise(model)
        pi = np.clip(model.probabilities, 1e-300, 1 - 1e-16)
        self._log_on, self._log_off = np.log(pi), np.log1p(-pi)
        self._gram = model.dictionary.T @ model.dictionary
        self._exact = model.k <= exact_features
        if self._exact:
            self._all = all_codes(model.k)
            self._bias = -0.5 * np.einsum("ck,ck->c", self._all @ self._gram, self._all) / self._noise
            self._bias += self._all @ (self._log_on - self._log_off) + self._log_off.sum()
        else:
            self._search = _Beam(self._gram, self._noise, self._log_on, self._log_off, beam)

    def decode(self, values: np.ndarray) -> Codes:
        """Codes of rows of shape (n, d); missing values (NaN) count as the offset plus the expected features."""
        parts = [self._decode(chunk) for chunk in self._chunks(values)]
        return Codes(np.vstack([p.most_likely for p in parts]), np.concatenate([p.log_likelihood for p in parts]))

    def most_likely(self, values: np.ndarray) -> np.ndarray:
        """The codes alone, shape (n, k): cheaper than :meth:`decode`."""
        return np.vstack([self._best(chunk @ self._model.dictionary)[0] for chunk in self._chunks(values)])

    def _chunks(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Rows less the offset, in pieces whose working arrays stay small; at least one piece."""
        width = len(self._all) if self._exact else 2 * self._search.width * self._model.k
        size = max(1, _CHUNK_VALUES // width)
        for start in range(0, max(len(values), 1), size):
            yield fill_missing(values[start : start + size], self._model) - self._model.offset

    def _decode(self, residual: np.ndarray) -> Codes:
        floor = -0.5 * np.einsum("nd,nd->n", residual, residual) / self._noise
        floor -= 0.5 * self._model.width * np.log(2 * np.pi * self._noise)
        codes, scores = self._best(residual @ self._model.dictionary)
        return Codes(codes, floor + logsumexp(scores, axis=1))

    def _best(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best code of each row and the scores of all codes considered, given the rows' products with Φ."""
        if not self._exact:
            return self._search.decode(target)
        scores = (target / self._noise) @ self._all.T
        scores += self._bias
        return self._all[np.argmax(scores, axis=1)], scores


class _Beam:
    """Scores are log P(z) + log-likelihood without the part that all codes of a row share."""

    def __init__(
        self, gram: np.ndarray, noise: float, log_on: np.ndarray, log_off: np.ndarray, width: int
    ) -> None:
        self.width = width
        self._gram, self._noise = gram, noise
        self._log_on, self._log_off = log_on, log_off
        self._ridge = 1e-9 * float(np.trace(gram)) / len(gram)      # z² = z: a ridge on the diagonal is a linear term
        ridged = gram + self._ridge * np.eye(len(gram))
        self._order = _decoding_order(ridged)
        self._root = cholesky(ridged[np.ix_(self._order, self._order)])

    def decode(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, k = target.shape
        shifted = target[:, self._order] + self._ridge / 2
        remaining = solve_triangular(self._root, shifted.T, trans="T").T[:, None, :]       # (n, beam, k)
        codes, costs = np.zeros((n, 1, k)), np.zeros((n, 1))
        rows = np.arange(n)[:, None]
        for j in range(k - 1, -1, -1):
            off = remaining[:, :, j]
            on = off - self._root[j, j]
            feature = self._order[j]
            both = np.concatenate([
                costs + off**2 / (2 * self._noise) - self._log_off[feature],
                costs + on**2 / (2 * self._noise) - self._log_on[feature],
            ], axis=1)
            kept = min(self.width, both.shape[1])
            chosen = np.argpartition(both, kept - 1, axis=1)[:, :kept] if kept < both.shape[1] else \
                np.broadcast_to(np.arange(kept), (n, kept))
            parent, active = chosen % costs.shape[1], chosen >= costs.shape[1]
            costs = both[rows, chosen]
            codes = codes[rows, parent]
            codes[:, :, j] = active
            remaining = remaining[rows, parent] - active[:, :, None] * self._root[:, j]
        best = codes[rows[:, 0], np.argmin(costs, axis=1)]
        codes_out = np.empty((n, k))
        codes_out[:, self._order] = best
        constant = 0.5 * (solve_triangular(self._root, shifted.T, trans="T") ** 2).sum(axis=0) / self._noise
        flipped = self._descend(codes_out, target)
        return flipped, self._scores(flipped, costs, constant, codes_out, target)

    def _descend(self, codes: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Flip the single bit that helps most, until none helps."""
        codes = codes.copy()
        prior = self._log_on - self._log_off
        for _ in range(2 * codes.shape[1]):
            direction = 1 - 2 * codes
            gain = direction * ((target - codes @ self._gram) / self._noise + prior)
            gain -= 0.5 * np.diag(self._gram) / self._noise
            bit = np.argmax(gain, axis=1)
            better = np.flatnonzero(gain[np.arange(len(codes)), bit] > 1e-12)
            if len(better) == 0:
                break
            codes[better, bit[better]] = 1 - codes[better, bit[better]]
        return codes

    def _scores(
        self, flipped: np.ndarray, costs: np.ndarray, constant: np.ndarray, before: np.ndarray, target: np.ndarray
    ) -> np.ndarray:
        scores = constant[:, None] - costs
        moved = (flipped != before).any(axis=1)
        extra = np.where(moved, self._score(flipped, target), -np.inf)
        return np.column_stack([scores, extra])

    def _score(self, codes: np.ndarray, target: np.ndarray) -> np.ndarray:
        quadratic = (codes * (2 * target - codes @ self._gram)).sum(axis=1) / (2 * self._noise)
        prior = codes @ (self._log_on - self._log_off) + self._log_off.sum()
        return np.asarray(quadratic + prior)


def all_codes(k: int) -> np.ndarray:
    """Every binary code of k bits, shape (2^k, k)."""
    return ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(np.float64)


def effective_noise(model: FeatureModel) -> float:
    """σ², kept above the rounding of the dictionary so that noiseless fits can be decoded."""
    return max(model.noise_variance, 1e-12 * float((model.dictionary**2).sum(axis=0).max()) / model.width, 1e-300)


def fill_missing(values: np.ndarray, model: FeatureModel) -> np.ndarray:
    """Rows in float64 with NaN replaced by the mean of its column under the model."""
    expected = model.offset.copy()
    if model.law.is_binary:
        expected += model.dictionary @ model.probabilities
    return centred(values, expected) + expected


def _decoding_order(gram: np.ndarray) -> np.ndarray:
    """Order of the features in which the last is decoded first: always the one least confused with those left."""
    left, order = list(range(len(gram))), []
    while left:
        clarity = np.diag(np.linalg.inv(gram[np.ix_(left, left)]))
        order.append(left.pop(int(np.argmin(clarity))))
    return np.array(order[::-1])
