"""Moments of pairs of documents: equal to brute force over all pairs, additive, and kept in files."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from spectral_spark.data.count_batch import CountBatch, selected_documents
from spectral_spark.errors import FormatError
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

D, P = 30, 5


@pytest.fixture(scope="module")
def corpus() -> SimulatedCorpus:
    spec = {"a": {"": 10, "x": 12, "y": {"1": 9, "2": 3}}, "b": 15, "c": {"x": 8}, "": 6}
    return simulate_hdp((D, 3), spec, [4.0, 4.0, 3.0, 1.0], (5, 40), seed=2)


def collect(brute: SimpleNamespace, corpus: SimulatedCorpus, part: np.ndarray, weighting: str) -> MomentState:
    rng = np.random.default_rng(0)
    basis = Basis(rng.random(D) + 0.5, np.linalg.qr(rng.standard_normal((D, P)))[0], "words")
    given = selected_documents(corpus.batch, part)
    tree = DocumentTree.from_paths(corpus.tree.paths[node] for node in np.unique(given.nodes))
    nodes = tree.assign(corpus.tree.paths[node] for node in given.nodes)
    batch = CountBatch(given.indptr, given.terms, given.counts, nodes, given.keys, given.vocab_size)
    plan = MomentPlan.make(basis, Census.count(tree, nodes, batch.lengths), weighting, node_states=True)
    half = batch.keys % 2 == 0
    halves = (selected_documents(batch, side) for side in (half, ~half))
    sums = [brute.run(plan.kernel, plan.shared, brute.slices(side, 7)) for side in halves]
    return plan.finish(*sums, sources=[f"{weighting} {np.flatnonzero(part)[0]}"])


def common_level(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def all_pairs(corpus: SimulatedCorpus, projection: np.ndarray, by_length: bool) -> tuple[np.ndarray, np.ndarray]:
    """Averages over pairs of different documents, one pair at a time."""
    counts, lengths = corpus.batch.matrix.toarray(), corpus.batch.lengths
    own = lengths if by_length else np.ones(len(lengths))
    first = (counts / lengths[:, None]) @ projection
    sums, weights = np.zeros((corpus.tree.depth + 1, P, P)), np.zeros(corpus.tree.depth + 1)
    paths = [corpus.tree.paths[node] for node in corpus.batch.nodes]
    for i, j in combinations(range(len(counts)), 2):
        level, weight = common_level(paths[i], paths[j]), own[i] * own[j]
        sums[level] += weight * (np.outer(first[i], first[j]) + np.outer(first[j], first[i]))
        weights[level] += 2.0 * weight
    return sums / weights[:, None, None], weights


@pytest.mark.parametrize("weighting", ["ess", "tokens", "uniform"])
def test_every_level_equals_brute_force(brute: SimpleNamespace, corpus: SimulatedCorpus, weighting: str) -> None:
    state = collect(brute, corpus, np.ones(corpus.batch.n_documents, bool), weighting)
    pairs = state.pairs()
    assert pairs is not None
    expected, weights = all_pairs(corpus, state.basis.projection, weighting != "uniform")
    np.testing.assert_allclose(pairs.levels, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(pairs.weights, weights, rtol=1e-9)
    np.testing.assert_array_equal(pairs.inside, state.root().second)
    assert pairs.shares.sum() == pytest.approx(1.0)


def test_leaving_out_a_group_removes_its_pairs(brute: SimpleNamespace, corpus: SimulatedCorpus) -> None:
    state = collect(brute, corpus, np.ones(corpus.batch.n_documents, bool), "tokens")
    pairs = state.pairs()
    assert pairs is not None
    direction = state.root().second
    numerators, weights = pairs.sums.forms(direction)
    np.testing.assert_allclose(numerators[-1], (pairs.levels * direction).sum(axis=(1, 2)) * pairs.weights, rtol=1e-9)
    np.testing.assert_allclose(weights[-1], pairs.weights, rtol=1e-9)
    for number, name in enumerate("abc"):
        rest = np.array([corpus.tree.paths[node][:1] != (name,) for node in corpus.batch.nodes])
        smaller = collect(brute, corpus, rest, "tokens").pairs()
        assert smaller is not None
        depth = len(smaller.weights)
        np.testing.assert_allclose((weights[-1] - weights[number])[:depth], smaller.weights, rtol=1e-8, atol=1e-6)
        exact = (smaller.levels[0] * direction).sum()                   # no self-products of a group enter here
        found = (numerators[-1] - numerators[number])[0] / (weights[-1] - weights[number])[0]
        assert found == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("weighting", ["ess", "tokens", "uniform"])
def test_states_of_different_depth_add_and_subtract(
    brute: SimpleNamespace, corpus: SimulatedCorpus, weighting: str
) -> None:
    everything = np.ones(corpus.batch.n_documents, bool)
    deep = np.array([len(corpus.tree.paths[node]) > 1 for node in corpus.batch.nodes])
    whole, one, other = (collect(brute, corpus, part, weighting) for part in (everything, deep, ~deep))
    both = one + other
    assert both.level_squares is not None
    assert whole.level_squares is not None
    assert both.level_squares.shape == whole.level_squares.shape
    np.testing.assert_allclose(both.level_squares, whole.level_squares, rtol=1e-12, atol=1e-15)
    back = both - one
    assert back.level_squares is not None
    assert other.level_squares is not None
    assert back.level_squares.shape == other.level_squares.shape == (2, 15)
    np.testing.assert_allclose(back.level_squares, other.level_squares, atol=1e-12 * np.abs(whole.level_squares).max())


def test_files_keep_them_and_older_files_load_without(
    brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path
) -> None:
    state = collect(brute, corpus, np.ones(corpus.batch.n_documents, bool), "tokens")
    state.save(tmp_path / "state")
    assert MomentState.load(tmp_path / "state") == state
    older = MomentState(**{**vars_of(state), "level_squares": None})  # type: ignore[arg-type]
    older.save(tmp_path / "older")
    assert not (tmp_path / "older" / "level_squares.npy").exists()
    loaded = MomentState.load(tmp_path / "older")
    assert loaded.level_squares is None
    assert loaded.pairs() is None
    assert (loaded + collect(brute, corpus, corpus.batch.nodes == corpus.batch.nodes.max(), "tokens")).pairs() is None


def vars_of(state: MomentState) -> dict[str, object]:
    return {name: getattr(state, name) for name in state.__dataclass_fields__}


def test_wrong_shapes_are_refused(brute: SimpleNamespace, corpus: SimulatedCorpus, tmp_path: Path) -> None:
    state = collect(brute, corpus, np.ones(corpus.batch.n_documents, bool), "tokens")
    assert state.level_squares is not None
    wrong = MomentState(**{**vars_of(state), "level_squares": state.level_squares[:2]})  # type: ignore[arg-type]
    wrong.save(tmp_path / "wrong")
    with pytest.raises(FormatError, match="level_squares"):
        MomentState.load(tmp_path / "wrong")
