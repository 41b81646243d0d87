"""Sample: improves the topics by Gibbs sampling, before the passes of EM.

A corpus of at most SAMPLE_WORDS words is sampled whole by the driver, with all its cores. Of a larger one the driver
searches topics in a sample of that size; the sweeps that follow draw the topics of all words, where the documents are.
"""

import time
from contextlib import closing
from dataclasses import replace

import numpy as np

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.memory import driver_threads
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.corpus_gibbs import CorpusSampler
from spectral_spark.refine.cut_tree import CutTree
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState, initial_concentrations
from spectral_spark.tree.group_balance import group_weights

SETTLED_BLUR = 0.3          # of initial topics that the moments determine, chosen by ``benchmarks/starts.py``


def sample_topics(start: Topics, corpus: CountedCorpus, settings: FitSettings, run: FitRun) -> RefineState:
    """The state that refinement continues from: the topics as they are, or after Gibbs sampling if asked for."""
    if not settings.explores:
        return start_state(start, corpus, settings)
    found, concentration = _after_sampling(start_state(start, corpus, settings, nodes=False), corpus, settings, run)
    if not settings.samples_all(corpus.tokens):
        return found
    return _after_sweeps(found, concentration, corpus, settings, run)


def start_state(start: Topics, corpus: CountedCorpus, settings: FitSettings, *, nodes: bool = True) -> RefineState:
    """Topics as the state that sampling and refinement work on.

    Without ``nodes``, all nodes have the proportions of the corpus: sampling learns its own from the first sweep on.
    """
    tree = corpus.census.tree
    cut = None if nodes else CutTree.of_root(tree.parent, tree.level)
    proportions = start.node_proportions if nodes else start.weights[None]
    return RefineState.start(
        start.topics, start.weights, tree.parent, tree.level, float(corpus.tokens), float(corpus.documents),
        node_proportions=_smoothed(proportions), concentrations=start_concentrations(settings, tree.depth),
        node_weight=group_weights(corpus.census, settings.group_balance), seeds=start.seeds, cut=cut,
    )


def refine_options(corpus: CountedCorpus, settings: FitSettings) -> RefineSettings:
    """How this corpus is sampled and refined; concentrations that were given are not learnt."""
    options = RefineSettings.for_corpus(
        max(settings.passes(corpus.tokens), 1), corpus.documents_per_shard, explored=settings.explores
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


def _after_sampling(
    start: RefineState, corpus: CountedCorpus, settings: FitSettings, run: FitRun
) -> tuple[RefineState, float]:
    """The state after sweeps over a sample of at most SAMPLE_WORDS words, and the concentration of its documents."""
    options, sweeps, spark = refine_options(corpus, settings), settings.sweeps(corpus.tokens), corpus.packed.spark
    only_search = settings.samples_all(corpus.tokens)
    most_words = settings.search_words(start.k, corpus.tokens) if only_search else SAMPLE_WORDS

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        if backend_name(options.backend) == "numpy":
            run.warn("numba is not installed on the driver, so sampling takes about twenty times as long; install it, "
                     "or turn sampling off with `exploreSweeps=0`")
        with run.progress.watch(spark, f"sampling, {sweeps} sweeps", 0, sample_rounds(corpus, most_words)):
            sample = take_sample(corpus, most_words)
            explorer = GibbsSampler(
                start, sample, _gibbs_settings(settings, corpus.tokens, start.k, len(sample.words)), options,
                seed=settings.seed, threads=driver_threads(spark),
            )
            for sweep in range(sweeps if sample.documents else 0):
                explorer.sweep()
                run.progress.advance((sweep + 1) / sweeps)
        run.finished_pass("sampling", sample.documents, started)
        return {**explorer.state().arrays(), "concentration": np.array([explorer.document_concentration]),
                "drift": explorer.drift}

    arrays = run.resumable("sampling", compute)
    run.drift = arrays.get("drift")
    return RefineState.from_arrays(arrays), float(arrays["concentration"][0])


def _gibbs_settings(settings: FitSettings, tokens: int, k: int, words: int) -> GibbsSettings:
    """How a sample of so many words is swept.

    A settled basis gives every seed the same topics to start from. With less blur more of them stay the same, at no
    loss; where surplus topics are searched it makes no difference, and other starts need to be left more easily.
    """
    usual = GibbsSettings(settings.sweeps(tokens), only_search=settings.samples_all(tokens))
    settled = settings.range_passes == "auto" and not settings.seeds and not usual.searches(k, words)
    return replace(usual, blur=SETTLED_BLUR) if settled else usual


def _after_sweeps(
    start: RefineState, concentration: float, corpus: CountedCorpus, settings: FitSettings, run: FitRun
) -> RefineState:
    """The state after sweeps over all words of the corpus, where its documents are."""
    options, sweeps = refine_options(corpus, settings), settings.corpus_sweeps(corpus.tokens)

    def compute() -> dict[str, np.ndarray]:
        started = time.perf_counter()
        with (run.progress.watch(corpus.packed.spark, f"sampling all, {sweeps} sweeps"),
              closing(corpus.packed.word_sweeps()) as words):
            sampler = CorpusSampler(
                start, concentration, sweeps, words.lengths(), options, seed=settings.seed,
                all_nodes=not settings.passes(corpus.tokens), threads=driver_threads(corpus.packed.spark),
            )
            for sweep in range(sweeps):
                sampler.finish(words.sweep(sampler.kernel, sampler.shared()))
                run.progress.advance((sweep + 1) / sweeps)
        run.finished_pass("sampling all", corpus.documents, started)
        return sampler.state().arrays()

    return RefineState.from_arrays(run.resumable("sampling all", compute))


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
