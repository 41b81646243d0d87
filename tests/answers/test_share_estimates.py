"""Shares, intervals and tests against closed forms and against trees drawn with known proportions."""

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.interval_coverage import BALANCED, DEEP, UNBALANCED, coverage
from spectral_spark.answers.groups import all_nodes, cluster_cells, cluster_hashes, groups_below
from spectral_spark.answers.share_differences import (
    change_tests,
    correlations,
    differences,
    false_discovery,
    simultaneous,
)
from spectral_spark.answers.share_estimates import GroupShares, bootstrap_variance, group_shares, wilson
from spectral_spark.answers.share_kernel import SUMS, ShareKernel, poisson_weights, prior_slopes
from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from spectral_spark.refine.fold_in import infer

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


def kernel_inputs(corpus: SimulatedCorpus, prior: np.ndarray, groups: np.ndarray) -> dict[str, np.ndarray]:
    return {"topics": corpus.topics, "node_prior": prior, "concentration": np.array([2.0]), "groups": groups}


def summed(kernel: ShareKernel, shared: dict[str, np.ndarray], batch: CountBatch) -> dict[str, np.ndarray]:
    work = kernel.start(shared)
    work.add(batch)
    return work.arrays()


def test_sums_of_parts_add_up_and_undo_the_prior() -> None:
    corpus = simulate_hdp((200, 4), {"a": 300, "b": 300}, (5.0, 2.0), 60, seed=2)
    prior = np.full((len(corpus.tree), 4), 0.25)                 # far from the truth on purpose
    shared = kernel_inputs(corpus, prior, groups_below(corpus.tree.paths, [("a",), ("b",)]))
    kernel, chosen = ShareKernel(2, replicates=20, seed=1), np.random.default_rng(1).random(600) < 0.4
    whole = summed(kernel, shared, corpus.batch)
    some, rest = (summed(kernel, shared, selected_documents(corpus.batch, part)) for part in (chosen, ~chosen))
    assert set(whole) == {*SUMS, "drawn_above", "drawn_below", "documents"}
    for name, array in whole.items():
        assert some[name] + rest[name] == pytest.approx(array)
    found = group_shares(whole)
    assert found.shares == pytest.approx(corpus.node_proportions[[1, 2]], abs=0.06)
    assert found.documents.tolist() == [300, 300]


def test_slopes_are_how_proportions_follow_the_prior() -> None:
    """With two topics the formula is exact at the fixed point of inference; compared with differences."""
    corpus = simulate_hdp((60, 2), 40, (2.0,), 60, seed=6)
    prior, step = np.array([[0.4, 0.6]]), np.array([[1e-4, -1e-4]])
    up, at, down = (infer(corpus.batch, corpus.topics, prior + move, 2.0, iterations=3000)
                    for move in (step, 0 * step, -step))
    followed = (up - down)[:, 0] / 2e-4
    found = prior_slopes(corpus.batch, corpus.topics, at, 2.0)[:, 0]
    inside = (found < 0.9) & (found > 0)
    assert inside.sum() >= 30
    assert found[inside] == pytest.approx(followed[inside], rel=0.02)


def test_the_variance_is_what_many_replicates_have() -> None:
    """2,000 replicates have a relative standard error of 3.2% in their variance, and of 2.2% in a correlation."""
    corpus = simulate_hdp((200, 4), {"a": 150, "b": 100}, (5.0, 2.0), 60, seed=4)
    groups = groups_below(corpus.tree.paths, [("a",), ()])       # one within the other
    shared = kernel_inputs(corpus, np.tile(corpus.root_weights, (len(corpus.tree), 1)), groups)
    sums = summed(ShareKernel(2, replicates=2000, seed=3), shared, corpus.batch)
    found = group_shares(sums)
    quotients = sums["drawn_above"] / sums["drawn_below"]
    assert bootstrap_variance(found.sums) == pytest.approx(quotients.var(axis=1), rel=0.13)
    drawn = np.array([[np.corrcoef(*quotients[:, :, topic])[0, 1] for topic in range(4)]])
    exact = group_shares({name: sums[name] for name in (*SUMS, "documents")})
    assert correlations(exact.of(np.array([0])), exact.of(np.array([1]))) == pytest.approx(drawn, abs=0.09)


