"""What a document costs in each pass on this machine: the kernels themselves run over made-up documents."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.pack_counts import BLOCK_DOCUMENTS
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.moment_kernel import MomentKernel
from spectral_spark.moments.moment_plan import PAIR_COLUMNS
from spectral_spark.moments.range_finder import RangeKernel
from spectral_spark.refine.em_kernel import RefineKernel
from spectral_spark.refine.fixed_point import PRIOR_STEPS
from spectral_spark.refine.gibbs import DocumentSample
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.topic_counts import likelihood_steps
from spectral_spark.refine.word_topics import SweepKernel, WordBlock
from spectral_spark.tree.group_balance import WEIGHT_STEPS

SAMPLE_DOCUMENTS = BLOCK_DOCUMENTS
SAMPLE_ENTRIES = 1 << 18
PROBE_SECONDS = 0.4
FREED_BYTES = 31 << 20         # the C library adapts to freed arrays of less than 32 MiB
SWEPT_WORDS = 1 << 18
SWEPT_CELLS = 1 << 21
SETTLING_SWEEPS = 4
CELL_PASSES = 1.5              # what a sweep does with words by topics takes half as long again as their likelihoods


@dataclass(frozen=True)
class CorpusSize:
    """What a forecast needs to know of a corpus."""

    documents: int
    tokens: int
    vocab_size: int
    nodes: int = 1

    @property
    def words_per_document(self) -> float:
        return self.tokens / max(self.documents, 1)

    @property
    def distinct_words(self) -> float:
        """Distinct words of a document: text repeats about a quarter of its words, and no word is counted twice."""
        return max(1.0, min(0.75 * self.words_per_document, float(self.vocab_size)))


@dataclass(frozen=True)
class KernelCosts:
    """Seconds per document on one core of this machine, unless said otherwise."""

    range: float
    moments: float
    refine: float
    sweep: float = 5e-8          # of sampling, per word
    sweep_cell: float = 5e-9     # and per word of the vocabulary and topic


def measure_kernels(size: CorpusSize, settings: FitSettings) -> KernelCosts:
    """Run the kernels over made-up documents of the corpus's mean length, for about a second in all."""
    d, p = size.vocab_size, settings.basis_columns(size.vocab_size)
    np.ones(min(d * p, FREED_BYTES // 8))   # as in a fit: once so much was freed, a call's memory is kept for the next
    k = p // 2 if settings.k == "auto" else int(settings.k)
    batch = _documents(size)
    rng = np.random.default_rng(0)
    basis, factor, third = rng.standard_normal((d, p)), np.ones(1), settings.collects_third(p, size.tokens)
    level = np.minimum(np.arange(max(size.nodes, 1)), 1.0)
    at_nodes = replace(batch, nodes=(np.arange(batch.n_documents) % len(level)).astype(np.int32))
    topics = rng.dirichlet(np.full(d, 0.1), k).T
    refine = RefineSettings()
    tokens = float(size.tokens)
    with threadpool_limits(1):
        return KernelCosts(
            _seconds_per_document(RangeKernel(d, settings.cap), {"probe": basis, "factor": factor}, batch),
            _seconds_per_document(
                MomentKernel(d, settings.cap, levels=2 if third or p <= PAIR_COLUMNS else 0, third=third),
                {"basis": basis, "factor": np.ones(len(level)), "level": level}, at_nodes,
            ),
            _seconds_per_document(
                RefineKernel(refine.batch_size, refine.inner_iterations),
                {"statistics": topics * tokens / k, "node_prior": np.full((1, k), 1.0 / k),
                 "concentration": np.ones(1), "node_weight": np.ones(1), "rate": np.array([0.1]),
                 "documents": np.array([float(batch.n_documents)])}, batch,
            ),
            *_seconds_of_a_sweep(size, k),
        )


def _documents(size: CorpusSize) -> CountBatch:
    """Made-up documents like those of the corpus, fewer where they are long: at most ``SAMPLE_ENTRIES`` words."""
    rng = np.random.default_rng(0)
    distinct = min(size.distinct_words, SAMPLE_ENTRIES)
    n = int(np.clip(SAMPLE_ENTRIES / distinct, 1, SAMPLE_DOCUMENTS))
    lengths = np.maximum(3, rng.poisson(distinct, n))
    frequency = 1.0 / (np.arange(size.vocab_size) + 10.0)
    terms = rng.choice(size.vocab_size, int(lengths.sum()), p=frequency / frequency.sum()).astype(np.int32)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    counts = rng.integers(1, 3, len(terms)).astype(float)
    return CountBatch(starts, terms, counts, np.zeros(n, np.int32), np.arange(n), size.vocab_size)


def _seconds_per_document(kernel: Kernel, shared: dict[str, np.ndarray], batch: CountBatch) -> float:
    accumulator = kernel.start(shared)
    return _repeated(lambda: accumulator.add(batch)) / batch.n_documents


def _seconds_of_a_sweep(size: CorpusSize, k: int) -> tuple[float, float]:
    """Of one word, and of one cell of words by topics; the documents have a few topics each, as real ones do.

    The draws alone are timed: what lies between two sweeps would be most of those over so few words.
    """
    sample, topics = _themed_documents(size, k)
    settings = GibbsSettings()
    block = WordBlock(
        sample.indptr, sample.words, sample.nodes, np.arange(sample.documents, dtype=np.uint64),
        np.zeros(len(sample.words), np.int32),
    )
    shared = {
        "likelihood": likelihood_steps(topics * (len(sample.words) / k), settings.smoothing),
        "prior": np.full((1, k), max(1, int(settings.last_total * PRIOR_STEPS / k)), np.int64),
        "weights": np.full(1, WEIGHT_STEPS, np.int64), "seed": np.zeros(1, np.uint64), "cold": np.ones(1, bool),
    }
    block = SweepKernel().start(shared).add(block)
    sums = SweepKernel().start({**shared, "cold": np.zeros(1, bool)})
    for _ in range(SETTLING_SWEEPS):
        block = sums.add(block)
    counts = np.ones((min(size.vocab_size, SWEPT_CELLS // k + 1), k), np.uint32)
    likelihood = _repeated(lambda: likelihood_steps(counts, settings.smoothing)) / counts.size
    return _repeated(lambda: sums.add(block)) / len(sample.words), CELL_PASSES * likelihood


def _themed_documents(size: CorpusSize, k: int) -> tuple[DocumentSample, np.ndarray]:
    """Made-up documents of up to three topics each, and these topics, of shape (d, k)."""
    rng, d = np.random.default_rng(0), size.vocab_size
    length = min(size.words_per_document, float(SWEPT_WORDS))
    lengths = np.maximum(3, rng.poisson(length, int(np.clip(size.documents, 1, SWEPT_WORDS / length))))
    topics = rng.gamma(0.05, size=(k, d)) + 1e-9
    topics /= topics.sum(axis=1, keepdims=True)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    drawn = rng.integers(0, k, (len(lengths), 3))[owner, rng.integers(0, 3, len(owner))]
    words = np.empty(len(owner), np.int32)
    for topic in np.unique(drawn):
        mine = np.flatnonzero(drawn == topic)
        words[mine] = np.minimum(np.searchsorted(np.cumsum(topics[topic]), rng.random(len(mine))), d - 1)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return DocumentSample(indptr, words, np.zeros(len(lengths), np.int32)), topics.T


def _repeated(call: Callable[[], object]) -> float:
    """Seconds of one call on a processor of its own: what other programs take of it does not count."""
    call()                              # the first call compiles and touches memory
    best, end = np.inf, time.perf_counter() + PROBE_SECONDS
    while np.isinf(best) or time.perf_counter() < end:
        at = time.thread_time()
        call()
        best = min(best, time.thread_time() - at)
    return float(best)
