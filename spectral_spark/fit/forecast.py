"""How long a fit will take and what it will need, from the size of the corpus.

The cost of a document in each pass is measured on this machine: the kernels themselves run over made-up documents of
the same length. What Spark adds (moving documents to Python, jobs, broadcasts and partial sums) comes from constants
measured with ``benchmarks/capacity.py``.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.kernel import Kernel
from spectral_spark.engine.choose_corpus import DRIVER_ENTRIES, driver_holds
from spectral_spark.engine.memory import MemoryNeed, memory_need
from spectral_spark.engine.packing import shard_count, task_count
from spectral_spark.fit.fit_settings import AUTO_BASIS, SAMPLE_WORDS, FitSettings
from spectral_spark.fit.third_step import SAMPLED_ITERATIONS, third_words
from spectral_spark.moments.moment_kernel import MomentKernel
from spectral_spark.moments.range_finder import RangeKernel
from spectral_spark.refine.em_kernel import RefineKernel
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler, GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState

SAMPLE_DOCUMENTS = 512
SAMPLE_ENTRIES = 1 << 18
PROBE_SECONDS = 0.4


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


@dataclass(frozen=True)
class SparkRates:
    """What Spark costs beside the kernels; seconds, or bytes per second, on one core.

    Attributes
    ----------
    job : one Spark job, from its start to its end, with nothing to do.
    read_entry : reading and hashing one (word, count) entry of a document on the JVM.
    pack_entry, pack_document : sorting, moving to Python and packing an entry, a document.
    fetch_entry : the same for an entry that the driver fetches and packs.
    scan_byte : moving a packed byte from the cache to a Python worker.
    ship_byte : a byte of a partial sum from a worker to the driver; broadcast_byte : a byte to an executor.
    further_thread : what each thread of the driver beyond the first adds to its speed.
    solve : seconds of the driver's solve of a tensor of up to 100 topics; beyond, they grow with the fourth power of k.
    contract_entry : of `implicit`, for an entry of the sample and one vector; multiply : for a multiplication in BLAS.
    """

    job: float = 0.3
    read_entry: float = 6e-8
    pack_entry: float = 4.5e-7
    pack_document: float = 6e-6
    fetch_entry: float = 3.5e-7
    scan_byte: float = 3e-9
    ship_byte: float = 8e-9
    broadcast_byte: float = 6e-9
    further_thread: float = 0.3
    solve: float = 0.3
    contract_entry: float = 1.7e-9
    multiply: float = 5e-11


@dataclass(frozen=True)
class PassForecast:
    """One step of a fit: its seconds and what most of them go into."""

    name: str
    seconds: float
    bottleneck: str


@dataclass(frozen=True)
class Forecast:
    """The whole fit."""

    passes: tuple[PassForecast, ...]
    memory: MemoryNeed
    cores: int
    notes: tuple[str, ...] = field(default=())

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.passes)

    @property
    def bottleneck(self) -> str:
        """What most of the time goes into."""
        total: dict[str, float] = {}
        for step in self.passes:
            total[step.bottleneck] = total.get(step.bottleneck, 0.0) + step.seconds
        return max(total, key=lambda name: total[name])


@dataclass(frozen=True)
class KernelCosts:
    """Seconds per document on one core of this machine."""

    range: float
    moments: float
    refine: float
    sweep: float = 5e-8          # per word, of sampling


def measure_kernels(size: CorpusSize, settings: FitSettings) -> KernelCosts:
    """Run the kernels over made-up documents of the corpus's mean length, for about a second in all."""
    d, p = size.vocab_size, settings.basis_columns(size.vocab_size)
    k = p // 2 if settings.k == "auto" else int(settings.k)
    batch = _documents(size)
    rng = np.random.default_rng(0)
    basis, factor = rng.standard_normal((d, p)), np.ones(1)
    topics = rng.dirichlet(np.full(d, 0.1), k).T
    refine = RefineSettings()
    tokens = float(size.tokens)
    with threadpool_limits(1):
        return KernelCosts(
            _seconds_per_document(RangeKernel(d, settings.cap), {"probe": basis, "factor": factor}, batch),
            _seconds_per_document(
                MomentKernel(d, settings.cap, third=settings.collects_third(p, size.tokens)),
                {"basis": basis, "factor": factor}, batch,
            ),
            _seconds_per_document(
                RefineKernel(refine.batch_size, refine.inner_iterations),
                {"statistics": topics * tokens / k, "node_prior": np.full((1, k), 1.0 / k),
                 "concentration": np.ones(1), "node_weight": np.ones(1), "rate": np.array([0.1]),
                 "documents": np.array([float(batch.n_documents)])}, batch,
            ),
            _seconds_per_word(topics, batch),
        )


