"""Range: the passes that find a small basis for the moments."""

import time

import numpy as np

from spectral_spark.data.hashing import is_fingerprint_of
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import SETTLING_PASSES, FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.krylov_range import KrylovRange
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    orthonormal,
    word_scale,
)
from spectral_spark.tree.weights import NodeWeights, node_weights

SETTLED = 0.002             # relative gain of a pass below which the spectrum has settled
WIDENED_PASSES = 6          # at most, after columns were added


def basis_weights(corpus: CountedCorpus, settings: FitSettings) -> NodeWeights:
    """Document weights for finding the basis. Variance components are not known yet: words count instead."""
    return node_weights(corpus.census, "tokens" if settings.weighting == "ess" else settings.weighting)


def find_basis(
    corpus: CountedCorpus, weights: NodeWeights, settings: FitSettings, vocabulary: str, run: FitRun
) -> Basis:
    """The basis, by one pass for every application of the second moment.

    ``vocabulary`` is the fingerprint of the words, which the basis keeps.
    """
    columns = settings.basis_columns(corpus.vocab_size)
    passes = RangePasses(corpus, weights, settings, run)
    if not settings.settles_basis(columns, corpus.tokens):
        return _iterated(passes, columns, settings.range_passes_at_most(columns, corpus.tokens), settings, vocabulary)
    return SettledBasis(passes, columns, settings, vocabulary).found()


class RangePasses:
    """Applies the second moment of a corpus, one pass at a time."""

    def __init__(self, corpus: CountedCorpus, weights: NodeWeights, settings: FitSettings, run: FitRun) -> None:
        self._corpus, self._weights, self._run, self.finished = corpus, weights, run, 0
        self._kernel = RangeKernel(corpus.vocab_size, settings.cap, weights.by_length)

    @property
    def vocab_size(self) -> int:
        return self._corpus.vocab_size

    def apply(self, probe: np.ndarray) -> State:
        """The sums of a pass over the documents with this probe of shape (d, q)."""
        self.finished += 1
        name = f"range {self.finished}"

        def compute() -> State:
            started = time.perf_counter()
            shared = {"probe": probe, "factor": self._weights.factor}
            sums = self._corpus.packed.sum(self._kernel, shared, name=name, state_bytes=probe.nbytes)
            self._run.finished_pass(name, self._corpus.documents, started)
            return sums

        return self._run.resumable(name, compute)

    def skip(self, passes: int) -> None:
        """Count planned passes that are not needed."""
        for _ in range(passes):
            self._run.progress.skip()


def _iterated(passes: RangePasses, columns: int, number: int, settings: FitSettings, vocabulary: str) -> Basis:
    """Randomized subspace iteration with a given number of passes."""
    d = passes.vocab_size
    probe = first_probe(d, columns, settings.seed)
    scale, mean = np.ones(d), np.zeros(d)
    for done in range(1, number + 1):
        sums = passes.apply(probe)
        if done == 1:
            mean = mean_words(sums)
            scale = word_scale(mean, settings.word_scaling)
        probe = apply_second_moment(sums, probe)
        del sums                                            # as large as the basis and the probe
        if done < number:
            probe = next_probe(probe, scale)
    return finish_basis(probe, scale, mean, vocabulary)


class SettledBasis:
    """Block Krylov passes until a further one would hardly change the spectrum, for one number of columns or more."""

    def __init__(self, passes: RangePasses, columns: int, settings: FitSettings, vocabulary: str) -> None:
        self._passes, self._settings, self._vocabulary = passes, settings, vocabulary
        probe = first_probe(passes.vocab_size, columns, settings.seed)
        sums = passes.apply(probe)
        self._mean = mean_words(sums)
        self._scale = word_scale(self._mean, settings.word_scaling)
        self._range = KrylovRange(columns, settings.leading(columns), settings.seed)
        self._block = orthonormal(self._scale[:, None] * apply_second_moment(sums, probe))
        self._left = SETTLING_PASSES - 1                    # the first pass gave the scales

    def found(self) -> Basis:
        """The basis after as many passes as it takes."""
        while self._left and self._block.shape[1]:
            probe = self._scale[:, None] * self._block
            image = apply_second_moment(self._passes.apply(probe), probe)
            image *= self._scale[:, None]
            self._range.add(self._block, image)
            self._block = self._range.next_block()
            self._left -= 1
            if self._range.gain < SETTLED:
                break
        self._passes.skip(self._left)
        self._left = 0
        return finish_basis(self._range.directions() / self._scale[:, None], self._scale, self._mean, self._vocabulary)

    def widen(self, columns: int) -> None:
        """Look for more columns: the passes so far are continued."""
        self._range.widen(columns, self._settings.leading(columns))
        self._block, self._left = self._range.next_block(), WIDENED_PASSES


def check_basis(basis: Basis, vocab_size: int, words: tuple[str, ...] | None, k: int | str) -> None:
    """Refuse a given basis that does not fit the documents or the number of topics."""
    if basis.vocab_size != vocab_size:
        raise InputError(f"the basis is over {basis.vocab_size} words and the documents over {vocab_size}; bring the "
                         "documents into the vocabulary of the basis, as spectral-spark fit does when given a `basis`")
    if words and basis.vocabulary_fingerprint and not is_fingerprint_of(basis.vocabulary_fingerprint, words):
        raise InputError("the words of the basis are not those of the documents, or are in another order; bring the "
                         "documents into the vocabulary of the basis, as spectral-spark fit does when given a `basis`")
    if k != "auto" and int(k) > basis.size:
        raise SettingsError(f"`k` is {k} but the basis has {basis.size} columns; make a basis with this `k`, or ask "
                            "for fewer topics")
