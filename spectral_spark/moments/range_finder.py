"""Finds the basis by randomized subspace iteration on the scaled second moment (formulas §3).

One pass of :class:`RangeKernel` applies M2 to a block of vectors. The first pass also gives the word means, from which
the scales follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.projection import ProjectedBatch, WordIndex, prepared
from spectral_spark.tree.weights import document_weights


@dataclass(frozen=True)
class RangeKernel:
    """M2 X for a block X of shape (d, q), and the word means M1.

    ``shared`` holds "probe", X of shape (d, q), and "factor" of shape (nodes,), document weights by node (see
    ``tree.NodeWeights``). Its arrays are "product" (d, q), Σ w2 c (cᵀX); "words" (d, 2), the columns s1 = Σ η c/m and
    s2 = Σ w2 c; "totals" (4,): weight, documents, words, dropped documents.

    Parameters
    ----------
    vocab_size : number of words d.
    cap : highest count of a word in a document, None for no cap.
    by_length : whether documents weigh in proportion to their words.
    """

    vocab_size: int
    cap: int | None = None
    by_length: bool = True

    def start(self, shared: Mapping[str, np.ndarray]) -> "RangeAccumulator":
        return RangeAccumulator(self, shared["probe"], shared["factor"])


class RangeAccumulator:
    def __init__(self, kernel: RangeKernel, probe: np.ndarray, factor: np.ndarray) -> None:
        self._kernel, self._probe, self._factor = kernel, probe, factor
        self._index = WordIndex(kernel.vocab_size)
        self._product = np.zeros(probe.shape)
        self._words = np.zeros((kernel.vocab_size, 2))
        self._totals = np.zeros(4)

    def add(self, batch: CountBatch) -> None:
        documents, dropped = prepared(batch, self._kernel.vocab_size, self._kernel.cap)
        self._totals[3] += dropped
        if documents.n_documents == 0:
            return
        seen = ProjectedBatch(documents, self._probe, self._index)
        weight = document_weights(self._factor, self._kernel.by_length, documents.nodes, seen.lengths)
        pair_weight = weight * seen.per_pair
        self._product[seen.words] += seen.word_sums(seen.y * pair_weight[:, None])
        self._words[seen.words] += seen.word_sums(np.stack([weight * seen.per_word, pair_weight], axis=1))
        self._totals[:3] += weight.sum(), documents.n_documents, seen.lengths.sum()

    def arrays(self) -> dict[str, np.ndarray]:
        return {"product": self._product, "words": self._words, "totals": self._totals}


def mean_words(sums: Mapping[str, np.ndarray]) -> np.ndarray:
    """M1 of shape (d,) from the arrays of a range pass."""
    return sums["words"][:, 0] / _weight(sums)


def apply_second_moment(sums: Mapping[str, np.ndarray], probe: np.ndarray) -> np.ndarray:
    """M2 X of shape (d, q) from the arrays of a range pass over the probe X."""
    image: np.ndarray = sums["words"][:, 1:] * probe            # in place from here on: a (d, q) array is large
    np.subtract(sums["product"], image, out=image)
    image /= _weight(sums)
    return image


def word_scale(mean: np.ndarray, exponent: float = 0.5, floor: float = 0.1) -> np.ndarray:
    """s_w = (M1_w + ε)^(−exponent) of shape (d,): ½ makes the noise of M2 homogeneous, 0 leaves words unscaled.

    ε is ``floor`` times the mean frequency of the words that occur, so that a word seen once cannot claim a
    direction of its own. The scales are relative: their geometric mean over the words' occurrences is one.
    """
    if not 0 <= exponent <= 1 or not floor > 0:
        raise SettingsError(f"word scaling exponent {exponent}, floor {floor}: give 0 to 1, and above 0")
    occurring = mean > 0
    if not occurring.any():
        raise InputError("no word occurs in any document; check the vocabulary")
    logarithm = -exponent * np.log(mean + floor * mean[occurring].mean())
    return np.exp(logarithm - np.average(logarithm, weights=mean))


def first_probe(vocab_size: int, columns: int, seed: int) -> np.ndarray:
    """The random block to start with, of shape (vocab_size, columns)."""
    if not 1 <= columns <= vocab_size:
        raise SettingsError(f"a basis of {columns} columns over {vocab_size} words; give between 1 and {vocab_size}")
    return np.random.default_rng([seed, 2]).standard_normal((vocab_size, columns))


def next_probe(image: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The block for the next pass: diag(s) Q for an orthonormal basis Q of diag(s) (M2 X), shape (d, q)."""
    probe = orthonormal(scale[:, None] * image)
    probe *= scale[:, None]
    return probe


def finish_basis(image: np.ndarray, scale: np.ndarray, mean: np.ndarray, vocabulary_fingerprint: str = "") -> Basis:
    """The basis from the last image M2 X of shape (d, q): the directions of diag(s) M2 X, most energy first.

    The scaled word mean is appended if they do not span it (and if p < d), so p is q or q + 1. Otherwise, centring
    would lose the direction in which all topics agree.
    """
    q, r = _factorised(scale[:, None] * image)
    directions = _signed(np.ascontiguousarray(q @ np.linalg.svd(r)[0]))
    return Basis(scale, with_direction(directions, scale * mean), vocabulary_fingerprint)


def orthonormal(columns: np.ndarray) -> np.ndarray:
    """Orthonormal columns with the span of the given ones, shape as given."""
    norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    q, _ = _factorised(columns / np.where(norms > 0, norms, 1.0))
    return _signed(np.ascontiguousarray(q))


def with_direction(directions: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Orthonormal columns and, if they do not span the vector, one more column so that they do."""
    d, p = directions.shape
    rest = vector - directions @ (directions.T @ vector)
    rest -= directions @ (directions.T @ rest)
    size = float(np.linalg.norm(rest))
    if p == d or size <= 1e-12 * float(np.linalg.norm(vector)):
        return directions
    return np.column_stack([directions, rest / size])


def _signed(directions: np.ndarray) -> np.ndarray:
    """Each column, in place, with its largest entry positive: the factorisation does not determine the sign."""
    for column in directions.T:
        if column[np.abs(column).argmax()] < 0:
            column *= -1.0
    return directions


def _factorised(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q of shape (d, q), in Fortran order, and R of columns, with no more memory than one copy of them."""
    if not np.isfinite(columns.sum()):
        raise InputError("range finder: an entry is not finite; check the document weights and counts")
    columns = np.asfortranarray(columns)
    q, r = qr(columns, mode="economic", overwrite_a=True, check_finite=False)
    return q, r


def _weight(sums: Mapping[str, np.ndarray]) -> float:
    weight = float(sums["totals"][0])
    if not weight > 0:
        raise InputError("no document is left; each needs at least 3 words of the vocabulary after capping")
    return weight
