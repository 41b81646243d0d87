"""Third moments of many topics: a sample of the documents takes the place of a tensor that is too large to collect.

The same sample finds the basis, since a basis of many columns costs as much as all other passes. It stays with the
model (``replayWords``), so that the model can be solved again, updated and merged.
"""

from dataclasses import replace

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.sample_corpus import open_sample
from spectral_spark.errors import InputError
from spectral_spark.fit.basis_step import basis_weights, find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.remember import document_sample
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.third_sample import ThirdSample

THIRD_WORDS = 1_000_000         # of the sample: more take longer and leave the topics as they are after refinement
SAMPLED_ITERATIONS = 30         # of the solver, if refinement follows; the noise of a sample is larger than the rest


def sample_for_solving(corpus: CountedCorpus, settings: FitSettings) -> KeptSample:
    """The documents that third moments are taken from: those that stay with the model."""
    return document_sample(corpus, settings.replay_words or THIRD_WORDS)


def basis_from_sample(
    sample: KeptSample, corpus: CountedCorpus, settings: FitSettings, vocabulary: str, run: FitRun
) -> Basis:
    """The basis that the sample spans."""
    part = sample.at_most(THIRD_WORDS)
    documents = open_sample(corpus.packed.spark, part, sample.paths, settings.cap, run.progress)
    return find_basis(documents, basis_weights(documents, settings), settings, vocabulary, run)


def third_sample(moments: MomentState, sample: KeptSample | None) -> ThirdSample | None:
    """What stands for third moments that were not collected; None where they were."""
    if moments.has_third:
        return None
    check_solvable(moments, sample)
    assert sample is not None
    part = sample.at_most(THIRD_WORDS)
    known = {path: node for node, path in enumerate(moments.census.tree.paths)}
    place = np.array([known.get(path, 0) for path in sample.paths], np.int32)
    return ThirdSample.of(replace(part, nodes=place[part.nodes]), moments.cap, moments.weights)


def check_solvable(moments: MomentState, sample: KeptSample | None) -> None:
    """Refuse a model that has neither third moments nor documents to take them from."""
    if not moments.has_third and (sample is None or not len(sample)):
        raise InputError(
            "this model was fitted without third moments (`solver=implicit`, or more than 200 topics) and keeps no "
            "sample of its documents (`replayWords=0`), so it can be used, but not solved again, updated or merged; "
            "fit it again with `replayWords` above 0"
        )
