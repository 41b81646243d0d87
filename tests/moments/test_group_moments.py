"""Group statistics against dense tensors, and averages over distinct documents against loops over them."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree
from spectral_spark.tree.weights import WEIGHTINGS, document_weights, node_weights

D, P = 6, 3
TREE = DocumentTree.from_paths([("a", "x"), ("a", "y"), ("b",), ("c",)])


def sym3(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return sum(np.einsum(f"{places}->ijl", matrix, vector) for places in ("ij,l", "il,j", "jl,i"))


def corpus(sizes: dict[int, int], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts and nodes: ``sizes[node]`` documents at each node, in mixed order."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    counts = rng.integers(0, 4, (len(nodes), D))
    counts[:, 1] = 0
    counts[np.arange(len(nodes)), nodes] += 3
    return counts, nodes


def basis(seed: int = 0) -> Basis:
    rng = np.random.default_rng(seed)
    return Basis(rng.random(D) + 0.5, np.linalg.qr(rng.standard_normal((D, P)))[0], "words")


def collect(
    brute: SimpleNamespace, counts: np.ndarray, nodes: np.ndarray, weighting: str, groups: str, **settings: object
) -> MomentState:
    census = Census.count(TREE, nodes, counts.sum(axis=1))
    plan = MomentPlan.make(basis(), census, weighting, groups=groups, **settings)  # type: ignore[arg-type]
    half = np.arange(len(counts)) % 2 == 0
    sums = [
        brute.run(plan.kernel, plan.shared, brute.slices(brute.batch_of(counts[part], nodes[part]), 4))
        for part in (half, ~half)
    ]
    return plan.finish(*sums, sources=[fingerprint(counts)])


def projected(brute: SimpleNamespace, counts: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """φ1 and φ2 of every document in the basis."""
    b = basis().projection
    leaves = [brute.exact(row) for row in counts]
    return [b.T @ leaf[0] for leaf in leaves], [b.T @ leaf[1] @ b for leaf in leaves]


def weights_of(counts: np.ndarray, nodes: np.ndarray, weighting: str) -> tuple[np.ndarray, np.ndarray]:
    """Weights within groups u, and weights η of all documents."""
    lengths = counts.sum(axis=1).astype(float)
    u = lengths if weighting == "tokens" else np.ones(len(nodes))
    weights = node_weights(Census.count(TREE, nodes, lengths), weighting)
    return u, document_weights(weights.factor, weights.by_length, nodes, lengths)


SIZES = {0: 4, 2: 5, 3: 3, 4: 8}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("node_states", [False, True])
def test_plug_in_averages(brute: SimpleNamespace, weighting: str, node_states: bool) -> None:
    counts, nodes = corpus(SIZES)
    state = collect(brute, counts, nodes, weighting, "plug-in", node_states=node_states)
    moments, found = state.grouped()
    phi1, phi2 = projected(brute, counts)
    by_words = weighting == "ess" and node_states          # given the groups, words count
    u, eta = weights_of(counts, nodes, "tokens" if by_words else weighting)
    x2, x3, j3 = np.zeros((P, P)), np.zeros((P, P, P)), np.zeros((P, P, P))
    for node in SIZES:
        own = np.flatnonzero(nodes == node)
        share, total = eta[own].sum(), u[own].sum()
        mean = sum(u[i] * phi1[i] for i in own) / total
        second = sum(u[i] * phi2[i] for i in own) / total
        x2 += share * np.outer(mean, mean)
        x3 += share * np.einsum("i,j,l->ijl", mean, mean, mean)
        j3 += share * sym3(second, mean)
    for array, true in ((found.second, x2), (found.third, x3), (found.mixed, j3)):
        assert np.abs(array - true).max() < 1e-12 * np.abs(true).max()
    root = state.root() if not by_words else collect(brute, counts, nodes, "tokens", "plug-in").root()
    assert np.allclose(moments.third, root.third, rtol=1e-12, atol=1e-15)  # every document is in a group


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("node_states", [False, True])
def test_averages_over_distinct_documents(brute: SimpleNamespace, weighting: str, node_states: bool) -> None:
    counts, nodes = corpus({**SIZES, 5: 2, 1: 1}, seed=1)  # groups of two and one have no triples
    state = collect(brute, counts, nodes, weighting, "distinct", node_states=node_states)
    moments, found = state.grouped()
    phi1, phi2 = projected(brute, counts)
    by_words = weighting == "ess" and node_states          # given the groups, words count
    u, eta = weights_of(counts, nodes, "tokens" if by_words else weighting)
    x2, x3, j3 = np.zeros((P, P)), np.zeros((P, P, P)), np.zeros((P, P, P))
    inside = np.isin(nodes, list(SIZES))
    for node in SIZES:
        own = np.flatnonzero(nodes == node)
        share = eta[own].sum() / eta[inside].sum()
        pairs = list(permutations(own, 2))
        weight = sum(u[a] * u[b] for a, b in pairs)
        x2 += share * sum(u[a] * u[b] * np.outer(phi1[a], phi1[b]) for a, b in pairs) / weight
        j3 += share * sum(u[a] * u[b] * sym3(phi2[a], phi1[b]) for a, b in pairs) / weight
        triples = list(permutations(own, 3))
        weight = sum(u[a] * u[b] * u[c] for a, b, c in triples)
        cubes = sum(u[a] * u[b] * u[c] * np.einsum("i,j,l->ijl", phi1[a], phi1[b], phi1[c]) for a, b, c in triples)
        x3 += share * cubes / weight
    for array, true in ((found.second, x2), (found.third, x3), (found.mixed, j3)):
        assert np.abs(array - true).max() < 1e-12 * np.abs(true).max()
    _, second, third = brute.moments(counts[inside], eta[inside] / eta[inside].sum(), basis().projection)
    assert np.abs(moments.second - second).max() < 1e-12 * np.abs(second).max()
    assert np.abs(moments.third - third).max() < 1e-12 * np.abs(third).max()
    if by_words:
        weights = node_weights(state.census, "ess", state.variances)
        eta = document_weights(weights.factor, True, nodes, counts.sum(axis=1).astype(float))
    _, _, everything = brute.moments(counts, eta, basis().projection)
    assert np.abs(state.root().third - everything).max() < 1e-12 * np.abs(everything).max()


@pytest.mark.parametrize("weighting", ["ess", "tokens"])
def test_days_of_plug_in_statistics_add_up(brute: SimpleNamespace, weighting: str) -> None:
    counts, nodes = corpus({0: 6, 2: 8, 4: 7, 5: 1}, seed=2)
    days = [np.arange(len(nodes)) % 3 == day for day in range(3)]
    states = [collect(brute, counts[day], nodes[day], weighting, "plug-in") for day in days]
    whole = collect(brute, counts, nodes, weighting, "plug-in")
    total = states[0] + states[1] + states[2]
    for name, array in vars(whole.grouped()[1]).items():
        assert np.abs(vars(total.grouped()[1])[name] - array).max() < 1e-12 * np.abs(array).max()
    without = total - states[1]
    rest = collect(brute, counts[~days[1]], nodes[~days[1]], weighting, "plug-in")
    assert np.abs(without.grouped()[1].mixed - rest.grouped()[1].mixed).max() < 1e-12
    assert without.groups.paths == rest.groups.paths


def test_distinct_statistics_of_different_groups_add_up(brute: SimpleNamespace) -> None:
    counts, nodes = corpus({0: 6, 2: 8, 4: 7}, seed=3)
    parts = [np.isin(nodes, [0, 2]), nodes == 4]
    one, other = (collect(brute, counts[part], nodes[part], "tokens", "distinct") for part in parts)
    whole = collect(brute, counts, nodes, "tokens", "distinct")
    for name, array in vars(whole.grouped()[1]).items():
        assert np.abs(vars((one + other).grouped()[1])[name] - array).max() < 1e-12 * np.abs(array).max()


def test_distinct_statistics_of_a_growing_group_become_plug_in(brute: SimpleNamespace) -> None:
    counts, nodes = corpus({0: 8, 2: 8}, seed=4)
    in_order = np.argsort(nodes, kind="stable")
    days = in_order[::2], in_order[1::2]
    monday, tuesday = (collect(brute, counts[day], nodes[day], "ess", "distinct") for day in days)
    total = monday + tuesday
    assert total.groups is not None
    assert total.groups.distinct is None
    plug_in = collect(brute, counts, nodes, "ess", "plug-in")
    assert np.abs(total.grouped()[1].third - plug_in.grouped()[1].third).max() < 1e-12


def test_states_without_group_statistics_say_so(brute: SimpleNamespace) -> None:
    counts, nodes = corpus(SIZES)
    plain = collect(brute, counts, nodes, "tokens", "none")
    with pytest.raises(InputError, match="no group statistics"):
        plain.grouped()
    tiny = collect(brute, counts[:2], np.array([2, 3]), "tokens", "distinct")
    with pytest.raises(InputError, match="no group"):
        tiny.grouped()
    with pytest.raises(SettingsError, match="group statistics 'all'"):
        collect(brute, counts, nodes, "tokens", "all")


def test_small_groups_get_statistics_of_distinct_documents(brute: SimpleNamespace) -> None:
    counts, nodes = corpus({0: 60, 2: 60})
    assert collect(brute, counts, nodes, "tokens", "auto").groups.distinct is None
    counts, nodes = corpus({0: 60, 2: 49})
    assert collect(brute, counts, nodes, "tokens", "auto").groups.distinct is not None


def test_a_census_of_other_documents_is_noticed(brute: SimpleNamespace) -> None:
    counts, nodes = corpus(SIZES)
    census = Census.count(TREE, nodes[1:], counts[1:].sum(axis=1))
    plan = MomentPlan.make(basis(), census, "uniform")
    sums = brute.run(plan.kernel, plan.shared, [brute.batch_of(counts, nodes)])
    nothing = brute.run(plan.kernel, plan.shared, [])
    with pytest.raises(InputError, match="the census counted"):
        plan.finish(sums, nothing)
