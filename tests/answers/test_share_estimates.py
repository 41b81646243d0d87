"""Shares, intervals and tests against closed forms and against trees drawn with known proportions."""

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.interval_coverage import BALANCED, UNBALANCED, coverage
from spectral_spark.answers.groups import all_nodes, cluster_hashes, groups_below, units_of
from spectral_spark.answers.share_estimates import (
    GroupShares,
    change_tests,
    differences,
    false_discovery,
    group_shares,
    simultaneous,
    wilson,
)
from spectral_spark.answers.share_kernel import ShareKernel, poisson_weights
from spectral_spark.data.count_batch import selected_documents
from spectral_spark.ingest.simulate import simulate_hdp

PATHS = ((), ("a",), ("a", "x"), ("a", "y"), ("b",))


def test_weights_are_poisson_and_belong_to_the_document_alone() -> None:
    keys = np.arange(20_000)
    weights = poisson_weights(keys, 5, 9)
    assert weights.mean(axis=1) == pytest.approx(1.0, abs=0.03)
    assert weights.var(axis=1) == pytest.approx(1.0, abs=0.06)
    assert np.abs(np.corrcoef(weights) - np.eye(9)).max() < 0.04
    shuffled = np.random.default_rng(0).permutation(keys)
    assert (poisson_weights(shuffled, 5, 9) == weights[:, shuffled]).all()
    assert (poisson_weights(keys, 5, 4) == weights[:4]).all()
    assert (poisson_weights(keys, 6, 9) != weights).any()


def test_sums_of_parts_add_up_and_undo_the_prior() -> None:
    corpus = simulate_hdp((200, 4), {"a": 300, "b": 300}, (5.0, 2.0), 60, seed=2)
    k, nodes = 4, len(corpus.tree)
    prior = np.full((nodes, k), 0.25)                            # far from the truth on purpose
    shared = {"topics": corpus.topics, "node_prior": prior, "concentration": np.array([2.0]),
              "groups": groups_below(corpus.tree.paths, [("a",), ("b",)]), "clusters": np.zeros(nodes, np.int64)}
    whole = ShareKernel(2, 20, 1).start(shared)
    whole.add(corpus.batch)
    some, rest = ShareKernel(2, 20, 1).start(shared), ShareKernel(2, 20, 1).start(shared)
    chosen = np.random.default_rng(1).random(600) < 0.4
    some.add(selected_documents(corpus.batch, chosen))
    rest.add(selected_documents(corpus.batch, ~chosen))
    for name, array in whole.arrays().items():
        assert some.arrays()[name] + rest.arrays()[name] == pytest.approx(array)
    found = group_shares(**whole.arrays())
    assert found.shares == pytest.approx(corpus.node_proportions[[1, 2]], abs=0.06)
    assert found.documents.tolist() == [300, 300]


def test_wilson_intervals_are_those_of_the_score_test() -> None:
    low, high = wilson(np.array([0.1]), np.array([50.0]), 1.6449)
    for end in (low[0], high[0]):
        assert abs(0.1 - end) == pytest.approx(1.6449 * np.sqrt(end * (1 - end) / 50))
    counts = np.arange(61)
    low, high = wilson(counts / 60, np.full(61, 60.0), 1.6449)
    inside = (low <= 0.05) & (high >= 0.05)
    assert binom.pmf(counts[inside], 60, 0.05).sum() == pytest.approx(0.9, abs=0.05)


def test_adjustments_for_many_topics() -> None:
    assert false_discovery(np.array([0.01, 0.04, 0.03, 0.5])) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert simultaneous(0.9, 10) ** 10 == pytest.approx(0.9)


def shares_of(shares: np.ndarray, draws: float) -> GroupShares:
    groups, k = shares.shape
    noise = np.random.default_rng(3).normal(0, 0.01, (50, groups, k))
    return GroupShares(shares, np.full((groups, k), draws), shares + noise, np.full(groups, 100.0),
                       np.full(groups, 100.0))


def test_the_same_documents_do_not_differ_from_themselves() -> None:
    one = shares_of(np.array([[0.2, 0.8]]), 100.0)
    gap = differences(one, one, 0.9)
    assert gap.upper == pytest.approx(0.0, abs=0.06)
    assert gap.p_value == pytest.approx(1.0)
    apart = differences(one, shares_of(np.array([[0.6, 0.4]]), 100.0), 0.9, overlapping=False)
    assert (apart.q_value < 0.001).all()
    assert apart.upper[0, 0] < 0 < apart.lower[0, 1]


def test_a_trend_is_told_from_a_change_without_one() -> None:
    rising, hump, flat = np.linspace(0.1, 0.4, 7), np.array([0.1, 0.2, 0.3, 0.4, 0.3, 0.2, 0.1]), np.full(7, 0.2)
    shares = np.stack([rising, hump, flat, 1 - rising - hump - flat], axis=1)
    found = change_tests(shares_of(shares, 400.0), np.arange(7.0))
    assert found["slope"][:3] == pytest.approx([0.05, 0.0, 0.0], abs=1e-9)
    assert found["trendQValue"][0] < 0.001 < 0.9 < found["trendQValue"][1]
    assert found["changeQValue"][1] < 0.001 < 0.9 < found["changeQValue"][2]


def test_groups_and_units() -> None:
    assert all_nodes(PATHS)[3].tolist() == [0, 1, 3]
    assert groups_below(PATHS, [("a",), ()])[[2, 4]].tolist() == [[0, 1], [-1, 1]]
    documents = np.array([0, 5, 7, 2, 4])
    single = cluster_hashes(PATHS, None)
    assert units_of(all_nodes(PATHS), single, documents, 5).tolist() == [18, 14, 7, 2, 4]
    groups = cluster_hashes(PATHS, 2)
    assert units_of(all_nodes(PATHS), groups, documents, 5).tolist() == [4, 3, 1, 1, 1]


@pytest.mark.parametrize("tree", [BALANCED, UNBALANCED])
def test_intervals_cover_the_truth(tree: dict) -> None:
    """A short run of benchmarks/interval_coverage.py; 12 repetitions have a standard error of two percent."""
    drawn, same = coverage(tree, 12), coverage(tree, 12, same=True)
    leaves = [share for found in (drawn, same) for name, share in found.items() if name.startswith("share")]
    assert 0.86 <= np.mean(leaves) <= 0.94
    assert min(leaves) >= 0.78                           # 96 intervals of a leaf: three standard errors below 0.88
    assert 0.84 <= drawn["difference"] <= 0.97
    assert 0.84 <= same["difference"] <= 0.99
    assert same["reported"] <= 0.14
    assert same["reported, adjusted"] <= 0.05