def forecast(
    size: CorpusSize, settings: FitSettings, cores: int, *, executors: int = 1, costs: KernelCosts | None = None,
    rates: SparkRates | None = None, driver_entries: int = DRIVER_ENTRIES,
) -> Forecast:
    """Seconds of every pass and memory of a fit on ``cores`` cores in ``executors`` executors.

    ``driver_entries`` is the Spark setting ``spark.spectral.driverEntries``, which decides where the fit runs.
    """
    costs, rates = costs or measure_kernels(size, settings), rates or SparkRates()
    d, p = size.vocab_size, settings.basis_columns(size.vocab_size)
    k = min(p // 2, AUTO_BASIS // 2) if settings.k == "auto" else int(settings.k)
    n, entries = size.documents, size.documents * _distinct(size)
    tasks = task_count(shard_count(n), cores)
    threads = 1.0 + rates.further_thread * (max(cores // executors, 1) - 1)         # of the driver's machine
    on_driver = driver_holds(driver_entries, entries, d)
    scan = entries * 4 + n * 20

    def one_pass(name: str, per_document: float, state: int, shared: int, share: float = 1.0) -> PassForecast:
        if on_driver:
            return PassForecast(name, share * n * per_document / threads, "kernel")
        parts = {
            "kernel": share * n * per_document / cores,
            "moving documents": share * scan * rates.scan_byte / cores,
            "shipping partial sums": rates.ship_byte * state * tasks / min(cores, executors * 4),
            "broadcast": rates.broadcast_byte * shared * (1 + np.log2(max(executors, 1))),
            "starting jobs": rates.job,
        }
        return PassForecast(name, float(sum(parts.values())), max(parts, key=lambda part: parts[part]))

    packing = rates.job + entries * rates.fetch_entry if on_driver else (
        3 * rates.job + (entries * rates.pack_entry + n * rates.pack_document) / cores
    )
    words, third = 8 * d * p, settings.collects_third(p, size.tokens)
    sampled = min(1.0, third_words(p) / max(size.tokens, 1))          # share of the words that stand for third moments
    solve = rates.solve * max(1.0, (k / 100) ** 4)
    if not third:
        solve = SAMPLED_ITERATIONS / 3 * (              # it settles long before the last one
            rates.contract_entry * sampled * entries * k + rates.multiply * (2 * d * k * k + 10 * k**3)
        ) / threads
    steps = [
        PassForecast("inspect", rates.job + entries * rates.read_entry / cores, "reading"),
        PassForecast("pack", packing, "packing"),
        *(one_pass(f"range {i + 1}", costs.range, words, words) if third else
          PassForecast(f"range {i + 1}", sampled * n * costs.range / threads, "kernel")
          for i in range(settings.range_passes_at_most(p, size.tokens))),
        *((one_pass("rank", 2 * costs.range, words, words),) if settings.grows_basis else ()),
        one_pass("moments", costs.moments, words + 8 * p**3 // 6 if third else 4 * p * p + 24 * d, words),
        PassForecast("solve", solve * (4 if settings.scores_candidates else 1), "solver"),
    ]
    sample = min(1.0, 4096 / max(n, 1))
    if settings.scores_candidates:
        steps.append(one_pass("choose", 12 * costs.refine, 0, 4 * 8 * d * k, sample / 2))
    if settings.explores:
        searched, everywhere = settings.search_words(k, size.tokens), settings.samples_all(size.tokens)
        draws = GibbsSettings(settings.sweeps(size.tokens), only_search=everywhere).draws(k, searched)
        sample_entries = entries * searched / max(size.tokens, 1)
        fetching = 0.0 if on_driver else rates.job + sample_entries * rates.read_entry
        sweeping = draws * costs.sweep / threads
        steps.append(PassForecast("sampling", fetching + sweeping, "sampling"))
        if everywhere and on_driver:
            drawing = settings.corpus_sweeps(size.tokens) * size.tokens * costs.sweep / threads
            steps.append(PassForecast("sampling all", drawing, "sampling"))
        elif everywhere:
            steps.append(_corpus_sweeps(size, settings.corpus_sweeps(size.tokens), k, cores, executors, costs, rates))
    rounds = RefineSettings.for_corpus(1, n / shard_count(n), explored=settings.explores).rounds
    for number in range(settings.passes(size.tokens)):
        for turn in range(rounds):
            steps.append(one_pass(f"refine {number + 1}.{turn + 1}", costs.refine, 8 * d * k, 8 * d * k, 1 / rounds))
    for _ in range(settings.settling(size.tokens)):
        steps.append(one_pass("settle", costs.refine, 8 * d * k, 8 * d * k))
    steps.append(one_pass("check", 3 * costs.refine, 0, 8 * d * (k + 8), sample))
    return Forecast(tuple(steps), memory_need(d, p, k, size.nodes, third=third), cores)


def _corpus_sweeps(
    size: CorpusSize, sweeps: int, k: int, cores: int, executors: int, costs: KernelCosts, rates: SparkRates
) -> PassForecast:
    """Sweeps over all words on executors: each takes every word and its topic to Python and back."""
    words, cells = size.tokens, size.vocab_size * k
    tasks = task_count(shard_count(size.documents), cores)
    parts = {
        "sampling": words * costs.sweep / cores,
        "moving documents": 2 * (words * 3 + size.documents * 16) * rates.scan_byte / cores,
        "shipping partial sums": rates.ship_byte * 3 * min(cells * tasks, words) / min(cores, executors * 4),
        "broadcast": rates.broadcast_byte * 2 * cells * (1 + np.log2(max(executors, 1))),
        "starting jobs": 2 * rates.job,
    }
    return PassForecast("sampling all", sweeps * float(sum(parts.values())), max(parts, key=lambda part: parts[part]))


def _distinct(size: CorpusSize) -> float:
    """Distinct words of a document: text repeats about a quarter of its words, and no word is counted twice."""
    return max(1.0, min(0.75 * size.words_per_document, float(size.vocab_size)))


def _documents(size: CorpusSize) -> CountBatch:
    """Made-up documents like those of the corpus, fewer where they are long: at most ``SAMPLE_ENTRIES`` words."""
    rng = np.random.default_rng(0)
    distinct = min(_distinct(size), SAMPLE_ENTRIES)
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


def _seconds_per_word(topics: np.ndarray, batch: CountBatch) -> float:
    state = RefineState.start(
        topics, np.full(topics.shape[1], 1.0 / topics.shape[1]), np.array([-1]), np.zeros(1, int),
        float(batch.counts.sum()), float(batch.n_documents),
    )
    sample = DocumentSample.from_batches([batch], SAMPLE_WORDS)
    explorer = GibbsSampler(state, sample, GibbsSettings(surplus=0.0), RefineSettings())
    explorer.sweep()
    return _repeated(explorer.sweep) / max(len(sample.words), 1)


def _repeated(call: Callable[[], object]) -> float:
    call()                              # the first call compiles and touches memory
    best, end = np.inf, time.perf_counter() + PROBE_SECONDS
    while time.perf_counter() < end:
        at = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - at)
    return float(best)
