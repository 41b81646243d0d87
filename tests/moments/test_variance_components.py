"""Variance components and the weights that follow from them: the error of root moments on drawn trees."""

from pathlib import Path

import numpy as np
import pytest

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.variance_components import VarianceKernel, variance_components
from spectral_spark.tree import Census, DocumentTree, VarianceComponents, node_weights
from tests.moments.conftest import batch_of, run

TOPICS, WORDS, LENGTH, DOCUMENT = 8, 40, 60, 1.0
BALANCED = [300] * 8
UNBALANCED = [1900, 1500, 700, 300]
EXTREME = [int(n) for n in np.geomspace(1900, 5, 16).round()]


class Drawn:
    """Group means of drawn 3-layer corpora, each with the same expectation."""

    def __init__(self, g: float, sizes: list[int], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.topics, self.root = rng.dirichlet(np.full(WORDS, 0.1), TOPICS), rng.dirichlet(np.full(TOPICS, 5.0))
        self.tree = DocumentTree.from_paths([(f"{i:02}",) for i in range(len(sizes))])
        self.nodes = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        self.g, self.sizes, self.rng = g, sizes, rng

    def counts(self) -> np.ndarray:
        """Word counts (documents, words) of a new draw."""
        groups = self.rng.dirichlet(self.g * self.root, len(self.sizes))
        shares = self.rng.gamma(np.maximum(DOCUMENT * groups[self.nodes - 1], 1e-6)) + 1e-300
        words = (shares / shares.sum(axis=1, keepdims=True)) @ self.topics
        return self.rng.multinomial(LENGTH, words / words.sum(axis=1, keepdims=True)).astype(float)

    def components(self) -> VarianceComponents:
        """The true ones."""
        mean, kept = self.root @ self.topics, self.g / (self.g + 1.0)
        square = float(self.root @ (self.topics**2).sum(axis=1))
        spread, of_documents = square - float(mean @ mean), kept * DOCUMENT / (DOCUMENT + 1.0)
        return VarianceComponents(
            (spread * (1.0 - kept),), spread * (kept - of_documents),
            1.0 - square + of_documents * spread,
        )


def components_of(census: Census, counts: np.ndarray, nodes: np.ndarray) -> VarianceComponents:
    """In the basis of single words."""
    first = np.zeros((len(census.tree), counts.shape[1]))
    np.add.at(first, nodes, counts)
    square, m = (counts**2).sum(axis=1), counts.sum(axis=1)
    pairs = np.bincount(nodes, (square - m) / (m - 1.0), len(census.tree))
    return variance_components(census, first, pairs, float(square.sum()), float(m.sum()))


@pytest.mark.parametrize("g", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("sizes", [BALANCED, UNBALANCED, EXTREME], ids=["balanced", "unbalanced", "extreme"])
def test_root_moments_are_as_exact_as_under_the_better_of_uniform_and_pooled(g: float, sizes: list[int]) -> None:
    """Expected squared errors of the root's mean under weights that each draw suggests."""
    drawn = Drawn(g, sizes, 5)
    census = Census.count(drawn.tree, drawn.nodes, np.full(len(drawn.nodes), LENGTH))
    true = drawn.components()
    variance = true.own_variance(census)[1:] + true.levels[0]
    errors, estimates = dict.fromkeys(("uniform", "tokens", "ess"), 0.0), []
    for _ in range(6):
        found = components_of(census, drawn.counts(), drawn.nodes)
        estimates.append([found.levels[0] / true.levels[0], found.documents / true.documents, found.words / true.words])
        for name in errors:
            weights = node_weights(census, name, found)
            shares = (weights.factor * (census.tokens if weights.by_length else census.documents))[1:]
            assert np.isclose(shares.sum(), 1.0)
            errors[name] += float(shares**2 @ variance)
    rmse = {name: np.sqrt(error) for name, error in errors.items()}
    assert rmse["ess"] <= 1.02 * min(rmse["uniform"], rmse["tokens"])
    np.testing.assert_allclose(np.mean(estimates, axis=0)[1:], 1.0, rtol=0.35)
    if len(sizes) > 4:                                  # four groups tell little about how groups differ
        assert np.mean(estimates, axis=0)[0] == pytest.approx(1.0, rel=0.35)


def test_extremes_are_pooling_and_the_plain_average() -> None:
    tree = DocumentTree.from_paths([("a", "x"), ("a", "y"), ("b",)])
    nodes, lengths = np.array([0, 2, 2, 3, 4, 4, 4]), np.array([5, 4, 9, 7, 3, 3, 12])
    census = Census.count(tree, nodes, lengths)
    pooled = node_weights(census, "ess", VarianceComponents((0.0, 0.0), 0.0, 1.0))
    np.testing.assert_allclose(pooled.factor, node_weights(census, "tokens").factor)
    apart = node_weights(census, "ess", VarianceComponents((1e9, 1e-9), 1e-9, 1e-9))
    shares = tree.sum_below(apart.factor * census.tokens)
    assert shares[4] == pytest.approx(shares[1], rel=1e-6)
    assert shares[4] < 1e-9 < shares[0] == pytest.approx(1.0)
    two = Census.count(tree, nodes[1:], lengths[1:])                       # without a document of the root's own
    shares = tree.sum_below(node_weights(two, "ess", VarianceComponents((1e9, 0.0), 1.0, 1.0)).factor * two.tokens)
    np.testing.assert_allclose(shares[[1, 4]], 0.5)


def test_effective_sample_sizes_count_groups_where_they_differ_and_documents_where_not() -> None:
    tree = DocumentTree.from_paths([(str(i),) for i in range(4)])
    census = Census.count(tree, np.repeat(np.arange(1, 5), UNBALANCED), np.full(sum(UNBALANCED), 80))
    alike = node_weights(census, "ess", VarianceComponents((0.0,), 0.01, 0.8)).effective_sample_size
    np.testing.assert_allclose(alike, [sum(UNBALANCED), *UNBALANCED])
    apart = node_weights(census, "ess", VarianceComponents((10.0,), 0.01, 0.8)).effective_sample_size
    assert apart[0] == pytest.approx(4.0, rel=0.01)
    np.testing.assert_allclose(apart[1:], UNBALANCED)


def state_of(counts: np.ndarray, nodes: np.ndarray, tree: DocumentTree, components: bool) -> MomentState:
    batch: CountBatch = batch_of(counts, nodes)
    basis, census = Basis(np.ones(counts.shape[1]), np.eye(counts.shape[1])), Census.count(tree, nodes, batch.lengths)
    found = None
    if components:
        sums = run(VarianceKernel(batch.vocab_size, None, len(tree)), {"basis": basis.projection}, [batch])
        found = variance_components(census, sums["node_first"], sums["node_pairs"], *sums["squares"])
    plan = MomentPlan.make(basis, census, "ess", node_states=not components, components=found)
    half = [run(plan.kernel, plan.shared, [batch]), plan.kernel.start(plan.shared).arrays()]
    return plan.finish(*half)


def test_states_kept_by_node_follow_the_tree_and_a_pass_in_advance_gives_the_same(tmp_path: Path) -> None:
    drawn = Drawn(10.0, [40, 9, 5], 3)
    counts = drawn.counts()[:, :12]
    kept = counts.sum(axis=1) >= 3
    counts, nodes = counts[kept], drawn.nodes[kept]
    by_node, in_advance = (state_of(counts, nodes, drawn.tree, components) for components in (False, True))
    assert by_node.variances is not None
    assert in_advance.components is not None
    np.testing.assert_allclose(by_node.variances.levels, in_advance.components.levels, rtol=1e-8)
    for name in ("first", "second", "third"):
        np.testing.assert_allclose(getattr(by_node.root(), name), getattr(in_advance.root(), name), atol=1e-12)
    np.testing.assert_allclose(by_node.node_means(), in_advance.node_means(), atol=1e-12)
    first = np.arange(len(nodes)) % 2 == 0
    one, other = (state_of(counts[part], nodes[part], drawn.tree, False) for part in (first, ~first))
    both = one + other
    np.testing.assert_allclose(both.root().second, by_node.root().second, atol=1e-12)
    in_advance.save(tmp_path / "state")
    assert MomentState.load(tmp_path / "state").components == in_advance.components
    np.testing.assert_array_equal(MomentState.load(tmp_path / "state").root().second, in_advance.root().second)
