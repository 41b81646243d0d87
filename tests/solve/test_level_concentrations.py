"""Concentrations of every level without any being given: exact moments give them back, drawn corpora nearly."""

from collections.abc import Sequence

import numpy as np
import pytest
from solve_examples import Example, dense_counts, exact_example, matched_error, scaled_basis

from spectral_spark.data.count_batch import selected_documents
from spectral_spark.errors import SettingsError
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.coefficients import hdp_coefficients, level_coefficients, share_coefficients
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.pair_moments import PairMoments
from spectral_spark.solve.level_concentrations import HIGHEST_LEVEL, LevelRatios, level_ratios
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.solve.topics_from_moments import UNCALIBRATED, solve_topics
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

TREES: dict[str, tuple[list[float], list[float]]] = {
    "2 layers": ([0.7], [1.0]),
    "3 layers": ([4.0, 1.3], [0.0, 1.0]),
    "3 layers, strong documents": ([2.0, 5.0], [0.0, 1.0]),
    "4 layers": ([6.0, 2.0, 0.9], [0.0, 0.0, 1.0]),
    "5 layers": ([6.0, 10.0, 3.0, 1.5], [0.0, 0.0, 0.0, 1.0]),
    "unequal depth": ([5.0, 3.0, 0.8], [0.2, 0.5, 0.3]),
    "5 layers, unequal depth": ([8.0, 4.0, 6.0, 1.2], [0.1, 0.2, 0.3, 0.4]),
}


def exact_pairs(truth: Example, g: Sequence[float], shares: Sequence[float]) -> PairMoments:
    inside = truth.projection.T @ truth.topics
    mean, spread = inside @ truth.weights, (inside * truth.weights) @ inside.T
    kept = np.cumprod([1.0, *(x / (x + 1.0) for x in g[:-1])])
    levels = np.array([c * np.outer(mean, mean) + (1.0 - c) * spread for c in kept])
    return PairMoments(levels, np.ones(len(g)), truth.moments.second, np.array(shares))


@pytest.mark.parametrize("tree", TREES)
def test_exact_moments_give_back_topics_and_all_concentrations(tree: str) -> None:
    g, shares = TREES[tree]
    paths = [[*g[:level], g[-1]] for level in range(len(g))]
    truth = exact_example(8, paths, shares, seed=3)
    pairs = exact_pairs(truth, g, shares) if len(g) > 1 else None
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, "auto", pairs=pairs)
    assert matched_error(found.topics, truth.topics) < 1e-6
    np.testing.assert_allclose(found.concentrations, g, rtol=1e-3)
    flat = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 8, 0.3)
    assert matched_error(flat.topics, truth.topics) > 1e-3


@pytest.mark.parametrize("tree", [name for name, (g, _) in TREES.items() if len(g) > 1])
def test_ratios_and_a_known_document_level_give_the_levels(tree: str) -> None:
    g, shares = TREES[tree]
    truth = exact_example(8, [[*g[:level], g[-1]] for level in range(len(g))], shares, seed=5)
    ratios = level_ratios(exact_pairs(truth, g, shares), 8)
    assert ratios is not None
    np.testing.assert_allclose(ratios.concentrations(g[-1]), g, rtol=1e-8)


def test_shares_of_levels_stand_for_the_tree() -> None:
    tree = DocumentTree.from_paths([("a", "x"), ("a", "y"), ("b",)])
    weight = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    g = [5.0, 3.0, 0.8]
    expected = level_coefficients(tree, g, weight)
    found = share_coefficients(g, np.bincount(tree.level, weight))
    for name in ("c2", "c3", "c4", "c5", "c6"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert share_coefficients([0.7], [2.0]) == hdp_coefficients([0.7])
    with pytest.raises(SettingsError, match="2 shares for 2 levels"):
        share_coefficients(g, [0.5, 0.5])


def test_levels_that_do_not_differ_get_the_highest_concentration() -> None:
    ratios = LevelRatios(np.array([0.3, 0.3]), None, np.array([0.0, 0.0, 1.0]))
    assert ratios.concentrations(1.0)[1] == HIGHEST_LEVEL
    assert ratios.concentration_errors(1.0) is None


def state_of(corpus: SimulatedCorpus, p: int, groups: str = "none") -> MomentState:
    projection, _, scale, _ = scaled_basis(dense_counts(corpus), p)
    basis, batch = Basis(scale, projection / scale[:, None], "words"), corpus.batch
    plan = MomentPlan.make(basis, Census.count(corpus.tree, batch.nodes, batch.lengths), "ess", groups=groups)
    even, sums = np.arange(batch.n_documents) % 2 == 0, []
    for part in (even, ~even):
        accumulator = plan.kernel.start(plan.shared)
        accumulator.add(selected_documents(batch, part))
        sums.append(accumulator.arrays())
    return plan.finish(*sums, sources=["drawn"])


@pytest.mark.parametrize("groups", [100, 500])
@pytest.mark.parametrize("g", [(3.0, 1.0), (10.0, 1.0), (2.0, 5.0)])
@pytest.mark.parametrize("seed", [1, 2])
def test_drawn_corpora_of_many_groups(groups: int, g: tuple[float, float], seed: int) -> None:
    state = state_of(simulate_hdp((200, 8), [10_000 // groups] * groups, g, 60, seed=seed), 16)
    found = solve_state(state, 8, "polar", "calibrated")
    np.testing.assert_allclose(found.concentrations, g, rtol=0.25)


@pytest.mark.parametrize(("g", "groups"), [((5.0, 1.0), "none"), ((5.0, 1.0), "auto"), ((1.0, 5.0), "auto")])
def test_errors_of_few_groups_are_honest(g: tuple[float, float], groups: str) -> None:
    """Over many corpora of 20 groups the estimates scatter about as much as the standard errors say."""
    apart, claimed = [], []
    for seed in range(20):
        pairs = state_of(simulate_hdp((60, 5), [60] * 20, g, 40, seed=seed), 10, groups).pairs()
        assert pairs is not None
        ratios = level_ratios(pairs, 5)
        assert ratios is not None
        assert ratios.errors is not None
        apart.append(ratios.ratios[0] - (g[1] + 1.0) / (g[0] + g[1] + 1.0))
        claimed.append(ratios.errors[0])
        assert ratios.concentration_errors(1.0) is not None
    assert 0.6 < np.sqrt(np.mean(np.square(apart))) / np.mean(claimed) < 1.6


def test_one_group_or_none_says_nothing() -> None:
    for spec, g in ((200, [1.0]), ([200], [4.0, 1.0])):
        pairs = state_of(simulate_hdp((60, 5), spec, g, 40, seed=1), 10).pairs()
        assert pairs is not None
        assert level_ratios(pairs, 5) is None


def test_noisy_moments_without_documents_are_read_with_a_small_number() -> None:
    state = state_of(simulate_hdp((60, 5), [60] * 10, (5.0, 1.0), 40, seed=1), 10)
    assert solve_state(state, 5, "polar", "auto").concentrations == (UNCALIBRATED,)
