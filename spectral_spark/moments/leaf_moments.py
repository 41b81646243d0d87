"""Sums of document moments, and the moments in the basis that follow from them (formulas §2).

A *slot* is a set of documents that are summed together: one slot for the whole corpus, or one per tree node if weights
may change later.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from spectral_spark.errors import InputError
from spectral_spark.moments.projection import ProjectedBatch
from spectral_spark.moments.symmetric_packing import pack2, pack_placements, pair_count, pair_products
from spectral_spark.moments.third_moment import CubeSums

TOTALS = ("weight", "documents", "tokens")
_WORDS_PER_BLOCK = 1024


class LeafSums:
    """Accumulates one slot.

    Attributes
    ----------
    totals : array of shape (3,): weight, documents, tokens.
    first, second : arrays of shape (p,), (p, p): Σ η y/m, Σ w2 yyᵀ (only its upper triangle without ``third``).
    third : Σ w3 y⊗y⊗y; None if third moments are not collected.
    word_weights : array of shape (d, 3): Σ η c/m, Σ w2 c, Σ w3 c.
    word_third : array of shape (d, p): Σ w3 c yᵀ; None if third moments are not collected.
    """

    def __init__(self, vocab_size: int, p: int, third: bool = True) -> None:
        self.totals = np.zeros(3)
        self.first, self.second = np.zeros(p), np.zeros((p, p), order="C" if third else "F")
        self.third = CubeSums(p) if third else None
        self.word_weights = np.zeros((vocab_size, 3))
        self.word_third = np.zeros((vocab_size, p)) if third else None

    def add(self, batch: ProjectedBatch, weight: np.ndarray) -> np.ndarray:
        """Add documents with weights η of shape (n,), except for their cubes; returns the weights w3 for these."""
        w1, w2, w3 = weight * batch.per_word, weight * batch.per_pair, weight * batch.per_triple
        self.totals += weight.sum(), len(weight), batch.lengths.sum()
        self.first += w1 @ batch.y
        self.word_weights[batch.words] += batch.word_sums(np.stack([w1, w2, w3], axis=1))
        if self.word_third is None:                     # p is large, and this is most of the work: half the products
            dsyrk(1.0, (batch.y * np.sqrt(w2)[:, None]).T, 1.0, self.second, overwrite_c=1)
        else:
            self.second += (batch.y * w2[:, None]).T @ batch.y
            self.word_third[batch.words] += batch.word_sums(batch.y * w3[:, None])
        return w3


def sums_arrays(slots: list[LeafSums]) -> dict[str, np.ndarray]:
    """The arrays that leave an executor: "totals" (S, 3), "first" (S, p), "second" (S, pairs), "third" (S, triples)
    and, by word, "word_weights" (d, 3 S) and "word_third" (d, p S); those of third moments only if collected."""
    arrays = {
        "totals": np.stack([slot.totals for slot in slots]),
        "first": np.stack([slot.first for slot in slots]),
        "second": np.stack([pack2(slot.second) for slot in slots]),
        "word_weights": _side_by_side([slot.word_weights for slot in slots]),
    }
    cubes = [slot.third.packed() for slot in slots if slot.third is not None]
    if cubes:
        arrays["third"] = np.stack(cubes)
        arrays["word_third"] = _side_by_side([slot.word_third for slot in slots if slot.word_third is not None])
    return arrays


def _side_by_side(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.hstack(arrays)         # one may be large: no copy


@dataclass(frozen=True, eq=False)
class LeafMoments:
    """Unnormalised moments of S slots in the basis: small, and additive like the sums.

    Attributes
    ----------
    totals : array of shape (S, 3): weight, documents, tokens.
    words : array of shape (S, d), Σ η c/m.
    first : array of shape (S, p).
    second : array of shape (S, pairs), packed.
    third : array of shape (S, triples), packed; of shape (S, 0) if third moments were not collected.
    """

    totals: np.ndarray
    words: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    @classmethod
    def from_sums(cls, sums: Mapping[str, np.ndarray], projection: np.ndarray) -> "LeafMoments":
        """Contract the sums kept by word with the projection B of shape (d, p) (formulas §2)."""
        slots = len(sums["totals"])
        words = sums["word_weights"].reshape(len(projection), slots, 3)[:, :, 0].T
        if "third" in sums:
            correction = contract_words(projection, sums["word_weights"], sums["word_third"])
            second, third = sums["second"] - correction["second"], sums["third"] - correction["third"]
        else:
            second = sums["second"] - contract_second(projection, sums["word_weights"][:, 1::3])
            third = np.zeros((slots, 0))
        moments = cls(sums["totals"], np.ascontiguousarray(words), sums["first"], second, third)
        if not all(np.all(np.isfinite(array)) for array in moments.arrays().values()):
            raise InputError("moments: a sum is not finite; check document weights and counts, or cap the counts")
        return moments

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("totals", "words", "first", "second", "third")}

    def moved(self, slots: int, new_slot: np.ndarray) -> "LeafMoments":
        """The same moments among ``slots`` slots, where slot i becomes ``new_slot[i]``."""
        moved = {}
        for name, array in self.arrays().items():
            moved[name] = np.zeros((slots, *array.shape[1:]))
            moved[name][new_slot] = array
        return LeafMoments(**moved)

    def combined(self, factor: np.ndarray) -> "LeafMoments":
        """One slot: the sum of all, each times its factor, of shape (S,); documents and tokens are plain counts."""
        arrays = {name: factor[None] @ array for name, array in self.arrays().items()}
        arrays["totals"][:, 1:] = self.totals[:, 1:].sum(axis=0)
        return LeafMoments(**arrays)

    def __add__(self, other: "LeafMoments") -> "LeafMoments":
        theirs = other.arrays()
        return LeafMoments(**{name: array + theirs[name] for name, array in self.arrays().items()})

    def __sub__(self, other: "LeafMoments") -> "LeafMoments":
        theirs = other.arrays()
        return LeafMoments(**{name: array - theirs[name] for name, array in self.arrays().items()})


def contract_words(projection: np.ndarray, word_weights: np.ndarray, word_third: np.ndarray) -> dict[str, np.ndarray]:
    """The diagonal terms that φ2 and φ3 subtract; additive over blocks of words.

    Parameters
    ----------
    projection : array of shape (r, p), rows of B.
    word_weights, word_third : arrays of shape (r, 3 S), (r, p S), the same rows of the sums.

    Returns
    -------
    "second" : array of shape (S, pairs), Bᵀ diag(s2) B packed.
    "third" : array of shape (S, triples), sym3(Σ_w b_w ⊗ b_w ⊗ (H_w − ⅔ s3_w b_w)) packed.
    """
    p, slots = projection.shape[1], word_weights.shape[1] // 3
    third = np.zeros((pair_count(p), slots * p))
    for at in range(0, len(projection), _WORDS_PER_BLOCK):
        rows = slice(at, at + _WORDS_PER_BLOCK)
        twice = word_weights[rows, 2::3, None] * projection[rows, None, :]
        pairs = pair_products(np.ascontiguousarray(projection[rows].T))
        third += pairs @ (word_third[rows] - (2.0 / 3.0) * twice.reshape(len(twice), -1))
    placed = [pack_placements(third[:, slot * p : (slot + 1) * p], p) for slot in range(slots)]
    return {"second": contract_second(projection, word_weights[:, 1::3]), "third": np.stack(placed)}


def contract_second(projection: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Bᵀ diag(s) B packed for each column s of ``weights`` (r, S); array of shape (S, pairs)."""
    if weights.shape[1] < projection.shape[1]:
        return np.stack([pack2((projection * column[:, None]).T @ projection) for column in weights.T])
    total = np.zeros((weights.shape[1], pair_count(projection.shape[1])))
    for at in range(0, len(projection), _WORDS_PER_BLOCK):
        rows = slice(at, at + _WORDS_PER_BLOCK)
        total += weights[rows].T @ pair_products(np.ascontiguousarray(projection[rows].T)).T
    return total


def node_state_bytes(vocab_size: int, p: int, nodes: int) -> int:
    """Size of states kept per node: two half samples of all moments and word totals for every node."""
    return 16 * nodes * (3 + vocab_size + p + p * (p + 1) // 2 + p * (p + 1) * (p + 2) // 6)
