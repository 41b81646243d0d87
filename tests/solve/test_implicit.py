"""Third moments that are never formed: products from documents equal those of the formed tensor."""

import numpy as np
import pytest
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.errors import InputError
from spectral_spark.moments.basis import Basis
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.moment_plan import MomentPlan
from spectral_spark.moments.moment_state import MomentState
from spectral_spark.moments.range_finder import orthonormal
from spectral_spark.moments.sketch_hashes import SketchHashes
from spectral_spark.moments.third_sample import ThirdSample
from spectral_spark.moments.third_sketch import SampleSketches, SketchKernel, corrected_spectra
from spectral_spark.solve import triples
from spectral_spark.solve.corrected_moments import corrected_moments
from spectral_spark.solve.implicit import SampledTensor, implicit, sampled_moments
from spectral_spark.solve.sketch import CountSketch
from spectral_spark.solve.solve_state import solve_state
from spectral_spark.solve.solvers import solver_for
from spectral_spark.solve.symmetric_tensor import PairTensor, random_orthogonal
from spectral_spark.solve.whitening import whiten
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

WORDS, TOPICS, DOCUMENTS, COLUMNS = 40, 5, 600, 9
RNG = np.random.default_rng(7)
TRUTH = RNG.dirichlet(np.full(WORDS, 0.1), TOPICS).T


def drawn() -> CountBatch:
    rng = np.random.default_rng(1)
    rows = np.array([
        rng.multinomial(rng.integers(3, 30), TRUTH @ rng.dirichlet(np.full(TOPICS, 0.2))) for _ in range(DOCUMENTS)
    ])
    matrix = sp.csr_matrix(rows.astype(float))
    return CountBatch(matrix.indptr, matrix.indices, matrix.data, np.zeros(DOCUMENTS, np.int32),
                      np.arange(DOCUMENTS), WORDS)


def collected(third: bool) -> MomentState:
    """The moments of the documents, with and without third ones."""
    batch = drawn()
    m = batch.lengths
    powers = (np.array([(m**r).sum()]) for r in (1, 2, 3))
    census = Census(DocumentTree.from_paths([()]), np.array([DOCUMENTS]), *powers)
    mean = np.asarray(batch.matrix.sum(axis=0)).ravel()
    span = np.column_stack([mean, np.random.default_rng(2).standard_normal((WORDS, COLUMNS - 1))])
    basis = Basis(np.random.default_rng(3).uniform(0.5, 2.0, WORDS), orthonormal(span))
    plan = MomentPlan.make(basis, census, "tokens", third=third)
    halves = []
    for part in (slice(0, DOCUMENTS // 2), slice(DOCUMENTS // 2, DOCUMENTS)):
        accumulator = plan.kernel.start(plan.shared)
        accumulator.add(_rows(batch, part))
        halves.append(accumulator.arrays())
    return plan.finish(*halves)


def _rows(batch: CountBatch, part: slice) -> CountBatch:
    rows = batch.matrix[part].tocsr()
    n = rows.shape[0]
    return CountBatch(rows.indptr, rows.indices, rows.data, np.zeros(n, np.int32), np.arange(n), WORDS)


FULL, SMALL = collected(True), collected(False)
SAMPLE = ThirdSample.of(drawn(), None, FULL.weights)


def test_products_from_documents_equal_those_of_the_formed_tensor() -> None:
    coefficients = hdp_coefficients([0.4])
    formed = corrected_moments(FULL.root(), coefficients)
    whitening = whiten(formed.second, TOPICS).matrix
    tensor = formed.third_in(whitening)
    assert isinstance(tensor, np.ndarray)
    sampled = sampled_moments(SMALL.root(), SAMPLE, FULL.basis.projection, coefficients).third_in(whitening)
    vectors = np.random.default_rng(4).standard_normal((TOPICS, 150))       # more than one block of columns
    expected = PairTensor(tensor).contract(vectors)
    assert np.abs(sampled.contract(vectors) - expected).max() < 1e-12 * np.abs(expected).max()
    assert sampled.size == TOPICS


def test_moments_without_third_ones_are_the_same_but_for_them() -> None:
    assert FULL.has_third
    assert not SMALL.has_third
    for one, other in zip(FULL.half_samples, SMALL.half_samples, strict=True):
        assert np.array_equal(one.words, other.words)
        assert np.abs(one.second - other.second).max() < 1e-12 * np.abs(one.second).max()
        assert other.third.size == 0
    assert SMALL.root().third is None
    pairs, expected = SMALL.pairs(), FULL.pairs()
    assert pairs is not None
    assert expected is not None
    assert np.array_equal(pairs.levels, expected.levels)


def test_the_loop_and_the_products_agree() -> None:
    counts = SAMPLE.counts
    words = np.random.default_rng(5).standard_normal((WORDS, 7))
    compiled = triples.triple_sums(counts, SAMPLE.weights, words)
    plain = triples._products(counts, SAMPLE.weights, words)
    assert np.abs(compiled - plain).max() < 1e-12 * np.abs(plain).max()


def test_topics_are_those_of_the_formed_tensor() -> None:
    formed = solve_state(FULL, TOPICS, "polar", 0.4)
    found = solve_state(SMALL, TOPICS, "auto", 0.4, sample=SAMPLE)
    assert found.decomposition.solver == "implicit"
    assert np.abs(found.topics - formed.topics).max() < 1e-6
    assert found.decomposition.residual == pytest.approx(formed.decomposition.residual, abs=0.3)


def test_the_estimated_residual_of_a_noisy_tensor_is_about_right() -> None:
    rng = np.random.default_rng(6)
    vectors, noise = random_orthogonal(12, rng), rng.standard_normal((12, 12, 12)) / 12
    noise = sum(noise.transpose(order) for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)))
    tensor = np.einsum("ir,jr,lr->ijl", vectors, vectors, vectors) + noise / 6
    exact = implicit(tensor)
    estimated = implicit(PairTensor(tensor))
    assert estimated.residual == pytest.approx(exact.residual, abs=0.1)


