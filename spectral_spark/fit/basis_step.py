"""Range: the passes that find a small basis for the moments."""

import time
from functools import partial

import numpy as np

from spectral_spark.data.hashing import is_fingerprint_of
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.range_finder import (
    RangeKernel,
    apply_second_moment,
    finish_basis,
    first_probe,
    mean_words,
    next_probe,
    word_scale,
)
from spectral_spark.tree.weights import NodeWeights, node_weights


def basis_weights(corpus: CountedCorpus, settings: FitSettings) -> NodeWeights:
    """Document weights for finding the basis. Variance components are not known yet: words count instead."""
    return node_weights(corpus.census, "tokens" if settings.weighting == "ess" else settings.weighting)


def find_basis(
    corpus: CountedCorpus, weights: NodeWeights, settings: FitSettings, vocabulary: str, run: FitRun
) -> Basis:
    """Randomized subspace iteration: one pass for every application of the second moment.

    ``vocabulary`` is the fingerprint of the words, which the basis keeps.
    """
    d = corpus.vocab_size
    probe = first_probe(d, settings.basis_columns(d), settings.seed)
    kernel = RangeKernel(d, settings.cap, weights.by_length)
    scale, mean = np.ones(d), np.zeros(d)

    def applied(name: str, probe: np.ndarray) -> State:
        started = time.perf_counter()
        shared = {"probe": probe, "factor": weights.factor}
        sums = corpus.packed.sum(kernel, shared, name=name, state_bytes=probe.nbytes)
        run.finished_pass(name, corpus.documents, started)
        return sums

    for number in range(settings.range_passes):
        name = f"range {number + 1}"
        sums = run.resumable(name, partial(applied, name, probe))
        if number == 0:
            mean = mean_words(sums)
            scale = word_scale(mean, settings.word_scaling)
        probe = apply_second_moment(sums, probe)
        del sums                                            # as large as the basis and the probe
        if number + 1 < settings.range_passes:
            probe = next_probe(probe, scale)
    return finish_basis(probe, scale, mean, vocabulary)


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
