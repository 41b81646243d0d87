"""How long a fit will take and what it will need, from the size of the corpus.

The cost of a document in each pass is measured on this machine (``fit.kernel_costs``). What Spark adds (moving
documents to Python, jobs, broadcasts and partial sums) comes from constants measured with ``benchmarks/capacity.py``
and ``benchmarks/growth.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spectral_spark.engine.choose_corpus import DRIVER_ENTRIES, DRIVER_WORDS, driver_copies, driver_holds, local_entries
from spectral_spark.engine.memory import MemoryNeed, held_bytes, memory_need
from spectral_spark.engine.pack_counts import BLOCK_DOCUMENTS
from spectral_spark.engine.packing import shard_count, task_count
from spectral_spark.fit.fit_settings import AUTO_BASIS, FitSettings
from spectral_spark.fit.kernel_costs import CorpusSize, KernelCosts, measure_kernels
from spectral_spark.fit.third_step import SAMPLED_ITERATIONS, third_words
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings

__all__ = ["CorpusSize", "Forecast", "KernelCosts", "PassForecast", "SparkRates", "forecast", "measure_kernels"]

CHECKED_DOCUMENTS = 4096     # of the sample that candidates and finished topics are tried on


@dataclass(frozen=True)
class SparkRates:
    """What Spark costs beside the kernels; seconds, or bytes per second, on one core.

    Attributes
    ----------
    warm_up, worker_warm_up : what the first fit of a session takes longer, compiling and importing; and what the start
        of Python workers adds.
    job : one Spark job, from its start to its end, with nothing to do.
    read_entry : reading and hashing one (word, count) entry of a document on the JVM.
    pack_entry, pack_document : sorting, moving to Python and packing an entry, a document.
    fetch_entry, fetch_document : the same where the driver fetches and packs them.
    scan_byte : moving a packed byte from the cache to a Python worker.
    ship_byte : a byte of a partial sum from a worker to the driver; broadcast_byte : a byte to an executor.
    between_sweeps : learning the tree from a sweep, and starting the threads of the next one.
    compared : a count of two surplus topics that are compared, before the most similar ones are merged.
    listed_word : a word on its way from the packed documents into the list that the driver sweeps.
    swept_word : moving a word and its topic to Python and back, in every sweep over all words.
    state_byte : making, filling and adding a byte of the sums of one shard.
    kept_word, scan_document : a word of the sample that stays with the model, and finding it among so many documents;
    held_word : the same of documents that the driver holds.
    further_thread, further_sampler : what each thread of the driver beyond the first adds to its speed; in sampling.
    group_moments : what the moments of the groups of a tree add to a pass over third moments, as a share.
    solve : seconds of the driver's solve of a tensor of up to 100 topics; beyond, they grow with the fourth power of k.
    contract_entry : of `implicit`, for an entry of the sample and one vector; multiply : for a multiplication in BLAS.
    dense : for a multiplication in the tall matrices of the basis.
    """

    warm_up: float = 4.0
    worker_warm_up: float = 5.0
    job: float = 0.3
    read_entry: float = 1.2e-7
    pack_entry: float = 4.5e-7
    pack_document: float = 2.8e-5
    fetch_entry: float = 2.5e-7
    fetch_document: float = 3.5e-6
    scan_byte: float = 3e-9
    ship_byte: float = 8e-9
    broadcast_byte: float = 6e-9
    between_sweeps: float = 1e-2
    compared: float = 2.5e-9
    listed_word: float = 5e-8
    swept_word: float = 8e-8
    state_byte: float = 1e-9
    kept_word: float = 2.5e-6
    held_word: float = 3e-7
    scan_document: float = 5e-7
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
    rates: SparkRates | None = None, driver_entries: int = DRIVER_ENTRIES, local: bool | None = None,
) -> Forecast:
    """Seconds of every pass and memory of a fit on ``cores`` cores in ``executors`` executors.

    ``driver_entries`` is the Spark setting ``spark.spectral.driverEntries``, which decides where the fit runs, and
    ``local`` tells whether the executor is the driver itself, as in ``local[*]``; by default, a single one is.
    """
    costs, rates = costs or measure_kernels(size, settings), rates or SparkRates()
    entries, local = size.documents * size.distinct_words, executors == 1 if local is None else local
    most = local_entries(driver_entries, cores) if local else driver_entries
    on_driver = driver_holds(most, entries, size.vocab_size)
    sweeps_here = on_driver or driver_copies(driver_entries, entries, local=local)
    small_rounds = driver_entries if sweeps_here and size.vocab_size <= DRIVER_WORDS else 0
    machine = _Machine(size, cores, executors, rates, on_driver, sweeps_here, small_rounds)
    fit = _PlannedFit(size, settings, machine, costs)
    passes = (*fit.spectral(), *fit.sampling(), *fit.refining())
    swept = sweeps_here and settings.samples_all(size.tokens)
    held = held_bytes(size.documents, size.tokens if swept else settings.search_words(fit.k, size.tokens))
    need = memory_need(size.vocab_size, fit.columns, fit.k, size.nodes, third=fit.third, held=held)
    return Forecast(passes, need, cores)


@dataclass(frozen=True)
class _Machine:
    """Where a corpus is worked on, and what a pass over it takes there.

    Attributes
    ----------
    on_driver : the driver works on all of it alone.
    sweeps_here : the driver sweeps its words.
    small_rounds : entries of the largest round of a pass that the driver sums.
    """

    size: CorpusSize
    cores: int
    executors: int
    rates: SparkRates
    on_driver: bool
    sweeps_here: bool
    small_rounds: int

    @property
    def threads(self) -> float:
        """The speed of the driver's threads, in units of one."""
        return 1.0 + self.rates.further_thread * (max(self.cores // self.executors, 1) - 1)

    @property
    def samplers(self) -> float:
        """The same in sampling, which shares less between threads."""
        return 1.0 + self.rates.further_sampler * (max(self.cores // self.executors, 1) - 1)

    @property
    def entries(self) -> float:
        """(word, count) entries of all documents."""
        return self.size.documents * self.size.distinct_words

    def one_pass(self, name: str, per_document: float, state: int, shared: int, share: float = 1.0) -> PassForecast:
        """A pass over a share of the documents, with so many bytes of partial sums and of broadcasts."""
        n, cores, rates = self.size.documents, self.cores, self.rates
        adding = rates.state_byte * state * shard_count(n)
        if self.on_driver or (share < 1.0 and share * self.entries <= self.small_rounds):
            return PassForecast(name, share * n * per_document / self.threads + adding, "kernel")
        return _slowest(name, {
            "kernel": share * n * per_document / cores,
            "moving documents": share * (self.entries * 4 + n * 20) * rates.scan_byte / cores,
            "shipping partial sums": self._shipping(state * task_count(shard_count(n), cores)) + adding / cores,
            "broadcast": self._broadcast(shared),
            "starting jobs": rates.job,
        })

    def packing(self) -> PassForecast:
        rates = self.rates
        documents = self.size.documents
        seconds = rates.job + self.entries * rates.fetch_entry + documents * rates.fetch_document
        if not self.on_driver:
            packing = self.entries * rates.pack_entry + documents * rates.pack_document
            seconds = 3 * rates.job + packing / self.cores
        return PassForecast("pack", seconds, "packing")

    def sampled(self, words: float) -> PassForecast:
        """Fetching a sample of so many words, which takes the place of third moments and stays with the model."""
        taken = min(words, self.size.tokens)
        seconds = self.rates.held_word * taken
        if not self.on_driver:
            seconds = self.rates.kept_word * taken + self.rates.job + self.rates.scan_document * self.size.documents
        return PassForecast("sample", seconds, "reading")

    def sweeps(self, sweeps: int, k: int, costs: KernelCosts) -> PassForecast:
        """Sweeps over all words; on executors, each takes every word and its topic to Python and back."""
        words, cells, rates, cores = self.size.tokens, self.size.vocab_size * k, self.rates, self.cores
        if self.sweeps_here:
            drawing = sweeps * (words * costs.sweep + cells * costs.sweep_cell)
            return PassForecast("sampling all", rates.listed_word * words + drawing / self.samplers, "sampling")
        one = _slowest("sampling all", {
            "sampling": words * costs.sweep / cores,
            "moving documents": words * rates.swept_word / cores,
            "shipping partial sums": self._shipping(
                3 * min(cells * task_count(shard_count(self.size.documents), cores), words)
            ),
            "broadcast": self._broadcast(2 * cells),
            "starting jobs": 2 * rates.job,
        })
        return PassForecast(one.name, sweeps * one.seconds, one.bottleneck)

    def _shipping(self, size: float) -> float:
        return self.rates.ship_byte * size / min(self.cores, self.executors * 4)

    def _broadcast(self, size: float) -> float:
        return self.rates.broadcast_byte * size * float(1 + np.log2(max(self.executors, 1)))


@dataclass(frozen=True)
class _PlannedFit:
    """The steps of a fit in their order."""

    size: CorpusSize
    settings: FitSettings
    machine: _Machine
    costs: KernelCosts

    @property
    def columns(self) -> int:
        """Columns p of the basis."""
        return self.settings.basis_columns(self.size.vocab_size)

    @property
    def k(self) -> int:
        return min(self.columns // 2, AUTO_BASIS // 2) if self.settings.k == "auto" else int(self.settings.k)

    @property
    def third(self) -> bool:
        """Whether third moments of all documents are collected."""
        return self.settings.collects_third(self.columns, self.size.tokens)

    @property
    def _sampled(self) -> float:
        """The share of the words that stands for third moments which are not collected."""
        return min(1.0, third_words(self.columns) / max(self.size.tokens, 1))

    @property
    def _checked(self) -> float:
        """The share of the documents that candidates and finished topics are tried on: a block of each shard at least.
        """
        n = self.size.documents
        return min(1.0, max(CHECKED_DOCUMENTS, BLOCK_DOCUMENTS * shard_count(n)) / max(n, 1))

    def spectral(self) -> Iterator[PassForecast]:
        """From the documents to the solved topics."""
        machine, costs, rates, settings = self.machine, self.costs, self.machine.rates, self.settings
        d, p = self.size.vocab_size, self.columns
        words = 8 * d * p
        workers = 0.0 if machine.on_driver else rates.worker_warm_up
        yield PassForecast("warm-up", rates.warm_up + workers, "warming up")
        yield PassForecast("inspect", rates.job + machine.entries * rates.read_entry / machine.cores, "reading")
        yield machine.packing()
        if not self.third:
            yield machine.sampled(third_words(p))
        passes = settings.range_passes_at_most(p, self.size.tokens if self.third else third_words(p))
        for number in range(1, passes + 1):
            yield machine.one_pass(f"range {number}", costs.range, words, words) if self.third else PassForecast(
                f"range {number}", self._sampled * self.size.documents * costs.range / machine.threads, "kernel"
            )
        yield PassForecast("basis", 1.5 * passes**2 * rates.dense * d * p * p, "algebra of the basis")
        if settings.grows_basis:
            yield machine.one_pass("rank", 2 * costs.range, words, words)
        state = words + 8 * p**3 // 6 if self.third else 4 * p * p + 24 * d
        groups = 1.0 + rates.group_moments * (self.third and self.size.nodes > 1)
        yield machine.one_pass("moments", groups * costs.moments, state, words)
        yield PassForecast("solve", self._solving() * (4 if settings.scores_candidates else 1), "solver")
        if settings.scores_candidates:
            yield machine.one_pass("choose", 12 * costs.refine, 0, 4 * 8 * d * self.k, self._checked / 2)

    def _solving(self) -> float:
        """Seconds of one solution."""
        rates, d, k = self.machine.rates, self.size.vocab_size, self.k
        if self.third:
            return rates.solve * max(1.0, (k / 100) ** 4) + rates.dense * d * self.columns**3 / 2
        product = rates.contract_entry * self._sampled * self.machine.entries * k
        product += rates.multiply * (2 * d * k * k + 10 * k**3)
        return SAMPLED_ITERATIONS / 4 * product / self.machine.threads      # it settles long before the last one

    def sampling(self) -> Iterator[PassForecast]:
        """Gibbs sampling: in a sample and, of large corpora, in all documents."""
        settings, machine, tokens, k = self.settings, self.machine, self.size.tokens, self.k
        if not settings.explores:
            return
        searched, everywhere = settings.search_words(k, tokens), settings.samples_all(tokens)
        planned = GibbsSettings(settings.sweeps(tokens), only_search=everywhere)
        draws = planned.draws(k, searched)
        entries = machine.entries * searched / max(tokens, 1)
        fetching = 0.0 if machine.on_driver else machine.rates.job + entries * machine.rates.read_entry
        cells = planned.topic_sweeps(k, searched) * self.size.vocab_size
        drawing = draws * self.costs.sweep + cells * self.costs.sweep_cell
        between = machine.rates.between_sweeps * planned.sweeps
        wide = max(planned.columns(k, searched).values())
        comparing = machine.rates.compared * self.size.vocab_size * (wide**2 / 2 + (wide - k) * wide) * (wide > k)
        yield PassForecast("sampling", fetching + between + (drawing + comparing) / machine.samplers, "sampling")
        if everywhere:
            yield machine.sweeps(settings.corpus_sweeps(tokens), k, self.costs)

    def refining(self) -> Iterator[PassForecast]:
        """Passes of EM, and the check at the end."""
        settings, machine, tokens, n = self.settings, self.machine, self.size.tokens, self.size.documents
        topics = 8 * self.size.vocab_size * self.k
        rounds = RefineSettings.for_corpus(1, n / shard_count(n), explored=settings.explores).rounds
        for number in range(1, settings.passes(tokens) + 1):
            for turn in range(1, rounds + 1):
                yield machine.one_pass(f"refine {number}.{turn}", self.costs.refine, topics, topics, 1 / rounds)
        for _ in range(settings.settling(tokens)):
            yield machine.one_pass("settle", self.costs.refine, topics, topics)
        checked = 8 * self.size.vocab_size * (self.k + 8)
        yield machine.one_pass("check", 3 * self.costs.refine, 0, checked, self._checked)


def _slowest(name: str, parts: dict[str, float]) -> PassForecast:
    """A pass that consists of these parts, in seconds."""
    return PassForecast(name, float(sum(parts.values())), max(parts, key=lambda part: parts[part]))
