"""Sampling before the passes of refinement: a part of the corpus that the driver can hold, swept there by all cores.

The part has a fixed size, so that exploring takes as long for a large corpus as for a small one: the passes over all
documents come afterwards.
"""

import time

import numpy as np

from spectral_spark.engine.counted_corpus import CensusResult
from spectral_spark.engine.fetch import fetch_batches
from spectral_spark.engine.memory import driver_threads
from spectral_spark.fit.fit_settings import SAMPLE_WORDS, FitSettings
from spectral_spark.fit.moment_step import Run
from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler, GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState


def explore_topics(
    start: RefineState, corpus: CensusResult, settings: FitSettings, options: RefineSettings, run: Run
) -> RefineState:
    """The state after sweeps over a sample of at most SAMPLE_WORDS words."""
    sweeps = settings.sweeps(corpus.tokens)

    def compute() -> dict[str, np.ndarray]:
        started, spark = time.perf_counter(), corpus.packed.frame.sparkSession
        if backend_name(options.backend) == "numpy":
            run.warn("numba is not installed on the driver: sampling takes some twenty times as long; install it, or "
                     "leave sampling out (exploreSweeps=0, --explore-sweeps 0)")
        with run.progress.watch(spark, f"sampling, {sweeps} sweeps"):
            sample = take_sample(corpus)
            explorer = GibbsSampler(
                start, sample, GibbsSettings(sweeps), options, seed=settings.seed, threads=driver_threads(spark)
            )
            for sweep in range(sweeps if sample.documents else 0):
                explorer.sweep()
                run.progress.advance((sweep + 1) / sweeps)
        run.log.timed("explore", sample.documents, started)
        return explorer.state().arrays()

    return RefineState.from_arrays(run.checkpoints.remember("explore", compute))


def take_sample(corpus: CensusResult, most_words: int = SAMPLE_WORDS) -> DocumentSample:
    """Whole blocks of documents, spread over the logical shards, with about ``most_words`` words together."""
    rounds = max(1, -(-corpus.tokens // most_words))
    return DocumentSample.from_batches(fetch_batches(corpus.packed, name="sampling", rounds=rounds), most_words)
