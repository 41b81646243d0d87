"""The state of a refinement between rounds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.refine.cut_tree import CutTree
from spectral_spark.refine.node_priors import Hierarchy
from spectral_spark.refine.seed_prior import FINAL, SeedPrior

INITIAL_NODE_CONCENTRATION, INITIAL_DOCUMENT_CONCENTRATION = 10.0, 2.0


def initial_concentrations(depth: int) -> np.ndarray:
    """Concentrations to learn from, top down and the documents' last; array of shape (depth + 1,)."""
    return np.append(np.full(depth, INITIAL_NODE_CONCENTRATION), INITIAL_DOCUMENT_CONCENTRATION)


@dataclass(frozen=True, eq=False)
class RefineState:
    """Topic-word statistics, the tree's proportions and concentrations, and the progress of the passes.

    Attributes
    ----------
    statistics : array of shape (d, k), expected topic-word counts scaled to the corpus; its sum is about ``tokens``.
    parent, level : int arrays of shape (nodes,), the tree; parents come before their children, -1 at the root.
    hierarchy : node proportions and concentrations.
    node_tables : array of shape (nodes, k); node_spread : array of shape (nodes,). Running sums over the documents of
        about one pass (see ``em_kernel.RefineKernel``).
    node_weight : array of shape (nodes,), weight of a document of each node in the statistics, a multiple of 1/64; the
        tree's proportions and concentrations are unweighted.
    tokens, documents : words and documents of the corpus.
    rounds, passes : how many were finished.
    topic_ids : int array of shape (k,), each topic's column at the start; tells which ones were dropped.
    seeds : words that people gave to the first topics; None without any.
    cut : of a wide tree, the nodes that ``hierarchy``, ``node_tables`` and ``node_spread`` have rows of; None for all.
    """

    statistics: np.ndarray
    parent: np.ndarray
    level: np.ndarray
    hierarchy: Hierarchy
    node_tables: np.ndarray
    node_spread: np.ndarray
    node_weight: np.ndarray
    tokens: float
    documents: float
    rounds: int
    passes: int
    topic_ids: np.ndarray
    seeds: SeedPrior | None = None
    cut: CutTree | None = None

    @classmethod
    def start(
        cls, topics: np.ndarray, weights: np.ndarray, parent: np.ndarray, level: np.ndarray, tokens: float,
        documents: float, *, node_proportions: np.ndarray | None = None, concentrations: np.ndarray | None = None,
        node_weight: np.ndarray | None = None, seeds: SeedPrior | None = None, cut: CutTree | None = None,
    ) -> "RefineState":
        """From the topics (d, k) and weights (k,) of a spectral solution and the document tree.

        ``node_proportions`` (nodes, k) defaults to the weights at every node, ``concentrations`` (depth + 1,), top
        down and the documents' last, to values that the passes then learn from, ``node_weight`` (nodes,) to ones.
        With a ``cut``, ``node_proportions`` are those of the nodes that remain.
        """
        nodes, k, depth = len(parent), topics.shape[1], int(level.max())
        rows = nodes if cut is None else len(cut.kept)
        if concentrations is None:
            concentrations = initial_concentrations(depth)
        if node_proportions is None:
            share = (weights + 1e-3 / k) / (weights + 1e-3 / k).sum()
            node_proportions = np.tile(share, (rows, 1))
        return cls(
            statistics=topics * (weights / weights.sum() * tokens), parent=np.asarray(parent), level=np.asarray(level),
            hierarchy=Hierarchy(node_proportions, np.asarray(concentrations, dtype=float)),
            node_tables=np.zeros((rows, k)), node_spread=np.zeros(rows),
            node_weight=np.ones(nodes) if node_weight is None else np.asarray(node_weight, dtype=float),
            tokens=float(tokens), documents=float(documents), rounds=0, passes=0, topic_ids=np.arange(k),
            seeds=seeds, cut=None if cut is None or cut.whole else cut,
        )

    @property
    def k(self) -> int:
        return int(self.statistics.shape[1])

    @property
    def weights(self) -> np.ndarray:
        """Share of each topic in the weighted words of the corpus, of shape (k,)."""
        totals: np.ndarray = self.statistics.sum(axis=0)
        return totals / totals.sum()

    @property
    def document_concentration(self) -> float:
        return float(self.hierarchy.concentrations[-1])

    def topics(self, smoothing: float) -> np.ndarray:
        """Topics of shape (d, k): smoothed, columns sum to one."""
        counts = self.statistics if self.seeds is None else self.seeds.applied(self.statistics, FINAL)
        smooth: np.ndarray = counts + smoothing
        return smooth / smooth.sum(axis=0)

    def replaced(self, statistics: np.ndarray, hierarchy: Hierarchy, cut: CutTree | None = None) -> "RefineState":
        """The same progress with different topics and with proportions of all nodes, or of those that remain."""
        rows = np.zeros(hierarchy.proportions.shape)
        return replace(
            self, statistics=statistics, hierarchy=hierarchy, node_tables=rows, node_spread=np.zeros(len(rows)),
            cut=None if cut is None or cut.whole else cut,
        )

    def keep(self, topics: np.ndarray) -> "RefineState":
        """The same state with only these topics (column indices)."""
        proportions = np.ascontiguousarray(self.hierarchy.proportions[:, topics])    # sums depend on the memory order
        proportions = proportions / proportions.sum(axis=1, keepdims=True)
        statistics = np.ascontiguousarray(self.statistics[:, topics])
        return replace(
            self, statistics=statistics * (self.statistics.sum() / statistics.sum()),
            hierarchy=Hierarchy(proportions, self.hierarchy.concentrations),
            node_tables=np.ascontiguousarray(self.node_tables[:, topics]),
            topic_ids=self.topic_ids[topics],
        )

    def cut_to(self, cut: CutTree) -> "RefineState":
        """The same state with rows of the nodes that remain, and nothing counted at them yet."""
        if cut.whole:
            return self.with_all_nodes()
        rows = cut.kept if self.cut is None else self.cut.place[cut.kept]
        hierarchy = Hierarchy(self.hierarchy.proportions[rows], self.hierarchy.concentrations)
        return self.replaced(self.statistics, hierarchy, cut)

    def with_all_nodes(self) -> "RefineState":
        """The same state with rows of all nodes; those that were cut have the proportions of the node above them."""
        if self.cut is None:
            return self
        proportions = self.hierarchy.proportions[self.cut.place]
        return self.replaced(self.statistics, Hierarchy(proportions, self.hierarchy.concentrations))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays, for a checkpoint."""
        return {
            **({} if self.cut is None else {"kept": self.cut.kept}),
            "statistics": self.statistics, "parent": self.parent, "level": self.level,
            "proportions": self.hierarchy.proportions, "concentrations": self.hierarchy.concentrations,
            "node_tables": self.node_tables, "node_spread": self.node_spread, "node_weight": self.node_weight,
            "topic_ids": self.topic_ids,
            "progress": np.array([self.tokens, self.documents, self.rounds, self.passes], dtype=float),
            **(self.seeds.arrays() if self.seeds is not None else {}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "RefineState":
        tokens, documents, rounds, passes = arrays["progress"]
        seeds = SeedPrior(arrays["seed_pull"], arrays["seed_allowed"]) if "seed_pull" in arrays else None
        return cls(
            arrays["statistics"], arrays["parent"], arrays["level"],
            Hierarchy(arrays["proportions"], arrays["concentrations"]), arrays["node_tables"], arrays["node_spread"],
            arrays["node_weight"], float(tokens), float(documents), int(rounds), int(passes), arrays["topic_ids"],
            seeds, CutTree.of_kept(arrays["kept"], arrays["parent"], arrays["level"]) if "kept" in arrays else None,
        )
