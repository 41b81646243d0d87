"""Third moments of many topics: a sample of the documents takes the place of a tensor that is too large to collect.

The same sample finds the basis, since a basis of many columns costs as much as all other passes. It stays with the
model (``replayWords``), so that the model can be solved again, updated and merged.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.sample_corpus import open_sample
from spectral_spark.engine.tree_sum import State
from spectral_spark.errors import InputError
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.fit.basis_step import basis_weights, find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.remember import document_sample
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.third_sample import ThirdSample
from spectral_spark.moments.third_sketch import SketchKernel, SketchSource

THIRD_WORDS = 1_000_000         # of the sample: more take longer and leave the topics as they are after refinement,
THIRD_WORDS_PER_COLUMN = 2_000  # unless there are so many topics that some would not occur in it
SKETCH_DOCUMENTS = 65_536       # a document takes longer to sketch than to cube: its sketches have k² numbers
SAMPLED_ITERATIONS = 60         # at most, of the solver, if refinement follows
SETTLED = 1e-3                  # of Σ λ²: a smaller gain is below the noise of a sample, and the solver stops


def sample_for_solving(corpus: CountedCorpus, settings: FitSettings) -> KeptSample:
    """The documents that third moments are taken from: those that stay with the model."""
    return document_sample(corpus, settings.replay_words or third_words(settings.basis_columns(corpus.vocab_size)))


def third_words(columns: int) -> int:
    """Words of the sample that stands for third moments in a basis of so many columns."""
    return max(THIRD_WORDS, THIRD_WORDS_PER_COLUMN * columns)


def basis_from_sample(
    sample: KeptSample, corpus: CountedCorpus, settings: FitSettings, vocabulary: str, run: FitRun
) -> Basis:
    """The basis that the sample spans."""
    part = sample.at_most(third_words(settings.basis_columns(corpus.vocab_size)))
    documents = open_sample(corpus.packed.spark, part, sample.paths, settings.cap, run.progress)
    return find_basis(documents, basis_weights(documents, settings), settings, vocabulary, run)


@dataclass(frozen=True, eq=False)
class ThirdDocuments:
    """What stands for third moments that were not collected: a sample and, for solver ``sketch``, all documents."""

    sample: ThirdSample
    sketches: SketchSource | None = None


@dataclass(frozen=True, eq=False)
class CorpusSketches:
    """Sketches of the documents of a corpus, where they are; of a corpus of many, about SKETCH_DOCUMENTS of them."""

    corpus: CountedCorpus
    moments: MomentState
    run: FitRun

    def sums(self, words: np.ndarray, length: int, sketches: int, seed: int) -> State:
        weights, corpus = self.moments.weights, self.corpus
        kernel = SketchKernel(corpus.vocab_size, self.moments.cap, weights.by_length, length, sketches, seed)
        shared, rounds = {"words": words, "factor": weights.factor}, corpus.rounds_for(SKETCH_DOCUMENTS)

        def compute() -> State:
            started = time.perf_counter()
            size = words.nbytes + 8 * sketches * (length + 2)
            sums = corpus.packed.sum(kernel, shared, name="sketch", rounds=rounds, state_bytes=size)
            self.run.finished_pass("sketch", int(sums["totals"][1]), started)
            return sums

        # Every candidate for the concentrations whitens the words in another way, and has sketches of its own.
        return self.run.resumable(f"sketch {fingerprint(words)[:16]}", compute)


def third_documents(
    moments: MomentState, sample: KeptSample | None, solver: str, corpus: CountedCorpus | None, run: FitRun
) -> ThirdDocuments | None:
    """What stands for third moments that were not collected; None where they were."""
    found = third_sample(moments, sample)
    if found is None:
        return None
    sketched = solver == "sketch" and corpus is not None
    return ThirdDocuments(found, CorpusSketches(corpus, moments, run) if sketched and corpus is not None else None)


def third_sample(moments: MomentState, sample: KeptSample | None) -> ThirdSample | None:
    """The sample for third moments that were not collected; None where they were."""
    if moments.has_third:
        return None
    check_solvable(moments, sample)
    assert sample is not None
    part = sample.at_most(third_words(moments.basis.size))
    known = {path: node for node, path in enumerate(moments.census.tree.paths)}
    place = np.array([known.get(path, 0) for path in sample.paths], np.int32)
    return ThirdSample.of(replace(part, nodes=place[part.nodes]), moments.cap, moments.weights)


def check_solvable(moments: MomentState, sample: KeptSample | None) -> None:
    """Refuse a model that has neither third moments nor documents to take them from."""
    if not moments.has_third and (sample is None or not len(sample)):
        raise InputError(
            "this model was fitted without third moments (`solver=implicit`, more than 200 topics, or more than six "
            "million words) and keeps no "
            "sample of its documents (`replayWords=0`), so it can be used, but not solved again, updated or merged; "
            "fit it again with `replayWords` above 0"
        )
