"""Document weights and effective sample sizes."""

import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.tree import (
    WEIGHTINGS,
    Census,
    DocumentTree,
    document_weights,
    moment_bound,
    node_weights,
    tensor_bound,
)

names = st.sampled_from(["a", "b", "c"])
documents = st.lists(st.tuples(st.lists(names, max_size=4).map(tuple), st.integers(3, 50)), min_size=1, max_size=40)


def by_recursion(tree: DocumentTree, nodes: np.ndarray, lengths: np.ndarray, weighting: str, node: int) -> tuple:
    """Weights of the documents at or below a node, averaging child by child, and n_eff by 1/n = Σ λ²/n_j."""
    children: list[tuple[dict[int, float], float, float]] = []  # weights, n_eff, size that weighs
    for i in np.flatnonzero(nodes == node):
        children.append(({int(i): 1.0}, 1.0, float(lengths[i]) if weighting == "tokens" else 1.0))
    for child in np.flatnonzero(tree.parent == node):
        weights, n, size = by_recursion(tree, nodes, lengths, weighting, int(child))
        if weights:
            children.append((weights, n, size))
    if not children:
        return {}, 0.0, 0.0
    sizes = np.array([1.0 if weighting == "uniform" else size for _, _, size in children])
    shares = sizes / sizes.sum()
    combined: dict[int, float] = {}
    inverse = 0.0
    for (weights, n, _), share in zip(children, shares, strict=True):
        combined |= {document: share * weight for document, weight in weights.items()}
        inverse += share**2 / n
    return combined, 1.0 / inverse, sum(size for _, _, size in children)


@settings(deadline=None, max_examples=60)
@given(documents, st.sampled_from(WEIGHTINGS), st.data())
def test_weights_are_those_of_averaging_child_by_child(
    corpus: list[tuple[tuple[str, ...], int]], weighting: str, data: st.DataObject
) -> None:
    tree = DocumentTree.from_paths(path for path, _ in corpus)
    kept = data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus)))
    kept[0] = True
    corpus = [document for document, keep in zip(corpus, kept, strict=True) if keep]  # recounted after drops
    nodes, lengths = tree.assign(path for path, _ in corpus), np.array([m for _, m in corpus])
    weights = node_weights(Census.count(tree, nodes, lengths), weighting)
    eta = document_weights(weights.factor, weights.by_length, nodes, lengths)
    expected, _, _ = by_recursion(tree, nodes, lengths, weighting, 0)
    assert np.isclose(eta.sum(), 1.0, rtol=1e-12)
    assert np.allclose(eta, [expected[i] for i in range(len(nodes))], rtol=1e-12)
    assert np.isclose(weights.effective_sample_size[0], 1.0 / (eta @ eta), rtol=1e-12)
    for node in range(len(tree)):
        n = by_recursion(tree, nodes, lengths, weighting, node)[1]
        assert np.isclose(weights.effective_sample_size[node], n, rtol=1e-12)


def test_effective_sample_sizes_of_unbalanced_groups() -> None:
    sizes = [1900, 1500, 700, 300]
    tree = DocumentTree.from_paths([(str(i),) for i in range(4)])
    census = Census.count(tree, np.repeat(np.arange(1, 5), sizes), np.full(sum(sizes), 80))
    assert round(node_weights(census, "uniform").effective_sample_size[0]) == 2687
    assert node_weights(census, "ess").effective_sample_size[0] == 4400
    assert np.isclose(node_weights(census, "tokens").effective_sample_size[0], 4400)


def test_one_document_weighs_one() -> None:
    tree = DocumentTree.from_paths([("a", "b")])
    census = Census.count(tree, np.array([2]), np.array([7]))
    for weighting in WEIGHTINGS:
        weights = node_weights(census, weighting)
        eta = document_weights(weights.factor, weights.by_length, np.array([2]), np.array([7.0]))
        assert np.allclose(eta, 1.0)
        assert np.allclose(weights.effective_sample_size, 1.0)


def test_no_documents_and_unknown_weightings_are_refused() -> None:
    tree = DocumentTree.from_paths([("a",)])
    empty = Census.count(tree, np.zeros(0, int), np.zeros(0))
    with pytest.raises(InputError, match="no document is left"):
        node_weights(empty, "ess")
    with pytest.raises(SettingsError, match="weighting = 'words'"):
        node_weights(empty, "words")


def test_a_million_documents_in_ten_thousand_nodes_take_seconds() -> None:
    rng = np.random.default_rng(0)
    groups = [(f"{i % 100}", f"{i}") for i in range(10_000)]
    paths = [groups[i] for i in rng.integers(0, 10_000, 1_000_000)]
    started = time.perf_counter()
    tree = DocumentTree.from_paths(paths)
    nodes = tree.assign(paths)
    census = Census.count(tree, nodes, rng.integers(3, 300, len(nodes)))
    sizes = [node_weights(census, weighting).effective_sample_size[0] for weighting in WEIGHTINGS]
    assert time.perf_counter() - started < 30  # about 2 seconds; a loop over documents would take minutes
    assert all(size > 100_000 for size in sizes)


def test_a_deep_and_a_wide_tree() -> None:
    deep = DocumentTree.from_paths([tuple("abcdefghij")])
    census = Census.count(deep, np.arange(11), np.full(11, 5))
    uniform = node_weights(census, "uniform")
    assert np.allclose(uniform.factor[:-1], 0.5 ** np.arange(1, 11))
    wide = DocumentTree.from_paths([(f"{i:06}",) for i in range(100_000)])
    census = Census.count(wide, np.arange(1, 100_001), np.full(100_000, 5))
    assert np.isclose(node_weights(census, "uniform").effective_sample_size[0], 100_000)


def test_bounds_shrink_with_the_sample() -> None:
    assert np.isclose(moment_bound(10_000, 0.05), (2 + np.sqrt(np.log(20))) / 100)
    assert np.isclose(tensor_bound(10_000, 0.05), 3 * (2 + np.sqrt(np.log(60))) / 100)
    assert moment_bound(100) > moment_bound(1000)
    for wrong in (0.0, 1.0, -1.0):
        with pytest.raises(SettingsError, match="delta"):
            moment_bound(100, wrong)
    with pytest.raises(SettingsError, match="sample size"):
        tensor_bound(0)


def test_documents_without_words_or_outside_the_tree_are_refused() -> None:
    tree = DocumentTree.from_paths([("a",)])
    with pytest.raises(InputError, match="no words"):
        node_weights(Census.count(tree, np.array([0, 1]), np.zeros(2)), "tokens")
    weights = node_weights(Census.count(tree, np.array([0, 1]), np.array([3, 4])), "tokens")
    with pytest.raises(InputError, match="nodes 1 to 5, but there are weights for 2"):
        document_weights(weights.factor, weights.by_length, np.array([1, 5]), np.array([3, 3]))
