"""Count sketches of the whitened third moment, summed over documents: the tensor itself is never formed.

A document with whitened counts z = W̃ᵀc adds w3 z⊗z⊗z, whose sketch has the spectrum w3 F₁(z) F₂(z) F₃(z). What the
unbiased third moment subtracts for words that meet themselves depends on sums by word alone (formulas §2), and is
sketched once, at the end. All sums are additive over documents, partitions and days.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.moments.coefficients import HDPCoefficients
from spectral_spark.moments.projection import ProjectedBatch, WordIndex, prepared
from spectral_spark.moments.sketch_hashes import SketchHashes
from spectral_spark.moments.third_sample import ThirdSample
from spectral_spark.tree.weights import document_weights


@dataclass(frozen=True)
class SketchKernel:
    """Sketches of the cubes of whitened documents, and what their correction needs.

    ``shared`` holds "words", W̃ of shape (d, k), and "factor" of shape (nodes,), document weights by node. Arrays:
    "spectra" (sketches, 2, b // 2 + 1), real and imaginary parts; "word_third" (d, k), Σ w3 c z; "word_weights" (d,),
    Σ w3 c; "totals" (2,), weight and documents.

    Parameters
    ----------
    vocab_size : number of words d.
    cap : highest count of a word in a document, None for no cap.
    by_length : whether documents weigh in proportion to their words.
    length, sketches, seed : buckets of a sketch, number of sketches, and the seed of their hashes.
    """

    vocab_size: int
    cap: int | None
    by_length: bool
    length: int
    sketches: int
    seed: int

    def start(self, shared: Mapping[str, np.ndarray]) -> "SketchAccumulator":
        return SketchAccumulator(self, shared["words"], shared["factor"])

    def hashes(self, size: int) -> list[SketchHashes]:
        return SketchHashes.family(size, self.length, self.sketches, self.seed)


class SketchAccumulator:
    def __init__(self, kernel: SketchKernel, words: np.ndarray, factor: np.ndarray) -> None:
        self._kernel, self._words, self._factor = kernel, words, factor
        self._hashes, self._index = kernel.hashes(words.shape[1]), WordIndex(kernel.vocab_size)
        self._spectra = np.zeros((kernel.sketches, kernel.length // 2 + 1), complex)
        self._word_third, self._word_weights = np.zeros(words.shape), np.zeros(len(words))
        self._totals = np.zeros(2)

    def add(self, batch: CountBatch) -> None:
        documents, _ = prepared(batch, self._kernel.vocab_size, self._kernel.cap)
        if documents.n_documents == 0:
            return
        seen = ProjectedBatch(documents, self._words, self._index)
        own = document_weights(self._factor, self._kernel.by_length, documents.nodes, seen.lengths)
        weight = own * seen.per_triple
        weighted = seen.y * weight[:, None]
        for number, hashes in enumerate(self._hashes):
            self._spectra[number] += hashes.product(weighted, seen.y, seen.y)
        self._word_third[seen.words] += seen.word_sums(weighted)
        self._word_weights[seen.words] += seen.word_sums(weight)
        self._totals += own.sum(), documents.n_documents

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "spectra": np.stack([self._spectra.real, self._spectra.imag], axis=1), "word_third": self._word_third,
            "word_weights": self._word_weights, "totals": self._totals,
        }


class SketchSource(Protocol):
    """Documents that can be sketched: all of a corpus, or a sample."""

    def sums(self, words: np.ndarray, length: int, sketches: int, seed: int) -> Mapping[str, np.ndarray]:
        """The arrays of a :class:`SketchKernel` over the documents, for whitened words of shape (d, k)."""


@dataclass(frozen=True, eq=False)
class SampleSketches:
    """Sketches of a sample of documents that the driver holds."""

    sample: ThirdSample

    def sums(self, words: np.ndarray, length: int, sketches: int, seed: int) -> dict[str, np.ndarray]:
        counts, weights = self.sample.counts, self.sample.weights[:, None]
        z = np.asarray(counts @ words)
        family = SketchHashes.family(words.shape[1], length, sketches, seed)
        spectra = np.stack([hashes.product(z * weights, z, z) for hashes in family])
        by_word = counts.T.tocsr()
        return {
            "spectra": np.stack([spectra.real, spectra.imag], axis=1),
            "word_third": np.asarray(by_word @ (z * weights)), "word_weights": np.asarray(by_word @ weights).ravel(),
            "totals": np.array([1.0, float(self.sample.documents)]),           # the weights are divided by their sum
        }


def corrected_spectra(
    sums: Mapping[str, np.ndarray], hashes: list[SketchHashes], words: np.ndarray, mean: np.ndarray,
    coefficients: HDPCoefficients,
) -> list[np.ndarray]:
    """Spectra of the sketches of S3(W, W, W), from sums over documents.

    Parameters
    ----------
    sums : the arrays of a :class:`SketchKernel`.
    hashes : of each sketch.
    words : array of shape (d, k), W̃.
    mean : array of shape (k,), WᵀM1.
    coefficients : C4 and C5 of the correction.
    """
    weight, used = float(sums["totals"][0]), np.flatnonzero(sums["word_weights"])
    a = words[used]
    h = (sums["word_third"][used] - (2.0 / 3.0) * sums["word_weights"][used, None] * a) / weight
    found = []
    for number, own in enumerate(hashes):
        real, imaginary = sums["spectra"][number] / weight
        common = coefficients.c4 * own.product(mean[None], mean[None], mean[None])
        common += coefficients.c5 * own.identity_with(mean)
        found.append(real + 1j * imaginary - own.placements(a, h) - common)
    return found
