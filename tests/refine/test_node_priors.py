"""Node proportions and concentrations from sums over documents."""

import numpy as np
import pytest
from scipy.special import digamma

from spectral_spark.refine.node_priors import Hierarchy, update_hierarchy

BOUNDS = (0.05, 1000.0)


def draws(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    return prior * (digamma(prior + counts) - digamma(prior))


def test_one_sweep_written_out() -> None:
    """Root (0) with documents of its own, a group (1) and a mailbox (2) in that group."""
    parent, level = np.array([-1, 0, 1]), np.array([0, 1, 2])
    now = Hierarchy(np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]), np.array([4.0, 7.0, 1.5]))
    tables = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 2.0], [9.0, 0.0, 0.5]])
    after = update_hierarchy(now, parent, level, tables, np.array([2.0, 3.0, 4.0]), learn=True, bounds=BOUNDS)

    up2 = draws(tables[2], 7.0 * now.proportions[1])
    total1 = tables[1] + up2
    up1 = draws(total1, 4.0 * now.proportions[0])
    total0 = tables[0] + up1

    def learnt(g: float, made: float, spread: float) -> float:
        return (made + 1.0) / (spread + 1.0 / g)

    g1 = learnt(4.0, up1.sum(), digamma(total1.sum() + 4.0) - digamma(4.0))
    g2 = learnt(7.0, up2.sum(), digamma(tables[2].sum() + 7.0) - digamma(7.0))
    np.testing.assert_allclose(after.concentrations, [g1, g2, learnt(1.5, tables.sum(), 9.0)])
    root = (total0 + 1 / 3) / (total0.sum() + 1)
    group = (total1 + g1 * root) / (total1.sum() + g1)
    box = (tables[2] + g2 * group) / (tables[2].sum() + g2)
    np.testing.assert_allclose(after.proportions, [root, group, box])


def test_proportions_sum_to_one_and_stay_positive() -> None:
    rng = np.random.default_rng(0)
    parent = np.concatenate([[-1], np.zeros(5, int), rng.integers(1, 6, 40)])
    level = np.concatenate([[0], np.ones(5, int), np.full(40, 2)])
    now = Hierarchy(rng.dirichlet(np.ones(6), 46), np.array([3.0, 5.0, 1.0]))
    tables = rng.gamma(0.3, 4.0, (46, 6))
    tables[:, 2] = 0.0                                   # a topic nobody uses
    tables[7] = 0.0                                      # a node nobody is in
    after = update_hierarchy(now, parent, level, tables, rng.gamma(2.0, 1.0, 46), learn=True, bounds=BOUNDS)
    assert (after.proportions > 0).all()
    np.testing.assert_allclose(after.proportions.sum(axis=1), 1.0)
    np.testing.assert_allclose(after.proportions[7], after.proportions[parent[7]])     # nothing seen: like the parent


def test_few_documents_are_shrunk_more_than_many() -> None:
    parent, level = np.array([-1, 0, 0]), np.array([0, 1, 1])
    now = Hierarchy(np.full((3, 2), 0.5), np.array([10.0, 1.0]))
    tables = np.array([[0.0, 0.0], [3.0, 0.0], [3000.0, 0.0]])
    after = update_hierarchy(now, parent, level, tables, np.ones(3), learn=False, bounds=BOUNDS)
    assert after.proportions[0, 0] < after.proportions[1, 0] < after.proportions[2, 0]
    assert after.proportions[2, 0] > 0.99
    np.testing.assert_array_equal(after.concentrations, now.concentrations)


@pytest.mark.parametrize("truth", [0.5, 3.0, 30.0])
def test_document_concentration_of_drawn_counts_is_found(truth: float) -> None:
    """Dirichlet-multinomial counts with known proportions: repeated updates end at the concentration they came from."""
    rng = np.random.default_rng(1)
    proportions = np.array([0.4, 0.3, 0.2, 0.1])
    counts = np.array([rng.multinomial(200, rng.dirichlet(truth * proportions)) for _ in range(2000)])
    parent, level = np.array([-1]), np.array([0])
    now = Hierarchy(proportions[None], np.array([1.0]))
    for _ in range(600):                 # the fixed point is slow where concentrations are large
        g = now.concentrations[0]
        prior = g * proportions
        tables = draws(counts, prior).sum(axis=0, keepdims=True)
        spread = np.array([2000 * (digamma(200 + g) - digamma(g))])
        now = Hierarchy(
            proportions[None],
            update_hierarchy(now, parent, level, tables, spread, learn=True, bounds=BOUNDS).concentrations,
        )
    assert now.concentrations[0] == pytest.approx(truth, rel=0.1)       # standard error about 2–3%


def test_group_concentration_of_drawn_groups_is_found() -> None:
    """Groups around a root, each with plenty of draws: the level's concentration is that of the groups."""
    rng = np.random.default_rng(2)
    truth, root = 6.0, np.array([0.5, 0.25, 0.15, 0.1])
    groups = rng.dirichlet(truth * root, 400)
    tables = np.vstack([np.zeros(4), [rng.multinomial(500, group) for group in groups]]).astype(float)
    parent, level = np.concatenate([[-1], np.zeros(400, int)]), np.minimum(np.arange(401), 1)
    now = Hierarchy(np.tile(root, (401, 1)), np.array([1.0, 1.0]))
    for _ in range(80):
        now = update_hierarchy(now, parent, level, tables, np.ones(401), learn=True, bounds=BOUNDS)
    assert now.concentrations[0] == pytest.approx(truth, rel=0.15)
    np.testing.assert_allclose(now.proportions[0], root, atol=0.03)


def test_guard_rails() -> None:
    now = Hierarchy(np.full((1, 2), 0.5), np.array([1.0]))
    one, nothing = np.array([-1]), np.array([0])
    high = update_hierarchy(now, one, nothing, np.full((1, 2), 1e9), np.array([1.0]), learn=True, bounds=BOUNDS)
    low = update_hierarchy(now, one, nothing, np.zeros((1, 2)), np.array([1e9]), learn=True, bounds=BOUNDS)
    assert (high.concentrations[0], low.concentrations[0]) == (1000.0, 0.05)


def test_proportions_of_a_cut_tree_stand_for_those_of_the_nodes_that_were_cut() -> None:
    rng = np.random.default_rng(2)
    parent, level = np.array([-1, 0, 1, 1, 0, 4]), np.array([0, 1, 2, 2, 1, 2])
    place = np.array([0, 1, 1, 1, 0, 0])                 # the root and node 1 remain
    cut = Hierarchy(rng.dirichlet(np.ones(4), 2), np.array([3.0, 5.0, 1.0]))
    whole = Hierarchy(cut.proportions[place], cut.concentrations)
    tables, spread = rng.gamma(0.3, 4.0, (6, 4)), rng.gamma(2.0, 1.0, 6)
    found = update_hierarchy(cut, parent, level, tables, spread, learn=True, bounds=BOUNDS, place=place)
    expected = update_hierarchy(whole, parent, level, tables, spread, learn=True, bounds=BOUNDS)
    np.testing.assert_array_equal(found.proportions, expected.proportions)
    np.testing.assert_array_equal(found.concentrations, expected.concentrations)
