"""The moment kernel against brute-force tensors."""

import re
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.leaf_moments import LeafMoments, contract_words
from spectral_spark.moments.moment_kernel import MomentKernel
from spectral_spark.moments.symmetric_packing import unpack2, unpack3

D = 6


def corpora(documents: int = 12) -> st.SearchStrategy[np.ndarray]:
    """Dense counts with words that never occur, repeated words, and documents of exactly three words."""
    counts = hnp.arrays(np.int64, st.tuples(st.integers(1, documents), st.just(D)), elements=st.integers(0, 7))
    return counts.map(_at_least_three)


def _at_least_three(counts: np.ndarray) -> np.ndarray:
    short = counts.sum(axis=1) < 3
    counts[short] = np.eye(D, dtype=np.int64)[np.flatnonzero(short) % D] * 3
    return counts


def relative(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.abs(found - true).max() / np.abs(true).max())


def check_against_brute_force(
    brute: SimpleNamespace, counts: np.ndarray, projection: np.ndarray, factor: float, by_length: bool, batch: int = 5
) -> None:
    kernel = MomentKernel(counts.shape[1], None, by_length)
    shared = {"basis": projection, "factor": np.array([factor])}
    sums = brute.run(kernel, shared, brute.slices(brute.batch_of(counts), batch))
    found, p = LeafMoments.from_sums(sums, projection), projection.shape[1]
    weights = factor * (counts.sum(axis=1) if by_length else np.ones(len(counts)))
    first, second, third = brute.moments(counts, weights, projection)
    assert relative(found.first[0], first) < 1e-12
    assert relative(unpack2(found.second[0], p), second) < 1e-12
    assert relative(unpack3(found.third[0], p), third) < 1e-12
    assert np.allclose(found.totals[0], [weights.sum(), len(counts), counts.sum()], rtol=1e-12)


def test_the_formula_counts_distinct_words(brute: SimpleNamespace) -> None:
    for counts in ([3, 0, 0, 0], [1, 1, 1, 0], [2, 1, 0, 4], [0, 5, 0, 1]):
        for by_counting, by_formula in zip(brute.enumerated(counts), brute.exact(counts), strict=True):
            assert np.abs(by_counting - by_formula).max() < 1e-15


@settings(deadline=None, max_examples=60)
@given(
    corpora(), st.integers(1, 6), st.sampled_from([1.0, 1e-30, 1e30, 0.37]), st.booleans(), st.integers(0, 2**31)
)
def test_moments_equal_brute_force(
    brute: SimpleNamespace, counts: np.ndarray, p: int, factor: float, by_length: bool, seed: int
) -> None:
    projection = np.random.default_rng(seed).standard_normal((D, p)) + 1.5
    check_against_brute_force(brute, counts, projection, factor, by_length)


