"""Corpora drawn from the model, and a local stand-in for the engine."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.em_kernel import RefineKernel
from spectral_spark.refine.em_passes import after_pass, after_round, after_settling, refine_round, settle_round
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState


def batch_of(documents: list[np.ndarray], nodes: np.ndarray, vocab_size: int) -> CountBatch:
    """A batch from lists of word ids."""
    terms, counts, ends = [], [], [0]
    for words in documents:
        ids, how_often = np.unique(words, return_counts=True)
        terms.append(ids)
        counts.append(how_often)
        ends.append(ends[-1] + len(ids))
    return CountBatch(
        np.array(ends, np.int64), np.concatenate([*terms, []]).astype(np.int32),
        np.concatenate([*counts, []]).astype(float), np.asarray(nodes, np.int32),
        np.arange(len(documents), dtype=np.int64), vocab_size,
    )


def part(batch: CountBatch, rows: np.ndarray) -> CountBatch:
    """Some of the documents of a batch."""
    matrix = batch.matrix[rows]
    return CountBatch(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(float), batch.nodes[rows],
        batch.keys[rows], batch.vocab_size,
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """Documents of a known model: root, groups, documents."""

    batch: CountBatch
    topics: np.ndarray
    groups: np.ndarray
    parent: np.ndarray
    level: np.ndarray


def draw(
    n: int, *, d: int = 200, k: int = 8, groups: int = 4, group_concentration: float = 2.0, concentration: float = 1.0,
    length: int = 40, seed: int = 0,
) -> Drawn:
    """n documents from topics Dirichlet(0.1), groups around a uniform root, documents around their group."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.1), k).T
    proportions = rng.dirichlet(np.full(k, group_concentration / k), groups) + 1e-6
    proportions /= proportions.sum(axis=1, keepdims=True)
    nodes = rng.integers(groups, size=n) + 1
    documents = []
    for node in nodes:
        theta = rng.dirichlet(concentration * proportions[node - 1])
        documents.append(rng.choice(d, size=1 + rng.poisson(length), p=topics @ theta))
    parent = np.concatenate([[-1], np.zeros(groups, int)])
    return Drawn(batch_of(documents, nodes, d), topics, proportions, parent, np.minimum(np.arange(groups + 1), 1))


class LocalRounds:
    """Runs a round over shards of a batch one after the other and adds up their arrays, as the engine does."""

    def __init__(self, batch: CountBatch, shards: int) -> None:
        self._batch, self._shards = batch, np.array_split(np.arange(batch.n_documents), shards)

    def __call__(
        self, kernel: RefineKernel, shared: Mapping[str, np.ndarray], number: int, rounds: int
    ) -> dict[str, np.ndarray]:
        sums: dict[str, np.ndarray] = {}
        for shard in self._shards:
            accumulator = kernel.start(shared)
            accumulator.add(part(self._batch, shard[number::rounds]))
            for name, array in accumulator.arrays().items():
                sums[name] = sums[name] + array if name in sums else array
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


def noisy(topics: np.ndarray, amount: float = 0.5, seed: int = 1) -> np.ndarray:
    """Topics blurred by other topics and by noise: a start that needs refinement."""
    rng = np.random.default_rng(seed)
    mixed = (1 - amount) * topics + amount * rng.dirichlet(np.full(len(topics), 0.3), topics.shape[1]).T
    return mixed / mixed.sum(axis=0)


def error(topics: np.ndarray, truth: np.ndarray) -> float:
    """Mean L1/2 distance of topics already in the true order."""
    return float(np.abs(topics - truth).sum(axis=0).mean() / 2)
