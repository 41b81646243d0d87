"""The hashes of a count sketch: three independent ones, so that the sketch of x⊗y⊗z is a product of three spectra.

A shared hash would be biased (formulas §9).
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import fft

BLOCK_CELLS = 1 << 21        # of the tables that are transformed together


@dataclass(frozen=True, eq=False)
class SketchHashes:
    """Buckets and signs of the k coordinates in each of the three modes of a tensor.

    Attributes
    ----------
    length : number of buckets b.
    buckets, signs : arrays of shape (3, k).
    """

    length: int
    buckets: np.ndarray
    signs: np.ndarray

    @classmethod
    def draw(cls, size: int, length: int, rng: np.random.Generator) -> "SketchHashes":
        """Random hashes of ``size`` coordinates."""
        return cls(length, rng.integers(0, length, size=(3, size)), rng.choice((-1.0, 1.0), size=(3, size)))

    @classmethod
    def family(cls, size: int, length: int, number: int, seed: int) -> "list[SketchHashes]":
        """The hashes of several sketches: the same ones on every machine."""
        return [cls.draw(size, length, np.random.default_rng([seed, place])) for place in range(number)]

    def spectra(self, vectors: np.ndarray, mode: int) -> np.ndarray:
        """Spectra of the count sketches of n vectors, given as rows (n, k), in one mode: shape (n, b // 2 + 1)."""
        size = len(self.buckets[mode])
        places = sp.csr_matrix((self.signs[mode], self.buckets[mode], np.arange(size + 1)), (size, self.length))
        return np.asarray(fft.rfft(np.asarray((places.T @ vectors.T).T), axis=1))

    def product(self, one: np.ndarray, two: np.ndarray, three: np.ndarray) -> np.ndarray:
        """Spectrum of the sketch of Σ x⊗y⊗z over n triples of vectors, given as rows (n, k) each."""
        total, step = np.zeros(self.length // 2 + 1, complex), max(1, BLOCK_CELLS // self.length)
        for at in range(0, len(one), step):
            rows = slice(at, at + step)
            parts = [self.spectra(given[rows], mode) for mode, given in enumerate((one, two, three))]
            total += np.einsum("nf,nf,nf->f", *parts)
        return total

    def placements(self, twice: np.ndarray, once: np.ndarray) -> np.ndarray:
        """Spectrum of the sketch of sym3(Σ x⊗x⊗y): its three placements, summed."""
        return (self.product(twice, twice, once) + self.product(twice, once, twice)
                + self.product(once, twice, twice))

    def identity_with(self, vector: np.ndarray) -> np.ndarray:
        """Spectrum of the sketch of sym3(I ⊗ x) for a vector x of shape (k,)."""
        total = np.zeros(self.length // 2 + 1, complex)
        for mode, one, other in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            where = (self.buckets[one] + self.buckets[other]) % self.length
            table = np.bincount(where, self.signs[one] * self.signs[other], self.length)
            total += fft.rfft(table) * self.spectra(vector[None], mode)[0]
        return total
