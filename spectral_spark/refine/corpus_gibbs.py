"""Gibbs sampling over all documents of a corpus: what every sweep needs, and what its counts lead to (formulas §11).

Nothing here touches documents: a sweep says what to draw from, and the sums over all documents give the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from spectral_spark.refine.backend import backend_name
from spectral_spark.refine.cut_tree import cut_tree
from spectral_spark.refine.fixed_point import FIXED_POINT
from spectral_spark.refine.gibbs import prior_steps
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState
from spectral_spark.refine.topic_counts import by_blocks, in_words, likelihood_steps
from spectral_spark.refine.word_topics import SweepKernel
from spectral_spark.tree.group_balance import WEIGHT_STEPS


@dataclass(frozen=True, eq=False)
class DocumentLengths:
    """How many documents of each length every node has; three int arrays of the same shape, sorted by node and length.

    Attributes
    ----------
    nodes, lengths : a node and a number of words.
    documents : how many documents of that node have so many words.
    """

    nodes: np.ndarray
    lengths: np.ndarray
    documents: np.ndarray

    def spread(self, concentration: float, nodes: int) -> np.ndarray:
        """Σ ψ(m + g) − ψ(g) over the documents directly at each node, of shape (nodes,)."""
        distinct, place = np.unique(self.lengths, return_inverse=True)
        gain = digamma(distinct + concentration) - digamma(concentration)
        return np.bincount(self.nodes, gain[place] * self.documents, nodes)

    def words(self, nodes: int) -> np.ndarray:
        """Words of the documents directly at each node, of shape (nodes,)."""
        return np.bincount(self.nodes, self.lengths * self.documents, nodes)


class CorpusSampler:
    """Plans the sweeps over a corpus one by one, and gives the state that they result in.

    Parameters
    ----------
    start : topics and tree to start from, such as those found in a sample of the documents.
    concentration : of the documents, where sampling starts.
    sweeps : number of sweeps; the counts of the last ones are averaged.
    all_nodes : whether the last sweep gives proportions to all nodes of a cut tree, because no passes of EM follow.
    threads : for what lies between two sweeps.
    """

    def __init__(
        self, start: RefineState, concentration: float, sweeps: int, lengths: DocumentLengths, options: RefineSettings,
        *, seed: int = 0, all_nodes: bool = True, threads: int = 1,
    ) -> None:
        self._all_nodes, self._threads = all_nodes, threads
        self._start, self._sweeps, self._lengths, self._options = start, sweeps, lengths, options
        self._settings, self._seed = GibbsSettings(max(sweeps, 1)), (seed, start.k, 1)
        self._counts, self._unit = start.statistics, 1         # after a sweep, in units of 1 / WEIGHT_STEPS
        self._tree = cut_tree(start.parent, start.level, lengths.words(len(start.parent)), start.k)
        known = start.cut_to(self._tree).hierarchy
        self._hierarchy = Hierarchy(known.proportions, np.append(known.concentrations[:-1], concentration))
        self._weights = np.rint(start.node_weight * WEIGHT_STEPS).astype(np.int64)
        self._average, self._done = np.zeros(start.statistics.shape), 0

    @property
    def kernel(self) -> SweepKernel:
        """Of the next sweep. The last one counts the tables of all nodes of a cut tree."""
        last = self._done == self._sweeps - 1
        every = self._all_nodes and last and not self._tree.whole
        return SweepKernel(backend_name(self._options.backend), all_nodes=every)

    def shared(self) -> dict[str, np.ndarray]:
        """The arrays that the next sweep needs (see ``SweepKernel``)."""
        return {
            "likelihood": likelihood_steps(
                self._counts, self._settings.smoothing, self._start.seeds, unit=self._unit, threads=self._threads
            ),
            "prior": prior_steps(self._hierarchy),
            "weights": self._weights,
            **({} if self._tree.whole else {"place": self._tree.place}),
            "seed": np.random.SeedSequence([*self._seed, self._done]).generate_state(1, np.uint64),
            "cold": np.array([self._done == 0]),
        }

    def finish(self, sums: Mapping[str, np.ndarray]) -> None:
        """Take the sums of a sweep over all documents, and learn the tree from them."""
        self._counts, self._unit = sums["counts"], WEIGHT_STEPS
        start, tree, tables, now = self._start, self._tree, sums["tables"], self._hierarchy
        parent, level, place = tree.parent, tree.level, None
        if "all_tables" in sums:
            parent, level, place, tables = start.parent, start.level, tree.place, sums["all_tables"]
        options = self._options
        spread = self._lengths.spread(now.concentrations[-1], len(start.parent))
        self._hierarchy = update_hierarchy(
            now, parent, level, tables / FIXED_POINT, spread,
            learn=options.learn_concentrations, bounds=options.concentration_bounds,
            learn_documents=options.learn_document_concentration, place=place,
        )
        self._done += 1
        if self._done > (1.0 - self._settings.averaged) * self._sweeps:
            by_blocks(self._average.shape, self._threads, self._add_to_average)

    def _add_to_average(self, rows: slice) -> None:
        self._average[rows] += in_words(self._counts[rows], self._unit)

    def state(self) -> RefineState:
        """The state after the sweeps, scaled to all words of the corpus."""
        start = self._start
        if not self._done or not self._average.any():
            return start
        statistics = self._average * (start.statistics.sum() / self._average.sum())
        every = self._all_nodes and self._done == self._sweeps
        return start.replaced(statistics, self._hierarchy, None if every else self._tree)
