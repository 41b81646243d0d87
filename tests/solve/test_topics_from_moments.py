"""solve_topics end to end: simulated corpora, order, determinism, and clear refusals."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solve_examples import Example, dense_counts, dense_moments, exact_example, scaled_basis
from threadpoolctl import threadpool_limits

from spectral_spark.errors import InputError, SettingsError, SpectralError
from spectral_spark.evaluate.recovery import recovery
from spectral_spark.ingest.simulate import SimulatedCorpus, random_topics, simulate_hdp
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve import SOLVERS, TopicSolution, node_proportions, solve_topics
from spectral_spark.solve.symmetric_tensor import symmetrised

K = 15
# Measured once with an independent implementation of the polar iteration on these very moments.
REFERENCE_ERROR = 0.10821


@pytest.fixture(scope="module")
def corpus() -> SimulatedCorpus:
    return simulate_hdp(random_topics(300, K, 1), [2000, 3000, 3000], [20.0, 1.5], lengths=60, seed=1)


@pytest.fixture(scope="module")
def collected(corpus: SimulatedCorpus) -> tuple[ProjectedMoments, np.ndarray, np.ndarray, np.ndarray]:
    counts = dense_counts(corpus)
    projection, lift, _, mean = scaled_basis(counts, K + 10)
    return dense_moments(counts, projection, np.ones(len(counts))), lift, mean, projection


@pytest.fixture(scope="module")
def truth() -> Example:
    return exact_example(4, [[2.0]], [1.0], seed=1)


def solved(collected: tuple, solver: str = "polar", **options: object) -> TopicSolution:
    moments, lift, mean, _ = collected
    return solve_topics(moments, None, lift, mean, K, (20.0, 1.5), solver, **options)


def test_solvers_recover_a_simulated_corpus(corpus: SimulatedCorpus, collected: tuple) -> None:
    """The default within 5% of an independent implementation, the others within 10%."""
    errors = {}
    for solver in SOLVERS:
        found = solved(collected, solver)
        assert found.decomposition.converged
        errors[solver] = recovery(found.topics, corpus.topics).error
    assert errors["polar"] < REFERENCE_ERROR * 1.05
    assert max(errors.values()) < REFERENCE_ERROR * 1.1


def test_solutions_are_ordered_and_on_the_simplex(collected: tuple) -> None:
    for solver in ("polar", "als"):
        found = solved(collected, solver)
        assert found.topics.shape == (300, K)
        assert found.k == K
        assert (found.topics >= 0).all()
        np.testing.assert_allclose(found.topics.sum(axis=0), 1.0, rtol=1e-12)
        assert found.weights.sum() == pytest.approx(1.0)
        assert (np.diff(found.weights) <= 0).all()
        assert found.condition > 1


def test_node_proportions_follow_the_nodes(corpus: SimulatedCorpus, collected: tuple) -> None:
    found, projection = solved(collected), collected[3]
    counts = dense_counts(corpus)
    shares = counts / counts.sum(axis=1, keepdims=True)
    first = np.array([shares[corpus.batch.nodes == node].mean(axis=0) @ projection for node in (1, 2, 3)])
    match = recovery(found.topics, corpus.topics).match
    distance = np.abs(node_proportions(first, found)[:, match] - corpus.node_proportions[1:]).sum(axis=1) / 2
    assert distance.max() < 0.08
    apart = np.abs(corpus.node_proportions[1] - corpus.node_proportions[2]).sum() / 2
    assert apart > 2 * distance.max()


def test_same_bits_whatever_the_threads(collected: tuple) -> None:
    with threadpool_limits(2):
        two = solved(collected)
    with threadpool_limits(1):
        one = solved(collected)
    assert one.topics.tobytes() == two.topics.tobytes()
    assert one.weights.tobytes() == two.weights.tobytes()


def test_not_converged_is_said(collected: tuple) -> None:
    found = solved(collected, solver_options={"max_iterations": 2, "starts": 1})
    assert not found.decomposition.converged
    assert found.notes == ("solver polar did not converge in 2 iterations",)
    assert np.isfinite(found.topics).all()


@pytest.mark.parametrize("name", ["first", "second", "third"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_moments_that_are_not_finite_are_refused(truth: Example, name: str, value: float) -> None:
    broken = getattr(truth.moments, name).copy()
    broken.flat[1] = value
    with pytest.raises(InputError, match=f"1 of {broken.size} entries of the {name} moment are not finite"):
        solve_topics(replace(truth.moments, **{name: broken}), None, truth.lift, truth.mean_words, 3)


def test_foreign_shapes_are_refused(truth: Example) -> None:
    small = replace(truth.moments, second=truth.moments.second[:3, :3])
    with pytest.raises(InputError, match=r"second has shape \(3, 3\), expected \(8, 8\)"):
        solve_topics(small, None, truth.lift, truth.mean_words, 3)
    with pytest.raises(InputError, match="moments of half 2: second has shape"):
        solve_topics(truth.moments, (truth.moments, small), truth.lift, truth.mean_words, 3)
    with pytest.raises(InputError, match=r"lift: shape \(60, 7\) is not \(words, 8\)"):
        solve_topics(truth.moments, None, truth.lift[:, :7], truth.mean_words, 3)
    with pytest.raises(InputError, match=r"mean words: shape \(59,\) is not \(60,\)"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words[1:], 3)
    with pytest.raises(InputError, match="lift: some entries are not finite"):
        solve_topics(truth.moments, None, truth.lift * np.inf, truth.mean_words, 3)


def test_impossible_numbers_of_topics_are_refused(truth: Example) -> None:
    with pytest.raises(SettingsError, match="9 topics do not fit a basis of 8 columns"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 9)
    with pytest.raises(SettingsError, match="'many' is neither a number of topics nor 'auto'"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, "many")
    with pytest.raises(InputError, match="only 4 of the 6 largest eigenvalues are positive"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 6, 2.0)
    with pytest.raises(SettingsError, match="solver: 'magic' is unknown"):
        solve_topics(truth.moments, None, truth.lift, truth.mean_words, 3, solver="magic")


def test_moments_without_structure_say_so(truth: Example) -> None:
    p = len(truth.moments.first)
    empty = ProjectedMoments(np.zeros(p), np.zeros((p, p)), np.zeros((p, p, p)))
    for k in (1, "auto"):
        with pytest.raises(InputError, match="no eigenvalue is positive"):
            solve_topics(empty, (empty, empty), truth.lift, truth.mean_words, k)


@given(
    p=st.integers(1, 7), k=st.one_of(st.just("auto"), st.integers(1, 8)), seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-150, 1e-8, 1.0, 1e8]), solver=st.sampled_from(sorted(SOLVERS)),
    rule=st.sampled_from(["noise-floor", "gap", "paper"]), g=st.sampled_from([1e-6, 1.0, 1e6, "calibrated"]),
)
@settings(max_examples=120, deadline=None)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_any_finite_moments_give_a_finite_result_or_a_reason(
    p: int, k: int | str, seed: int, size: float, solver: str, rule: str, g: float | str
) -> None:
    rng = np.random.default_rng(seed)

    def random_moments() -> ProjectedMoments:
        second = rng.standard_normal((p, p))
        return ProjectedMoments(
            size * rng.standard_normal(p), size**2 * (second + second.T + 2 * np.eye(p)),
            size**3 * symmetrised(rng.standard_normal((p, p, p))),
        )

    lift, mean = rng.standard_normal((12, p)), rng.dirichlet(np.ones(12))
    one, other = random_moments(), random_moments()
    options = {"n_sketches": 2} if solver == "sketch" else {}
    try:
        found = solve_topics(one, (one, other), lift, mean, k, g, solver, rule, solver_options=options)
    except SpectralError:
        return
    for array in (found.topics, found.weights, found.rank.spectrum, node_proportions(one.first[None], found)):
        assert np.isfinite(array).all()
    np.testing.assert_allclose(found.topics.sum(axis=0), 1.0)
    assert (found.topics >= 0).all()


def test_bad_node_moments_are_refused(truth: Example) -> None:
    found = solve_topics(truth.moments, None, truth.lift, truth.mean_words, 4, 2.0)
    with pytest.raises(InputError, match=r"shape \(2, 5\) is not \(nodes, 8\)"):
        node_proportions(np.zeros((2, 5)), found)
    with pytest.raises(InputError, match=r"node 1 .* is not finite; leave out nodes without documents"):
        node_proportions(np.array([np.zeros(8), np.full(8, np.nan)]), found)
    proportions = node_proportions(np.zeros((2, 8)), found)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0)