def test_one_giant_document(brute: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    usual = rng.integers(0, 4, (6, D)) + np.array([2, 1, 0, 0, 0, 1])
    counts = np.vstack([usual, [1_000_000, 3, 0, 999_999, 1, 12]])
    check_against_brute_force(brute, counts, rng.standard_normal((D, 4)), 1.0, False)
    check_against_brute_force(brute, counts, rng.standard_normal((D, 4)), 1.0, True)


@pytest.mark.parametrize("p", [1, 3, 4, 5, 13])
def test_blocks_of_columns_and_documents_meet_without_gaps(brute: SimpleNamespace, p: int) -> None:
    rng = np.random.default_rng(p)
    counts = rng.integers(0, 3, (1100, D)) + np.eye(D, dtype=int)[rng.integers(0, D, 1100)] * 3
    unique = counts[:40]
    counts = np.concatenate([unique, unique[rng.integers(0, 40, 1060)]])
    check_against_brute_force(brute, counts, rng.standard_normal((D, p)) + 1.0, 1.0, True, batch=1030)


@settings(deadline=None, max_examples=40)
@given(corpora(30), st.integers(1, 11), st.integers(1, 11), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_order_or_batches(
    brute: SimpleNamespace, counts: np.ndarray, size: int, other: int, random: "object"
) -> None:
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    nodes = rng.integers(0, 3, len(counts))
    order = rng.permutation(len(counts))
    shared = {"basis": rng.standard_normal((D, 3)), "factor": rng.random(3)}
    kernel = MomentKernel(D, 5, True)
    one = brute.run(kernel, shared, brute.slices(brute.batch_of(counts, nodes), size))
    two = brute.run(kernel, shared, brute.slices(brute.batch_of(counts[order], nodes[order]), other))
    for name, array in one.items():
        assert np.abs(array - two[name]).max() <= 1e-12 * max(np.abs(array).max(), 1e-300), name


@settings(deadline=None, max_examples=40)
@given(corpora(20), st.integers(0, 20), st.integers(0, 2**31))
def test_sums_of_parts_are_the_sum_of_the_whole(
    brute: SimpleNamespace, counts: np.ndarray, cut: int, seed: int
) -> None:
    shared = {"basis": np.random.default_rng(seed).standard_normal((D, 4)), "factor": np.ones(1)}
    kernel = MomentKernel(D)
    whole = brute.run(kernel, shared, [brute.batch_of(counts)])
    parts = [brute.run(kernel, shared, [brute.batch_of(part)]) for part in (counts[:cut], counts[cut:])]
    for name, array in whole.items():
        assert array.shape == parts[0][name].shape
        assert np.abs(array - parts[0][name] - parts[1][name]).max() <= 1e-12 * max(np.abs(array).max(), 1e-300), name


def test_first_moments_and_counts_of_every_node(brute: SimpleNamespace) -> None:
    rng = np.random.default_rng(1)
    counts, nodes = rng.integers(1, 4, (50, D)), rng.integers(0, 7, 50)
    nodes[nodes == 4] = 5
    projection = rng.standard_normal((D, 3))
    for by_length in (False, True):
        shared = {"basis": projection, "factor": rng.random(7)}
        sums = brute.run(MomentKernel(D, None, by_length), shared, brute.slices(brute.batch_of(counts, nodes), 11))
        for node in range(7):
            own = counts[nodes == node].astype(float)
            m = own.sum(axis=1)
            frequencies = own if by_length else own / m[:, None]
            assert np.allclose(sums["node_first"][node], frequencies.sum(axis=0) @ projection, rtol=1e-12, atol=1e-12)
            assert np.array_equal(sums["node_counts"][node], [len(own), m.sum(), (m**2).sum(), (m**3).sum()])


def test_weights_of_noise_are_counted_by_size(brute: SimpleNamespace) -> None:
    counts = np.random.default_rng(2).integers(1, 9, (40, D))
    shared = {"basis": np.eye(D), "factor": np.array([0.01])}
    noise = brute.run(MomentKernel(D, None, False), shared, [brute.batch_of(counts)])["noise"]
    true = 0.01 / (counts.sum(axis=1) - 1.0)
    assert noise[:, 0].sum() == 40
    assert np.isclose(noise[:, 1].sum(), true.sum(), rtol=1e-13)
    means = noise[noise[:, 0] > 0, 1] / noise[noise[:, 0] > 0, 0]
    assert means.min() >= true.min() * (1 - 1e-12)
    assert means.max() <= true.max() * (1 + 1e-12)


def test_a_cap_is_the_same_as_capped_counts(brute: SimpleNamespace) -> None:
    rng = np.random.default_rng(3)
    counts = np.vstack([rng.integers(0, 9, (30, D)), np.eye(D, dtype=int)[0] * 9])
    shared = {"basis": rng.standard_normal((D, 3)), "factor": np.ones(1)}
    capped = brute.run(MomentKernel(D, 2), shared, [brute.batch_of(counts)])
    before = brute.run(MomentKernel(D), shared, [brute.batch_of(np.minimum(counts, 2))])
    assert capped["dropped"][0] >= 1  # nine times one word are two words when capped
    for name, array in capped.items():
        assert np.array_equal(array, before[name]), name


def test_short_documents_are_counted_and_left_out(brute: SimpleNamespace) -> None:
    counts = np.array([[1, 1, 0, 0, 0, 0], [0] * 6, [1, 1, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0]])
    shared = {"basis": np.eye(D), "factor": np.ones(1)}
    sums = brute.run(MomentKernel(D), shared, brute.slices(brute.batch_of(counts), 2))
    assert sums["dropped"][0] == 3
    assert sums["totals"].tolist() == [[3.0, 1.0, 3.0]]
    nothing = brute.run(MomentKernel(D), shared, [brute.batch_of(counts[:2])])
    assert all(np.isfinite(array).all() for array in nothing.values())


def test_words_may_be_contracted_in_pieces(brute: SimpleNamespace) -> None:
    rng = np.random.default_rng(4)
    b, weights, third = rng.standard_normal((D, 3)), rng.random((D, 6)), rng.standard_normal((D, 6))
    whole = contract_words(b, weights, third)
    parts = [contract_words(b[rows], weights[rows], third[rows]) for rows in (slice(0, 2), slice(2, D))]
    for name, array in whole.items():
        assert np.allclose(array, parts[0][name] + parts[1][name], rtol=1e-13, atol=1e-13)


def test_state_bytes_is_what_is_shipped(brute: SimpleNamespace) -> None:
    kernel = MomentKernel(D, None, True, slots=3, groups=2, distinct=True)
    shared = {"basis": np.eye(D)[:, :4], "factor": np.ones(5), "slot": np.array([0.0, 1, 2, 2, 2]),
              "group": np.array([-1.0, 0, 1, -1, -1]), "group_self": np.ones((2, 2))}
    arrays = brute.run(kernel, shared, [])
    assert kernel.state_bytes(4, 5) == sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize(
    ("value", "named"), [(np.nan, "nan"), (-1.0, "-1.0"), (0.5, "0.5"), (np.inf, "inf")]
)
def test_counts_that_are_no_counts_are_refused(brute: SimpleNamespace, value: float, named: str) -> None:
    batch = brute.batch_of(np.ones((3, D)))
    counts = batch.counts.copy()
    counts[D + 2] = value
    bad = CountBatch(batch.indptr, batch.terms, counts, batch.nodes, batch.keys, D)
    accumulator = MomentKernel(D).start({"basis": np.eye(D), "factor": np.ones(1)})
    with pytest.raises(InputError, match=f"{re.escape(named)} for word 2 in document 1"):
        accumulator.add(bad)


def test_words_and_vocabularies_that_do_not_fit_are_refused(brute: SimpleNamespace) -> None:
    batch = brute.batch_of(np.ones((2, D)))
    accumulator = MomentKernel(D).start({"basis": np.eye(D), "factor": np.ones(1)})
    terms = batch.terms.copy()
    terms[1] = D
    with pytest.raises(InputError, match="word ids: 6"):
        accumulator.add(CountBatch(batch.indptr, terms, batch.counts, batch.nodes, batch.keys, D))
    with pytest.raises(InputError, match="documents over 7 words"):
        accumulator.add(brute.batch_of(np.ones((2, 7))))
    with pytest.raises(InputError, match="lowest -1"):
        accumulator.add(brute.batch_of(np.ones((2, D)), np.array([0, -1])))
    with pytest.raises(SettingsError, match="count cap 0"):
        MomentKernel(D, 0).start({"basis": np.eye(D), "factor": np.ones(1)}).add(batch)
