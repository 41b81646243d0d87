"""Wide trees: the smallest nodes share the prior of a larger one above them, and have their proportions in the end."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_spark.data.count_batch import selected_documents
from spectral_spark.engine.word_sweeps import DriverSweeps
from spectral_spark.refine import RefineSettings, RefineState, refine_round, settle_round
from spectral_spark.refine.corpus_gibbs import CorpusSampler
from spectral_spark.refine.cut_tree import CutTree, cut_tree
from spectral_spark.refine.em_passes import after_round, after_settling
from spectral_spark.refine.fixed_point import FIXED_POINT
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.word_topics import SweepKernel
from tests.refine.corpora import Drawn, LocalRounds, draw, noisy

K, BRANCHES = 4, 30


def wide(n: int = 60) -> tuple[Drawn, np.ndarray, np.ndarray]:
    """Documents of two groups, each in one of many nodes below its group; the whole tree's parents and levels."""
    drawn = draw(n, k=K, groups=2, seed=4)
    group = drawn.batch.nodes.astype(np.int64)                           # 1 or 2
    first = np.array([0, 1, 2 + BRANCHES])
    nodes = first[group] + 1 + drawn.batch.keys % BRANCHES
    parent = np.concatenate([[-1, 0], np.full(BRANCHES, 1), [0], np.full(BRANCHES, 2 + BRANCHES)])
    level = np.concatenate([[0, 1], np.full(BRANCHES, 2), [1], np.full(BRANCHES, 2)])
    return replace(drawn, batch=replace(drawn.batch, nodes=nodes.astype(np.int32))), parent, level


def state_of(drawn: Drawn, parent: np.ndarray, level: np.ndarray) -> RefineState:
    batch = drawn.batch
    return RefineState.start(
        noisy(drawn.topics), np.full(K, 1 / K), parent, level, float(batch.counts.sum()), float(batch.n_documents)
    )


def test_nodes_with_few_words_go_to_the_nearest_larger_node_above() -> None:
    rng = np.random.default_rng(1)
    parent = np.array([-1, *(int(rng.integers(0, node)) for node in range(1, 200))])
    level = np.zeros(200, np.int64)
    for node in range(1, 200):
        level[node] = level[parent[node]] + 1
    words = rng.integers(0, 60, 200).astype(float)
    cut = cut_tree(parent, level, words, k=10)
    assert 1 < len(cut.kept) <= words.sum() / 160
    kept = set(cut.kept.tolist())
    for node in range(200):
        above = node
        while above not in kept:
            above = int(parent[above])
        assert cut.kept[cut.place[node]] == above
    assert cut.parent[0] == -1
    assert all(cut.kept[cut.parent[row]] == parent[cut.kept[row]] for row in range(1, len(cut.kept)))


def test_a_tree_with_enough_words_stays_whole() -> None:
    parent, level = np.array([-1, 0, 0]), np.array([0, 1, 1])
    assert cut_tree(parent, level, np.array([0.0, 500.0, 900.0]), k=5).whole
    assert not cut_tree(parent, level, np.array([0.0, 3.0, 900.0]), k=50).whole


def test_sweeps_over_a_wide_tree_give_all_nodes_proportions_whatever_the_grouping() -> None:
    drawn, parent, level = wide()
    found = []
    for shards, threads in ((1, 1), (5, 2)):
        parts = [selected_documents(drawn.batch, drawn.batch.keys % shards == part) for part in range(shards)]
        words = DriverSweeps([[part] for part in parts], threads)
        sampler = CorpusSampler(state_of(drawn, parent, level), 2.0, 8, words.lengths(), RefineSettings(), seed=3)
        assert len(sampler.shared()["prior"]) < len(parent)
        for _ in range(8):
            sampler.finish(words.sweep(sampler.kernel, sampler.shared()))
        found.append(sampler.state())
    proportions = found[0].hierarchy.proportions
    assert proportions.shape == (len(parent), K)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0, rtol=1e-12)
    leaves = proportions[level == 2]
    assert len(np.unique(leaves.round(6), axis=0)) > BRANCHES // 2      # not merely those of the groups
    np.testing.assert_array_equal(found[0].statistics, found[1].statistics)
    np.testing.assert_array_equal(proportions, found[1].hierarchy.proportions)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_tables_of_all_nodes_are_those_of_a_sweep(backend: str) -> None:
    drawn, parent, level = wide()
    words = DriverSweeps([[drawn.batch]], 1)
    state = state_of(drawn, parent, level)
    shared = CorpusSampler(state, 2.0, 2, words.lengths(), RefineSettings()).shared()
    whole = CutTree.of_kept(np.arange(len(parent)), parent, level)
    prior = shared["prior"][shared["place"]]
    sums = words.sweep(SweepKernel(backend, all_nodes=True), {**shared, "prior": prior, "place": whole.place})
    # Every document rounds each of its tables down, and so does every other way to count them.
    np.testing.assert_allclose(sums["all_tables"], sums["tables"], atol=20, rtol=1e-9)
    assert sums["tables"].sum() > FIXED_POINT


def test_a_search_over_a_wide_tree_inherits_proportions() -> None:
    drawn, parent, level = wide()
    sample = DocumentSample.from_batches([drawn.batch], 10**6)
    explorer = GibbsSampler(state_of(drawn, parent, level), sample, GibbsSettings(6), RefineSettings())
    for _ in range(6):
        explorer.sweep()
    found = explorer.state()
    assert found.cut is not None
    assert len(found.hierarchy.proportions) == len(found.cut.kept) < len(parent)
    proportions = found.with_all_nodes().hierarchy.proportions
    assert proportions.shape == (len(parent), K)
    assert len(np.unique(proportions, axis=0)) < len(parent)


def test_em_over_a_wide_tree_learns_the_large_nodes_and_in_the_end_all() -> None:
    drawn, parent, level = wide()
    settings = RefineSettings(passes=1, rounds=1)
    words = np.bincount(drawn.batch.nodes, drawn.batch.lengths, len(parent))
    start = state_of(drawn, parent, level).cut_to(cut_tree(parent, level, words, K))
    assert start.cut is not None
    rounds, planned = LocalRounds(drawn.batch, 2), refine_round(start, settings)
    state = after_round(start, rounds(planned.kernel, planned.shared, 0, 1), settings)
    again = RefineState.from_arrays(state.arrays())                          # as a checkpoint keeps it
    assert again.cut is not None
    np.testing.assert_array_equal(again.cut.place, start.cut.place)
    settled = settle_round(again, settings)
    sums = rounds(settled.kernel, settled.shared, 0, 1)
    assert sums["node_tables"].shape == (len(parent), K)
    end = after_settling(again, sums, settings)
    assert end.cut is None
    np.testing.assert_allclose(end.hierarchy.proportions.sum(axis=1), 1.0, rtol=1e-12)
    assert len(np.unique(end.hierarchy.proportions[level == 2].round(6), axis=0)) > BRANCHES // 2
