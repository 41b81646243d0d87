"""Moments without noise, solved as every fit solves them: topics and all concentrations, none of them given."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from pyspark.sql import DataFrame

from spectral_spark import SpectralHDP, SpectralHDPModel
from spectral_spark.errors import InputError
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.solve_step import Solved, solve_moments
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.group_moments import GroupStatistics
from spectral_spark.moments.leaf_moments import LeafMoments
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.symmetric_packing import pack2, triple_indices
from spectral_spark.solve.exact_solution import exact_solution, noiseless_rank
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree
from tests.solve.solve_examples import Example, dirichlet_layer, exact_example, matched_error, nearest

# States of levels without documents that have squares nevertheless: their standard errors mean nothing.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in (divide|multiply):RuntimeWarning")
K, WORDS, DOCUMENTS = 8, 50.0, 1000
TREES: dict[str, tuple[list[float], list[int]]] = {         # concentrations, and documents at a node of every level
    "2 layers": ([0.7], [1]),
    "2 layers, mixed documents": ([6.0], [1]),
    "3 layers": ([4.0, 1.3], [0, 1]),
    "4 layers": ([6.0, 2.0, 0.9], [0, 0, 1]),
    "5 layers": ([6.0, 10.0, 3.0, 1.5], [0, 0, 0, 1]),
    "unequal depth": ([5.0, 3.0, 0.8], [4, 5, 1]),
    "5 layers, unequal depth": ([8.0, 4.0, 6.0, 1.2], [2, 2, 2, 1]),
}


def pack3(cube: np.ndarray) -> np.ndarray:
    """The entries of a symmetric cube that a state keeps."""
    return np.asarray(cube[triple_indices(len(cube))])


def exact_state(truth: Example, g: Sequence[float], at_level: Sequence[int], noise: float = 0.0) -> MomentState:
    """A state whose moments, also those of pairs of documents, are the expectations of the model.

    The means of all nodes are that of the corpus. What pairs of documents have in common beyond it is in the sums of
    the documents' own squares, which a state subtracts.
    """
    depth = len(g) - 1
    leaves = [tuple(f"{number >> bit & 1}" for bit in range(depth)) for number in range(2**depth)]
    tree = DocumentTree.from_paths(leaves)
    documents = np.array([at_level[level] for level in tree.level], dtype=np.int64) * DOCUMENTS
    census = Census(tree, documents, documents * WORDS, documents * WORDS**2)
    inside = truth.projection.T @ truth.topics
    mean, spread = inside @ truth.weights, (inside * truth.weights) @ inside.T
    node_first = census.tokens[:, None] * mean
    below, squares = tree.sum_below(census.tokens), np.zeros((depth + 1, *spread.shape))
    kept = np.cumprod([1.0, *(x / (x + 1.0) for x in g[:-1])])
    of_level = [float((below[tree.level == level] ** 2).sum()) for level in range(depth + 2)]
    for level, c in enumerate(kept):
        common = of_level[level] - of_level[level + 1]
        weight = common - census.tokens_squared[tree.level == level].sum()
        squares[level] = common * np.outer(mean, mean) - weight * (c * np.outer(mean, mean) + (1.0 - c) * spread)
    basis = Basis(truth.scale, truth.projection / truth.scale[:, None], "words")
    total, rng = float(census.tokens.sum()), np.random.default_rng(1)
    wrong = rng.standard_normal((2, *truth.moments.second.shape)) * noise
    halves = tuple(
        LeafMoments(
            np.array([[total / 2, documents.sum() / 2, total / 2]]), total / 2 * truth.mean_words[None],
            total / 2 * truth.moments.first[None], total / 2 * pack2(truth.moments.second + error + error.T)[None],
            total / 2 * pack3(truth.moments.third)[None],
        ) for error in wrong
    )
    loud = np.array([[documents.sum(), documents.sum() / WORDS]])
    return MomentState(
        basis, "tokens", None, ("all",), halves, census, node_first, loud, None, ("exact",), 0,
        np.array([pack2(square) for square in squares]),
    )


def example(g: Sequence[float], at_level: Sequence[int], seed: int = 3) -> tuple[Example, MomentState]:
    """Topics, and the exact state of a tree with two children at every node."""
    shares = np.array(at_level, dtype=float) * 2.0 ** np.arange(len(g))
    truth = exact_example(K, [[*g[:level], g[-1]] for level in range(len(g))], shares / shares.sum(), seed=seed)
    return truth, exact_state(truth, g, at_level)


def solved(state: MomentState, **given: object) -> Solved:
    settings = FitSettings(**{"k": K, "refine_passes": 0, **given})      # type: ignore[arg-type]
    return solve_moments(state, settings, None, FitRun())


@pytest.mark.parametrize("k", [K, "auto"])
@pytest.mark.parametrize("tree", TREES)
def test_topics_and_all_concentrations(tree: str, k: int | str) -> None:
    truth, state = example(*TREES[tree])
    found = solved(state, k=k)
    assert matched_error(found.topics.topics, truth.topics) < 1e-6
    np.testing.assert_allclose(found.topics.concentrations, TREES[tree][0], rtol=1e-3)
    assert found.topics.document_concentration == found.topics.concentrations[-1]
    order = nearest(found.topics.topics, truth.topics)
    np.testing.assert_allclose(found.topics.weights[order], truth.weights, atol=1e-6)
    assert found.topics.report == {"concentrations_chosen": "calibrated"}


@pytest.mark.parametrize("tree", ["2 layers", "4 layers"])
@pytest.mark.parametrize("solver", ["polar", "power", "als", "sketch"])
def test_with_every_solver(tree: str, solver: str) -> None:
    truth, state = example(*TREES[tree])
    found = solved(state, solver=solver)
    assert matched_error(found.topics.topics, truth.topics) < 1e-6
    np.testing.assert_allclose(found.topics.concentrations, TREES[tree][0], rtol=1e-3)


def test_a_refinement_starts_from_them() -> None:
    """Its topics are smoothed: a word that a topic lacks could never enter it."""
    truth, state = example(*TREES["4 layers"])
    found = solved(state, refine_passes="auto")
    np.testing.assert_allclose(found.solution.concentrations, TREES["4 layers"][0], rtol=1e-3)
    plain = solved(state).topics.topics
    mean = truth.mean_words
    np.testing.assert_allclose(found.topics.topics, 0.95 * plain + 0.05 * mean[:, None], atol=1e-6)


def test_tensors_per_group_where_only_the_groups_are_without_noise() -> None:
    """Three groups are far from their expectation; their documents are endlessly many."""
    g = 1.7
    truth = exact_example(K, [[g]], [1.0], seed=4)
    state = grouped_state(truth, np.random.default_rng(9).dirichlet(np.full(K, 2.0), 3), g)
    found = solved(state)
    assert found.topics.report == {"concentrations_chosen": "groups calibrated"}
    assert matched_error(found.topics.topics, truth.topics) < 1e-6
    assert found.topics.concentrations[-1] == pytest.approx(g, rel=1e-3)
    assert exact_solution(state, K, "polar", 0, tensors="root") is None


def grouped_state(truth: Example, realised: np.ndarray, g: float) -> MomentState:
    """Groups with the given proportions, each with the expected moments of its documents."""
    tree = DocumentTree.from_paths([(f"{number}",) for number in range(len(realised))])
    documents = np.array([0, *(DOCUMENTS * np.arange(1, len(tree)))], dtype=np.int64)
    census = Census(tree, documents, documents * WORDS, documents * WORDS**2, documents * WORDS**3)
    inside, shares = truth.projection.T @ truth.topics, documents[1:] / documents.sum()
    parts = [dirichlet_layer(g, (pi, np.outer(pi, pi), np.einsum("i,j,l->ijl", pi, pi, pi))) for pi in realised]
    first = np.array([inside @ one for one, _, _ in parts])
    second = np.array([inside @ two @ inside.T for _, two, _ in parts])
    third = np.einsum("g,gabc,ia,jb,lc->ijl", shares, [three for *_, three in parts], inside, inside, inside,
                      optimize=True)
    tokens = census.tokens[1:, None]
    total = float(census.tokens.sum())
    leaf = LeafMoments(
        np.array([[total / 2, documents.sum() / 2, total / 2]]), total / 2 * (truth.topics @ (shares @ realised))[None],
        total / 2 * (shares @ first)[None], total / 2 * pack2(np.tensordot(shares, second, 1))[None],
        total / 2 * pack3(third)[None],
    )
    counts = np.stack([documents, census.tokens, census.tokens_squared, census.tokens_cubed], axis=1)[1:]
    groups = GroupStatistics(
        tree.paths[1:], True, counts, tokens * first, tokens * np.array([pack2(one) for one in second])
    )
    basis = Basis(truth.scale, truth.projection / truth.scale[:, None], "words")
    squares = np.zeros((2, len(pack2(second[0]))))
    loud = np.array([[documents.sum(), documents.sum() / WORDS]])
    return MomentState(
        basis, "tokens", None, ("all",), (leaf, leaf), census, np.vstack([np.zeros_like(first[:1]), tokens * first]),
        loud, groups, ("exact",), 0, squares,
    )


@pytest.mark.parametrize("k", [K - 1, K + 1])
def test_another_number_of_topics_has_no_exact_solution(k: int) -> None:
    _, state = example(*TREES["3 layers"])
    assert exact_solution(state, k, "polar", 0) is None


def test_a_millionth_of_noise_leaves_the_usual_way() -> None:
    truth, state = example(*TREES["3 layers"])
    noisy = exact_state(truth, *TREES["3 layers"], noise=1e-6 * float(np.abs(truth.moments.second).max()))
    assert noiseless_rank(state) == K
    assert noiseless_rank(noisy) is None
    assert solved(noisy).topics.report["concentrations_chosen"] == "0.3"


def test_states_that_say_nothing_leave_the_usual_way_too() -> None:
    """Halves that are empty or not finite, and third moments that topics do not explain."""
    _, state = example(*TREES["2 layers"])
    one, _ = state.half_samples
    empty = LeafMoments(**{name: 0.0 * array for name, array in one.arrays().items()})
    assert noiseless_rank(replace(state, half_samples=(one, empty))) == K
    broken = LeafMoments(**{**one.arrays(), "second": one.second * np.nan})
    assert noiseless_rank(replace(state, half_samples=(broken, broken))) is None
    with pytest.raises(InputError, match="not finite"):
        solved(replace(state, half_samples=(broken, broken)))
    without = LeafMoments(**{**one.arrays(), "third": np.zeros((1, 0))})
    assert noiseless_rank(replace(state, half_samples=(without, without))) is None
    rng = np.random.default_rng(1)
    unexplained = LeafMoments(**{**one.arrays(), "third": one.third * (1.0 + rng.random(one.third.shape))})
    other = replace(state, half_samples=(unexplained, unexplained))
    assert exact_solution(other, K, "polar", 0) is None
    assert solved(other).topics.report["concentrations_chosen"] == "0.3"


def test_models_solve_theirs_again_in_the_same_way(documents: DataFrame) -> None:
    truth, state = example(*TREES["5 layers, unequal depth"])
    columns = {"termsCol": "terms", "countsCol": "counts", "pathCol": "path", "idCol": "doc_id", "vocabSize": 300}
    model = SpectralHDP(k=5, refinePasses=1, exploreSweeps=0, **columns).fit(documents)
    assert model.moments is not None
    assert noiseless_rank(model.moments) is None
    fitted = replace(model._fitted, moments=state)
    again = SpectralHDPModel(fitted).solveAgain(k="auto")
    assert again.k == K
    assert matched_error(again.topicsMatrix(), truth.topics) < 1e-6
    np.testing.assert_allclose(again.summary.concentrations, TREES["5 layers, unequal depth"][0], rtol=1e-3)
    assert again.documentConcentration == again.summary.concentrations[-1]
    assert again.summary.levels["documents_from"] == "calibrated"
