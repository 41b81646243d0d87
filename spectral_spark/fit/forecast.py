"""How long a fit will take and what it will need, from the size of the corpus.

The cost of a document in each pass is measured on this machine (``kernel_speed.py``). What Spark adds (moving documents
to Python, jobs, broadcasts and partial sums) comes from constants measured with ``benchmarks/capacity.py`` and
``benchmarks/growth.py``.
"""

from dataclasses import dataclass, field

import numpy as np

from spectral_spark.engine.choose_corpus import DRIVER_ENTRIES, driver_holds
from spectral_spark.engine.memory import MemoryNeed, memory_need
from spectral_spark.engine.packing import shard_count, task_count
from spectral_spark.fit.fit_settings import AUTO_BASIS, FitSettings
from spectral_spark.fit.kernel_speed import CorpusSize, KernelCosts, distinct_words, measure_kernels
from spectral_spark.fit.third_step import SAMPLED_ITERATIONS, third_words
from spectral_spark.refine.gibbs import GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings


@dataclass(frozen=True)
class SparkRates:
    """What Spark costs beside the kernels; seconds, or bytes per second, on one core.

    Attributes
    ----------
    warm_up : what the first fit of a session takes longer: compiling, importing, starting Python workers.
    job : one Spark job, from its start to its end, with nothing to do.
    read_entry : reading and hashing one (word, count) entry of a document on the JVM.
    pack_entry, pack_document : sorting, moving to Python and packing an entry, a document.
    fetch_entry, fetch_document : the same where the driver fetches and packs them.
    scan_byte : moving a packed byte from the cache to a Python worker.
    ship_byte : a byte of a partial sum from a worker to the driver; broadcast_byte : a byte to an executor.
    further_thread, further_sampler : what each thread of the driver beyond the first adds to its speed; in sampling.
    group_moments : what the moments of the groups of a tree add to a pass over third moments, as a share.
    solve : seconds of the driver's solve of a tensor of up to 100 topics; beyond, they grow with the fourth power of k.
    contract_entry : of `implicit`, for an entry of the sample and one vector; multiply : for a multiplication in BLAS.
    dense : for a multiplication in the tall matrices of the basis.
    """

    warm_up: float = 8.0
    job: float = 0.3
    read_entry: float = 6e-8
    pack_entry: float = 4.5e-7
    pack_document: float = 3.2e-5
    fetch_entry: float = 3.5e-7
    fetch_document: float = 2.4e-5
    scan_byte: float = 3e-9
    ship_byte: float = 8e-9
    broadcast_byte: float = 6e-9
    further_thread: float = 0.3
    further_sampler: float = 0.7
    group_moments: float = 0.6
    solve: float = 0.3
    contract_entry: float = 1.7e-9
    multiply: float = 5e-11
    dense: float = 1e-10


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
    n, entries = size.documents, size.documents * distinct_words(size)
    tasks = task_count(shard_count(n), cores)
    further = max(cores // executors, 1) - 1                                        # threads of the driver's machine
    threads, samplers = 1.0 + rates.further_thread * further, 1.0 + rates.further_sampler * further
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

    packing = rates.job + entries * rates.fetch_entry + n * rates.fetch_document if on_driver else (
        3 * rates.job + (entries * rates.pack_entry + n * rates.pack_document) / cores
    )
    words, third = 8 * d * p, settings.collects_third(p, size.tokens)
    sampled = min(1.0, third_words(p) / max(size.tokens, 1))          # share of the words that stand for third moments
    range_passes = settings.range_passes_at_most(p, size.tokens)
    algebra = rates.dense * d * p * p * (2 * range_passes + 2 * range_passes * (range_passes - 1))
    per_document = costs.moments * (1.0 + rates.group_moments * (third and size.nodes > 1))
    solve = rates.solve * max(1.0, (k / 100) ** 4) + third * rates.dense * d * p**3 / 2
    if not third:
        solve = SAMPLED_ITERATIONS / 4 * (              # it settles long before the last one
            rates.contract_entry * sampled * entries * k + rates.multiply * (2 * d * k * k + 10 * k**3)
        ) / threads
    steps = [
        PassForecast("warm-up", rates.warm_up, "warming up"),
        PassForecast("inspect", rates.job + entries * rates.read_entry / cores, "reading"),
        PassForecast("pack", packing, "packing"),
        *(one_pass(f"range {i + 1}", costs.range, words, words) if third else
          PassForecast(f"range {i + 1}", sampled * n * costs.range / threads, "kernel")
          for i in range(range_passes)),
        PassForecast("basis", algebra, "algebra of the basis"),
        *((one_pass("rank", 2 * costs.range, words, words),) if settings.grows_basis else ()),
        one_pass("moments", per_document, words + 8 * p**3 // 6 if third else 4 * p * p + 24 * d, words),
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
        sweeping = (draws * costs.sweep + settings.sweeps(size.tokens) * d * k * costs.sweep_cell) / samplers
        steps.append(PassForecast("sampling", fetching + sweeping, "sampling"))
        if everywhere and on_driver:
            drawing = settings.corpus_sweeps(size.tokens) * size.tokens * costs.sweep / samplers
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