def test_the_result_does_not_depend_on_the_threads() -> None:
    whitening = whiten(corrected_moments(FULL.root(), hdp_coefficients([0.4])).second, TOPICS).matrix
    tensor = SampledTensor(SAMPLE, FULL.basis.projection @ whitening, np.ones(TOPICS), hdp_coefficients([0.4]))
    vectors = np.random.default_rng(8).standard_normal((TOPICS, 300))
    several = tensor.contract(vectors)
    tensor._threads = 1
    assert np.array_equal(tensor.contract(vectors), several)


def test_other_solvers_and_missing_samples_are_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match=r"solver power needs the third moment.*fit again with `solver=power`"):
        solve_state(SMALL, TOPICS, "power", 0.4, sample=SAMPLE)
    with pytest.raises(InputError, match=r"needs a sample of the documents.*`replayWords` above 0"):
        solve_state(SMALL, TOPICS, "implicit", 0.4)
    with pytest.raises(InputError, match="one state has third moments and the other was collected without them"):
        FULL + SMALL
    assert solver_for("auto", True) == "polar"


def test_states_without_third_moments_add_up_and_are_saved(tmp_path: object) -> None:
    both = SMALL + SMALL
    assert both.documents == 2 * DOCUMENTS
    both.save(f"{tmp_path}/state")
    again = MomentState.load(f"{tmp_path}/state")
    assert again == both
    assert not again.has_third


def test_sketches_summed_over_documents_are_those_of_the_formed_tensor() -> None:
    coefficients, length, number, seed = hdp_coefficients([0.4]), 64, 3, 11
    formed = corrected_moments(FULL.root(), coefficients)
    whitening = whiten(formed.second, TOPICS).matrix
    tensor, words = formed.third_in(whitening), FULL.basis.projection @ whitening
    assert isinstance(tensor, np.ndarray)
    family = SketchHashes.family(TOPICS, length, number, seed)
    kernel = SketchKernel(WORDS, None, FULL.weights.by_length, length, number, seed)
    parts = []
    for rows in (slice(0, 100), slice(100, DOCUMENTS)):                    # two partitions, added
        accumulator = kernel.start({"words": words, "factor": FULL.weights.factor})
        accumulator.add(_rows(drawn(), rows))
        parts.append(accumulator.arrays())
    summed = {name: array + parts[1][name] for name, array in parts[0].items()}
    mean = whitening.T @ FULL.root().first
    for sums in (summed, SampleSketches(SAMPLE).sums(words, length, number, seed)):
        spectra = corrected_spectra(sums, family, words, mean, coefficients)
        for hashes, spectrum in zip(family, spectra, strict=True):
            expected = CountSketch.of_tensor(tensor, hashes).spectrum
            assert np.abs(spectrum - expected).max() < 1e-12 * np.abs(expected).max()


def test_sketches_find_the_topics_without_third_moments() -> None:
    exact = solve_state(FULL, TOPICS, "polar", 0.4)
    found = solve_state(SMALL, TOPICS, "sketch", 0.4, sample=SAMPLE)
    assert found.decomposition.solver == "sketch"
    # A contraction of ten sketches of 512 numbers has an error of about 5 / sqrt(5120), 7%.
    apart = np.abs(found.topics[:, :, None] - exact.topics[:, None]).sum(axis=0) / 2
    assert sorted(apart.argmin(axis=1)) == list(range(TOPICS))
    assert apart.min(axis=1).max() < 0.1
    with pytest.raises(InputError, match="needs a sample of the documents"):
        solve_state(SMALL, TOPICS, "sketch", 0.4)


def test_a_climb_that_has_settled_ends() -> None:
    coefficients = hdp_coefficients([0.4])
    moments = sampled_moments(SMALL.root(), SAMPLE, FULL.basis.projection, coefficients)
    tensor = moments.third_in(whiten(moments.second, TOPICS).matrix)
    exact, early = implicit(tensor, seed=3), implicit(tensor, seed=3, settled=1e-2)
    assert early.converged
    assert early.iterations < exact.iterations
    # Σ λ² is within a few steps of so small a gain.
    assert (early.eigenvalues**2).sum() > 0.95 * (exact.eigenvalues**2).sum()
