"""Gibbs sampling on a sample of the documents, before the passes of EM (formulas §11).

EM converges to the local optimum nearest to its start, and on real text there are many poor ones. In Gibbs sampling
every word holds one topic, which is drawn again in every sweep, given the topics of the other words of its document and
the topic-word counts of the previous sweep. Random draws leave poor optima that expected counts would not.

If there are enough words, the search uses half of the documents and 1.5 k topics, then merges the most similar ones.
The remaining sweeps draw the topics of all documents, starting from the topics found.

Topic-word counts are fixed during a sweep, so documents are independent of each other, and all sums are whole numbers:
the result is the same, bit for bit, with any number of threads, compiled or not.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.backend import load_backend
from spectral_spark.refine.cut_tree import cut_tree
from spectral_spark.refine.fixed_point import FIXED_POINT, PRIOR_STEPS
from spectral_spark.refine.gibbs_settings import SEARCH, SEARCHED, GibbsSettings
from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState
from spectral_spark.refine.topic_counts import (
    by_blocks,
    count_type,
    in_threads,
    in_words,
    likelihood_steps,
    thread_number,
)
from spectral_spark.refine.topic_merging import merge_labels, merged, split_heaviest
from spectral_spark.tree.group_balance import WEIGHT_STEPS

LONGEST = 1 << 13            # words: longer documents are left to EM


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """Documents as lists of words.

    Attributes
    ----------
    indptr : int64 array of shape (n + 1,), where the words of each document begin.
    words : int32 array of shape (tokens,), word ids.
    nodes : int32 array of shape (n,), the tree node of each document.
    """

    indptr: np.ndarray
    words: np.ndarray
    nodes: np.ndarray

    @classmethod
    def from_batches(cls, batches: Iterable[CountBatch], most_words: int) -> "DocumentSample":
        """The first documents with ``most_words`` words in total, without empty and very long ones."""
        words, lengths, nodes, room = [], [], [], most_words
        for batch in batches:
            usable = (batch.lengths > 0) & (batch.lengths <= LONGEST)
            usable &= np.cumsum(np.where(usable, batch.lengths, 0)) <= room
            entries = np.repeat(usable, np.diff(batch.indptr))
            words.append(np.repeat(batch.terms[entries], batch.counts[entries].astype(np.int64)).astype(np.int32))
            lengths.append(batch.lengths[usable].astype(np.int64))
            nodes.append(batch.nodes[usable].astype(np.int32))
            room -= len(words[-1])
        none = np.zeros(0, np.int64)
        indptr = np.concatenate([none, [0], np.cumsum(np.concatenate([none, *lengths]))]).astype(np.int64)
        return cls(indptr, np.concatenate([none, *words]).astype(np.int32),
                   np.concatenate([none, *nodes]).astype(np.int32))

    @property
    def documents(self) -> int:
        return len(self.nodes)

    def taken(self, rows: np.ndarray) -> "DocumentSample":
        """These documents, in this order."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        words = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return DocumentSample(indptr, self.words[words], self.nodes[rows])

    def by_node(self) -> "DocumentSample":
        """The documents sorted by node."""
        return self.taken(np.argsort(self.nodes, kind="stable"))