def test_clusters_that_are_drawn_together() -> None:
    """Sums over three clusters by hand; a group and the one around it are correlated by the clusters of both."""
    above, below = np.array([[3.0, 1.0], [1.0, 3.0], [5.0, 5.0], [4.0, 4.0]]), np.array([4.0, 4.0, 10.0, 8.0])[:, None]
    parts = np.array([[0, 7], [0, 8], [1, 9], [1, 7]])
    sums = {"above": above, "below": np.repeat(below, 2, axis=1), "documents": np.array([4.0, 4.0, 10.0, 8.0])}
    found = group_shares(sums, parts)
    assert found.units.tolist() == [2, 2]
    assert found.documents.tolist() == [8, 18]
    assert found.shares == pytest.approx(np.full((2, 2), 0.5))
    assert bootstrap_variance(found.sums)[0] == pytest.approx([2 / 64, 2 / 64])      # residuals ±1 of 8 words
    assert bootstrap_variance(found.sums)[1] == pytest.approx([0, 0])
    pairs = found.of(np.array([0])), found.of(np.array([0]))
    assert correlations(*pairs) == pytest.approx(np.ones((1, 2)))


def test_a_rare_topic_with_undecided_words_is_worth_fewer_draws() -> None:
    """Where the documents say nothing of its variance, n follows how much they say of the topic."""
    shares, said = np.array([[0.9, 0.1 - 1e-9, 1e-9]]), np.array([[90.0, 90.0, 30.0]])
    variance = shares * (1 - shares) / (2 * said)
    sums = {"above": shares * said, "below": said, "products": shares * said**2 / 90, "weights": said**2 / 90,
            "documents": np.array([100.0])}
    sums["squares"] = variance * said**2 * 89 / 90 + shares**2 * sums["weights"]
    draws = group_shares(sums).draws[0]
    assert draws[0] == pytest.approx(180, rel=0.02)
    assert draws[2] == pytest.approx(60, rel=0.05)


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
    """Shares of groups with 100 documents, each worth so many draws."""
    groups = len(shares)
    weight = np.full_like(shares, 100.0)
    sums = {"above": 100 * shares, "below": weight, "products": 100 * shares, "weights": weight,
            "squares": 100**2 * shares * (1 - shares) / draws + 100 * shares**2}
    return GroupShares(shares, np.full(shares.shape, draws), np.full(groups, 100.0), np.full(groups, 100.0), sums,
                       np.arange(groups))


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


def test_groups_and_clusters() -> None:
    assert all_nodes(PATHS)[3].tolist() == [0, 1, 3]
    assert groups_below(PATHS, [("a",), ()])[[2, 4]].tolist() == [[0, 1], [-1, 1]]
    clusters = cluster_hashes(PATHS, 1)
    assert clusters[1] == clusters[2] == clusters[3] != clusters[4]
    cells, parts = cluster_cells(all_nodes(PATHS), clusters)
    assert cells[2, 0] == cells[3, 0] != cells[4, 0]                  # both towns are one part of the root
    assert parts[cells[2, 1]].tolist() == [1, clusters[1]]
    assert (cells >= 0).tolist() == (all_nodes(PATHS) >= 0).tolist()


@pytest.mark.parametrize("tree", [BALANCED, UNBALANCED, DEEP])
def test_intervals_cover_the_truth(tree: dict) -> None:
    """A short run of benchmarks/interval_coverage.py; three standard errors around what must hold of many."""
    drawn, same = coverage(tree, 12), coverage(tree, 12, same=True)
    leaves = [share for found in (drawn, same) for name, (share, _) in found.items() if name.startswith("share")]
    assert 0.86 <= np.mean(leaves) <= 0.94
    assert min(leaves) >= 0.78                           # 96 intervals of a leaf: three standard errors below 0.88
    for found in (drawn, same):
        share, error = found["difference"]
        assert 0.86 - 3 * error <= share <= 0.94 + 3 * error
    rejected, error = same["reported"]
    assert rejected <= 0.1 + 3 * error
    assert same["reported, adjusted"][0] <= 0.05
