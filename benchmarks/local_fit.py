"""A fit in one process, without Spark: the same NumPy kernels in a plain loop, for experiments on settings.

Documents are read from a corpus written by ``ingest``. Only its training documents are used: some of them are set aside
as validation documents, so that no setting is chosen on the test documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from bench_corpus import take
from local_corpus import LocalPacked

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.sparse_rows import whole
from spectral_spark.fit.basis_step import find_basis
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.refine import (
    RefineKernel,
    RefineSettings,
    RefineState,
    after_pass,
    after_round,
    after_settling,
    infer,
    refine_round,
    settle_round,
)
from spectral_spark.refine.completion import halve
from spectral_spark.solve.reconstruct import smoothed_topics
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.tree.weights import node_weights

BLOCK = 256                     # documents per block of the engine


@dataclass(frozen=True, eq=False)
class LocalCorpus:
    """Training and validation documents in a stable random order, and their tree."""

    train: CountBatch
    validation: CountBatch
    tree: DocumentTree

    @property
    def tokens(self) -> float:
        return float(self.train.counts.sum())


def read_corpus(
    path: str, *, depth: int | None = None, validation: int = 2000, documents: int | None = None
) -> LocalCorpus:
    """The training documents of a corpus, their paths cut to ``depth`` names, at most ``documents`` of them."""
    table = ds.dataset(Path(path) / "documents").to_table(filter=ds.field("split") == "train").sort_by("doc_id")
    words = ds.dataset(Path(path) / "vocabulary").count_rows()
    paths = [tuple(path[:depth]) for path in table["path"].to_pylist()]
    tree = DocumentTree.from_paths(set(paths))
    place = {path: node for node, path in enumerate(tree.paths)}
    terms, counts = (table[name].combine_chunks() for name in ("terms", "counts"))
    everything = CountBatch(
        terms.offsets.to_numpy().astype(np.int64), terms.flatten().to_numpy().astype(np.int32),
        counts.flatten().to_numpy().astype(float), np.array([place[path] for path in paths], np.int32),
        np.random.default_rng(1).integers(2**62, size=len(paths)), words,
    )
    order = np.argsort(everything.keys)
    rest = order[validation:]
    return LocalCorpus(take(everything, rest[:documents]), take(everything, order[:validation]), tree)


def loop(kernel: Any, shared: Mapping[str, np.ndarray], batches: list[CountBatch]) -> dict[str, np.ndarray]:
    """A kernel over batches, as one shard."""
    accumulator = kernel.start(shared)
    for batch in batches:
        accumulator.add(batch)
    return whole(accumulator.arrays())


def collect(
    corpus: LocalCorpus, columns: int, *, cap: int | None = 16, scaling: float = 0.25, weighting: str = "tokens",
    range_passes: int | None = None, groups: str = "none", seed: int = 0, k: int | str = "auto",
) -> MomentState:
    """Basis and moments of the training documents; the basis settles, as in a fit, or takes a number of passes."""
    train, d = corpus.train, corpus.train.vocab_size
    lengths = np.bincount(
        np.repeat(np.arange(train.n_documents), np.diff(train.indptr)), np.minimum(train.counts, cap or np.inf),
        train.n_documents,
    )
    long_enough = lengths >= 3
    census = Census.count(corpus.tree, train.nodes[long_enough], lengths[long_enough])
    weights = node_weights(census, weighting)
    rows = np.arange(train.n_documents)
    batches = [take(train, rows[i : i + 1024]) for i in range(0, len(rows), 1024)]
    packed: Any = LocalPacked(tuple(batches))
    settings = FitSettings(
        k=k, range_passes=range_passes or "auto", basis_size=columns, seed=seed, word_scaling=scaling,
        count_cap=cap or 0, explore_sweeps=0,
    )
    counted = CountedCorpus(packed, census, int(train.counts.sum()), {}, d)
    plan = MomentPlan.make(
        find_basis(counted, weights, settings, "", FitRun()), census, weighting, cap=cap, groups=groups
    )
    half = len(batches) // 2
    return plan.finish(*(loop(plan.kernel, plan.shared, part) for part in (batches[:half], batches[half:])))


def topics_of(
    moments: MomentState, k: int, concentration: float, seed: int = 0, **solver_options: float
) -> tuple[np.ndarray, np.ndarray]:
    """Topics (d, k), mixed with a little of the corpus mean, and weights (k,) of the spectral solution."""
    solution = solve_state(moments, k, "polar", concentration, seed=seed, solver_options=solver_options)
    return smoothed_topics(solution.topics, moments.mean_words()), solution.weights


class LocalRounds:
    """Runs a round over logical shards, one after the other, with the engine's blocks."""

    def __init__(self, train: CountBatch, shards: int) -> None:
        self._train, self._shards = train, np.array_split(np.arange(train.n_documents), shards)

    def __call__(
        self, kernel: RefineKernel, shared: Mapping[str, np.ndarray], number: int, rounds: int
    ) -> dict[str, np.ndarray]:
        sums: dict[str, np.ndarray] = {}
        for position, shard in enumerate(self._shards):
            blocks = [shard[i : i + BLOCK] for i in range(0, len(shard), BLOCK)]
            mine = [block for i, block in enumerate(blocks) if (i + position) % rounds == number]
            if mine:
                arrays = loop(kernel, shared, [take(self._train, np.concatenate(mine))])
                sums = {name: sums[name] + array if sums else array for name, array in arrays.items()}
        return sums


def refine_pass(state: RefineState, run_round: LocalRounds, settings: RefineSettings | None = None) -> RefineState:
    """One pass of refinement over documents in memory."""
    settings = settings or RefineSettings()
    for number in range(settings.rounds):
        planned = refine_round(state, settings)
        state = after_round(state, run_round(planned.kernel, planned.shared, number, settings.rounds), settings)
    return after_pass(state)


def settle_pass(state: RefineState, run_round: LocalRounds, settings: RefineSettings | None = None) -> RefineState:
    """One exact step of EM over documents in memory."""
    settings = settings or RefineSettings()
    planned = settle_round(state, settings)
    return after_settling(state, run_round(planned.kernel, planned.shared, 0, 1), settings)


class Validation:
    """Completion loss of the validation documents, halves fixed once."""

    def __init__(self, corpus: LocalCorpus) -> None:
        self._observed, self._hidden = halve(corpus.validation, 0)
        self._document = np.repeat(np.arange(corpus.validation.n_documents), np.diff(self._hidden.indptr))

    def loss(self, topics: np.ndarray, node_prior: np.ndarray, concentration: float) -> float:
        theta = infer(self._observed, topics, node_prior, concentration, 30)
        likelihood = np.einsum("ij,ij->i", topics[self._hidden.terms], theta[self._document])
        return float(-(self._hidden.counts @ np.log(likelihood)) / self._hidden.counts.sum())

    def unigram(self, totals: np.ndarray) -> float:
        frequencies = np.maximum(totals, 0.5) / np.maximum(totals, 0.5).sum()
        return float(-(self._hidden.counts @ np.log(frequencies[self._hidden.terms])) / self._hidden.counts.sum())