class GibbsSampler:
    """Runs sweeps over a sample one by one, and gives the state they result in."""

    def __init__(
        self, start: RefineState, sample: DocumentSample, settings: GibbsSettings, options: RefineSettings, *,
        seed: int = 0, threads: int = 1,
    ) -> None:
        self._start, self._settings, self._options, self._seed = start, settings, options, (seed, start.k)
        self._threads = threads
        self._backend = load_backend(options.backend)
        frequency = np.bincount(sample.words, minlength=len(start.statistics))
        self._used = np.flatnonzero(frequency)                         # the words of the sample
        self._seeds = None if start.seeds is None else start.seeds.of_words(self._used)
        self._fixed = 0 if self._seeds is None else self._seeds.topics
        slot = np.zeros(len(frequency), np.int32)
        slot[self._used] = np.arange(len(self._used))
        self._whole = DocumentSample(sample.indptr, slot[sample.words], sample.nodes)
        self._columns = settings.columns(start.k, len(sample.words))
        words_at = np.bincount(sample.nodes, np.diff(sample.indptr), len(start.parent))
        self._tree = cut_tree(start.parent, start.level, words_at, start.k)
        nodes = len(self._tree.kept)
        searches = settings.searches(start.k, len(sample.words)) and not settings.only_search
        self._everything_from = int(SEARCH * settings.sweeps) if searches else 0
        self._draw_anew(self._whole.taken(np.arange(0, sample.documents, SEARCHED)) if searches else self._whole)
        k = self._columns[0]
        statistics = split_heaviest(start.statistics, k, seed, self._fixed) if k > start.k else start.statistics
        own = statistics[self._used] / np.maximum(statistics.sum(axis=0), 1e-300)
        common = frequency[self._used, None] / max(len(sample.words), 1)
        blurred = ((1.0 - settings.blur) * own + settings.blur * common) * (len(self._sample.words) / k)
        self._counts, self._unit = blurred.astype(np.float32), 1   # whole numbers of 1/64 words after the first sweep
        self._hierarchy = Hierarchy(
            np.full((nodes, k), 1.0 / k), np.append(start.hierarchy.concentrations[:-1], settings.first_total),
        )
        self._average, self._done = np.zeros((len(self._used), start.k)), 0
        self._remembered: np.ndarray | None = None

    def _draw_anew(self, sample: DocumentSample) -> None:
        """Continue with these documents, whose words hold no topic yet."""
        self._sample, self._cold = sample.by_node(), True
        self._topics = np.zeros(len(sample.words), np.int32)
        self._weights = np.rint(self._start.node_weight[self._sample.nodes] * WEIGHT_STEPS).astype(np.int64)
        self._nodes = self._tree.place[self._sample.nodes].astype(np.int32)
        lengths = np.diff(self._sample.indptr)
        self._sums: list[np.ndarray] = []              # of every thread
        self._lengths, self._length_of = np.unique(lengths, return_inverse=True)

    def sweep(self) -> None:
        """Draw the topic of every word once more."""
        if not len(self._whole.words):
            return
        settings = self._settings
        if self._done and self._done in self._columns:
            self._merge(self._columns[self._done])
        if self._done and self._done == self._everything_from:
            self._counts, self._unit = self._words * (len(self._whole.words) / max(len(self._topics), 1)), 1
            self._draw_anew(self._whole)
        likelihood = likelihood_steps(
            self._counts, settings.smoothing, self._seeds, unit=self._unit, threads=self._threads
        )
        self._counts, tables = self.draw(likelihood)
        self._unit = WEIGHT_STEPS
        self._learn(tables)
        self._done, self._cold = self._done + 1, False
        if self._done > (1.0 - settings.averaged) * settings.sweeps:
            by_blocks(self._counts.shape, self._threads, self._add_to_average)
        if self._done == settings.remembered:
            self._remembered = self._words.astype(np.float32)

    @property
    def _words(self) -> np.ndarray:
        """Topic-word counts in words."""
        return in_words(self._counts, self._unit)

    def _add_to_average(self, rows: slice) -> None:
        self._average[rows] += in_words(self._counts[rows], self._unit)

    def _merge(self, k: int) -> None:
        """Continue with k topics: words keep their topics under new numbers."""
        counts = self._words
        labels = merge_labels(counts, k, self._fixed, threads=self._threads)
        self._topics, self._sums = labels[self._topics], []
        self._counts, self._unit = merged(counts, labels), 1
        self._hierarchy = Hierarchy(merged(self._hierarchy.proportions, labels), self._hierarchy.concentrations)

    def draw(self, likelihood: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw new topics, given those of the previous sweep, one part of the documents per thread.

        Parameters
        ----------
        likelihood : uint16 array of shape (words, k), LIKELIHOOD_STEPS for the topic in which the word is most likely.

        Returns
        -------
        counts : uint32 or int64 array of shape (words, k), how often topics hold words, in units of 1 / WEIGHT_STEPS;
            the next call reuses it.
        tables : int64 array of shape (nodes, k), the expected tables of every node in units of 1 / FIXED_POINT.
        """
        sample, hierarchy = self._sample, self._hierarchy
        prior = prior_steps(hierarchy)
        seed = np.random.SeedSequence([*self._seed, self._done]).generate_state(1, np.uint64)[0]
        sums = self._sums_of_threads(likelihood.shape)
        tables = np.zeros((len(sums), *prior.shape), np.int64)
        borders = np.searchsorted(sample.indptr, np.linspace(0, len(sample.words), len(sums) + 1))

        def part(number: int) -> None:
            sums[number].fill(0)
            self._backend.sweep(
                sample.indptr, sample.words, self._topics, self._nodes, self._weights, prior, likelihood,
                int(borders[number]), int(borders[number + 1]), seed, self._cold, sums[number], tables[number],
            )

        def add(rows: slice) -> None:
            for other in sums[1:]:
                sums[0][rows] += other[rows]

        in_threads(len(sums), part)
        if len(sums) > 1:
            by_blocks(likelihood.shape, len(sums), add)
        return sums[0], tables.sum(axis=0)

    def _sums_of_threads(self, shape: tuple[int, ...]) -> list[np.ndarray]:
        """Arrays to count in, one for each thread that draws; the same for every sweep."""
        if not self._sums:
            words = np.repeat(self._weights, np.diff(self._sample.indptr))
            kind = count_type(int(np.bincount(self._sample.words, words, 1).max()))
            threads = thread_number(self._threads, shape[0] * shape[1], kind)
            self._sums = [np.empty(shape, kind) for _ in range(threads)]
        return self._sums

    def _learn(self, tables: np.ndarray) -> None:
        """Update proportions and concentrations of the tree, as after a round of EM."""
        own = self._hierarchy.concentrations[-1]
        of_length = digamma(self._lengths + own) - digamma(own)
        spread = np.bincount(self._nodes, of_length[self._length_of], len(self._hierarchy.proportions))
        learnt = update_hierarchy(
            self._hierarchy, self._tree.parent, self._tree.level, tables / FIXED_POINT, spread,
            learn=self._options.learn_concentrations, bounds=self._options.concentration_bounds,
        )
        concentrations, settings = learnt.concentrations.copy(), self._settings
        if not (self._options.learn_concentrations and self._options.learn_document_concentration):
            concentrations[-1] = self._start.document_concentration
        stage = settings.stages[0] if len(self._columns) > 1 else 1.0               # cooling ends before merging
        share = (self._done + 1) / (settings.cooling * stage * settings.sweeps)
        if share < 1.0:
            cooled = settings.first_total * (settings.last_total / settings.first_total) ** share
            concentrations[-1] = max(concentrations[-1], cooled)
        self._hierarchy = Hierarchy(learnt.proportions, concentrations)

    @property
    def document_concentration(self) -> float:
        """The documents' concentration that the sweeps have reached."""
        return float(self._hierarchy.concentrations[-1])

    @property
    def drift(self) -> np.ndarray:
        """How far each topic moved over the last sweeps, half the L1 distance; NaN if there were too few sweeps."""
        if self._remembered is None or not self._average.any():
            return np.full(self._start.k, np.nan)
        before, after = (_shares(counts, self._settings.smoothing) for counts in (self._remembered, self._average))
        return 0.5 * np.abs(before - after).sum(axis=0)

    def state(self) -> RefineState:
        """The state after the sweeps; words outside the sample keep their statistics."""
        start = self._start
        if not self._done:
            return start
        found = self._average if self._average.any() else self._words
        statistics = start.statistics.copy()
        statistics[self._used] = found * (statistics[self._used].sum() / found.sum())
        concentrations = np.append(self._hierarchy.concentrations[:-1], start.document_concentration)
        if not self._options.learn_concentrations:
            concentrations = start.hierarchy.concentrations
        return start.replaced(statistics, Hierarchy(self._hierarchy.proportions, concentrations), self._tree)


def _shares(counts: np.ndarray, smoothing: float) -> np.ndarray:
    """Topic-word counts (words, k) as topics whose columns sum to one."""
    smooth = counts + smoothing
    shares: np.ndarray = smooth / smooth.sum(axis=0)
    return shares


def prior_steps(hierarchy: Hierarchy) -> np.ndarray:
    """The documents' priors at every node, (nodes, k), in whole numbers of 1 / PRIOR_STEPS."""
    prior = hierarchy.concentrations[-1] * hierarchy.proportions * PRIOR_STEPS
    return np.maximum(np.rint(prior), 1.0).astype(np.int64)
