"""Sample: improves the topics by Gibbs sampling on a subset of the documents, before the passes over all of them.

The subset is one that the driver can hold, of a fixed size, so that sampling takes about as long for a large corpus as
for a small one. All cores of the driver sweep over it.
"""

import time
from dataclasses import replace

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.memory import driver_threads
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler, GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState, initial_concentrations
from spectral_spark.tree.group_balance import group_weights


def sample_topics(start: Topics, corpus: CountedCorpus, settings: FitSettings, run: FitRun) -> RefineState:
    """The state that refinement continues from: the topics as they are, or after Gibbs sampling if asked for."""
    state = start_state(start, corpus, settings)
    return _after_sampling(state, corpus, settings, run) if settings.explores else state


def start_state(start: Topics, corpus: CountedCorpus, settings: FitSettings) -> RefineState:
    """Topics as the state that sampling and refinement work on."""
    tree = corpus.census.tree
    return RefineState.start(
        start.topics, start.weights, tree.parent, tree.level, float(corpus.tokens), float(corpus.documents),
        node_proportions=_smoothed(start.node_proportions), concentrations=start_concentrations(settings, tree.depth),
        node_weight=group_weights(corpus.census, settings.group_balance),
    )


def refine_options(corpus: CountedCorpus, settings: FitSettings) -> RefineSettings:
    """How this corpus is sampled and refined; concentrations that were given are not learnt."""
    options = RefineSettings.for_corpus(
        settings.refine_passes, corpus.documents_per_shard, explored=settings.explores
    )
    given = settings.given_concentrations
    return replace(options, learn_concentrations=len(given) < 2, learn_document_concentration=not given)


def start_concentrations(settings: FitSettings, depth: int) -> np.ndarray:
    """Where sampling and refinement start in a tree of this depth: the given numbers, usual ones for the others.

    The documents of an update may lack the deepest levels of the tree that the numbers were given for.
    """
    start = initial_concentrations(depth)
    given = settings.given_concentrations
    if given:
        start[-1] = given[-1]
        levels = given[:-1][:depth]
        start[: len(levels)] = levels
    return start


def _after_sampling(start: RefineState, corpus: CountedCorpus, settings: FitSettings, run: FitRun) -> RefineState:
    """The state after sweeps over a sample of at most SAMPLE_WORDS words."""
    options, sweeps, spark = refine_options(corpus, settings), settings.sweeps(corpus.tokens), corpus.packed.spark

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        if backend_name(options.backend) == "numpy":
            run.warn("numba is not installed on the driver, so sampling takes about twenty times as long; install it, "
                     "or turn sampling off with `exploreSweeps=0`")
        with run.progress.watch(spark, f"sampling, {sweeps} sweeps", 0, sample_rounds(corpus)):
            sample = take_sample(corpus)
            explorer = GibbsSampler(
                start, sample, GibbsSettings(sweeps), options, seed=settings.seed, threads=driver_threads(spark)
            )
            for sweep in range(sweeps if sample.documents else 0):
                explorer.sweep()
                run.progress.advance((sweep + 1) / sweeps)
        run.finished_pass("sampling", sample.documents, started)
        return explorer.state().arrays()

    return RefineState.from_arrays(run.resumable("sampling", compute))


def take_sample(corpus: CountedCorpus, most_words: int | None = None) -> DocumentSample:
    """Whole blocks of documents, spread over the logical shards, with about ``most_words`` words together."""
    most_words = most_words or SAMPLE_WORDS
    return DocumentSample.from_batches(corpus.packed.sample(sample_rounds(corpus, most_words)), most_words)


def sample_rounds(corpus: CountedCorpus, most_words: int | None = None) -> int:
    """Into how many parts to cut the corpus so that one of them has about ``most_words`` words."""
    return max(1, -(-corpus.tokens // (most_words or SAMPLE_WORDS)))


def _smoothed(proportions: np.ndarray) -> np.ndarray:
    """Proportions in which every node has some of every topic."""
    floor = proportions + 0.1 / proportions.shape[1]
    return floor / floor.sum(axis=1, keepdims=True)
