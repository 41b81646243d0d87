"""The solvers on tensors whose answer is known, on noise, and on nonsense."""

import numpy as np
import pytest
from solve_examples import orthogonal_tensor

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.moments.sketch_hashes import SketchHashes
from spectral_spark.solve import SOLVERS, solve_tensor
from spectral_spark.solve.sketch import CountSketch
from spectral_spark.solve.symmetric_tensor import PairTensor, rank_one_sum, sym3, symmetrised, transformed

VALUES = np.array([9.0, 6.0, 5.0, 4.5, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0])
OPTIONS = {"sketch": {"n_sketches": 6}}


@pytest.mark.parametrize("solver", SOLVERS)
def test_orthogonal_tensor_is_decomposed(solver: str) -> None:
    tensor, vectors = orthogonal_tensor(VALUES, seed=1)
    found = solve_tensor(tensor, solver, seed=2, **OPTIONS.get(solver, {}))
    assert found.converged
    assert found.solver == solver
    np.testing.assert_allclose(found.eigenvalues, VALUES, atol=1e-9)
    np.testing.assert_allclose(found.vectors, vectors, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_noise_perturbs_the_answer_in_proportion(solver: str) -> None:
    errors = []
    for noise in (1e-4, 1e-2):
        tensor, vectors = orthogonal_tensor(VALUES, seed=1, noise=noise)
        found = solve_tensor(tensor, solver, seed=2, **OPTIONS.get(solver, {}))
        assert found.converged
        errors.append(np.abs(found.vectors - vectors).max())
    assert errors[0] < 1e-3
    assert errors[1] < 0.1


@pytest.mark.parametrize("solver", SOLVERS)
def test_negative_eigenvalues_turn_their_vector(solver: str) -> None:
    tensor, vectors = orthogonal_tensor(np.array([5.0, -4.0, 3.0]), seed=4)
    found = solve_tensor(tensor, solver)
    np.testing.assert_allclose(found.eigenvalues, [5.0, 4.0, 3.0], atol=1e-9)
    np.testing.assert_allclose(found.vectors, vectors * [1.0, -1.0, 1.0], atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed_same_bits(solver: str) -> None:
    tensor, _ = orthogonal_tensor(VALUES, seed=1, noise=0.05)
    one, two = (solve_tensor(tensor, solver, seed=7, **OPTIONS.get(solver, {})) for _ in range(2))
    assert one.vectors.tobytes() == two.vectors.tobytes()
    assert one.eigenvalues.tobytes() == two.eigenvalues.tobytes()
    assert one.residual == two.residual


def test_residual_is_the_relative_distance_to_the_tensor() -> None:
    tensor, _ = orthogonal_tensor(VALUES, seed=1, noise=0.3)
    found = solve_tensor(tensor)
    v = found.vectors
    rest = tensor - np.einsum("r,ir,jr,lr->ijl", found.eigenvalues, v, v, v)
    assert found.residual == pytest.approx(np.sqrt((rest**2).sum() / (tensor**2).sum()), rel=1e-12)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("polar", {"max_iterations": 2}),
        ("implicit", {"max_iterations": 2}),
        ("als", {"max_iterations": 3, "orthogonal_iterations": 2}),
        ("power", {"iterations": 1, "final_iterations": 1, "starts": 1, "polish": False}),
        ("sketch", {"max_iterations": 2, "polish": False}),
    ],
)
def test_a_solver_that_was_stopped_says_so(solver: str, options: dict[str, object]) -> None:
    tensor, _ = orthogonal_tensor(VALUES, seed=1, noise=0.05)
    found = solve_tensor(tensor, solver, **options)
    assert not found.converged
    assert np.isfinite(found.vectors).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["zero", "one topic of three", "noise"])
def test_degenerate_tensors_give_finite_results(solver: str, kind: str) -> None:
    tensor = {
        "zero": np.zeros((3, 3, 3)),
        "one topic of three": orthogonal_tensor(np.array([2.0, 0.0, 0.0]), seed=0)[0],
        "noise": orthogonal_tensor(np.zeros(5), seed=0, noise=1.0)[0],
    }[kind]
    found = solve_tensor(tensor, solver)
    for array in (found.eigenvalues, found.vectors, np.array(found.residual)):
        assert np.isfinite(array).all()


def test_polar_keeps_the_best_of_several_starts() -> None:
    tensor, _ = orthogonal_tensor(np.zeros(12), seed=3, noise=1.0)
    heights = [(solve_tensor(tensor, seed=5, starts=n).eigenvalues ** 2).sum() for n in (1, 8)]
    assert heights[1] > heights[0]


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_polar_ends_on_a_summit_of_a_noisy_tensor(noise: float) -> None:
    """At a maximum over orthogonal matrices VᵀG diag(λ), G = T(I, v, v), is symmetric; plain iteration needs hundreds
    of steps to get there on a tensor that is half noise."""
    tensor, _ = orthogonal_tensor(np.linspace(1.0, 3.0, 20), seed=8, noise=noise)
    found = solve_tensor(tensor, starts=1)
    v = found.vectors
    inner = v.T @ np.einsum("ijl,jr,lr->ir", tensor, v, v) * found.eigenvalues
    assert found.converged
    assert found.iterations < 200
    assert np.abs(inner - inner.T).max() < 1e-5 * found.eigenvalues.max() ** 2
    np.testing.assert_allclose(v.T @ v, np.eye(20), atol=1e-12)


def test_qr_keeps_als_from_losing_topics() -> None:
    tensor, vectors = orthogonal_tensor(np.full(30, 1.0), seed=6, noise=0.003)
    found = solve_tensor(tensor, "als").vectors
    assert np.abs(found.T @ vectors).max(axis=0).min() > 0.95
    plain = solve_tensor(tensor, "als", orthogonal_iterations=0).vectors
    assert np.abs(plain.T @ vectors).max(axis=0).min() < 0.95


@pytest.mark.parametrize("solver", SOLVERS)
def test_bad_tensors_are_refused(solver: str) -> None:
    with pytest.raises(InputError, match="not \\(k, k, k\\)"):
        solve_tensor(np.zeros((3, 3, 2)), solver)
    with pytest.raises(InputError, match="1 of 27 entries are not finite"):
        solve_tensor(np.where(np.arange(27).reshape(3, 3, 3) == 5, np.nan, 1.0), solver)


def test_unknown_solver_and_bad_options_name_the_choices() -> None:
    with pytest.raises(SettingsError, match="'jacobi' is unknown; choose one of polar, power, als, sketch"):
        solve_tensor(np.zeros((2, 2, 2)), "jacobi")
    with pytest.raises(SettingsError, match=r"polar.*has no option 'sketch_length'.*starts"):
        solve_tensor(np.zeros((2, 2, 2)), "polar", sketch_length=8)
    with pytest.raises(SettingsError, match=r"sketch_length = 0 is too small"):
        solve_tensor(np.zeros((2, 2, 2)), "sketch", sketch_length=0)


def test_contractions_equal_einsum() -> None:
    rng = np.random.default_rng(0)
    tensor, x = symmetrised(rng.standard_normal((6, 6, 6))), rng.standard_normal((6, 4))
    np.testing.assert_allclose(PairTensor(tensor).contract(x), np.einsum("ijl,jr,lr->ir", tensor, x, x), atol=1e-13)
    np.testing.assert_allclose(transformed(tensor, x), np.einsum("abc,ai,bj,cl->ijl", tensor, x, x, x), atol=1e-12)
    values = rng.standard_normal(4)
    np.testing.assert_allclose(
        rank_one_sum(values, x), np.einsum("r,ir,jr,lr->ijl", values, x, x, x), atol=1e-13
    )
    matrix = x @ x.T
    expected = (
        np.einsum("ij,l->ijl", matrix, x[:, 0]) + np.einsum("il,j->ijl", matrix, x[:, 0])
        + np.einsum("jl,i->ijl", matrix, x[:, 0])
    )
    np.testing.assert_allclose(sym3(matrix, x[:, 0]), expected, atol=1e-13)


def test_sketched_contraction_is_unbiased_with_known_spread() -> None:
    rng = np.random.default_rng(0)
    tensor, x = symmetrised(rng.standard_normal((5, 5, 5))), rng.standard_normal((5, 2))
    exact = np.einsum("ijl,jr,lr->ir", tensor, x, x)

    def estimated(length: int) -> np.ndarray:
        return CountSketch.of_tensor(tensor, SketchHashes.draw(len(tensor), length, rng)).contract(x)

    estimates = np.array([estimated(64) for _ in range(600)])
    standard_error = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - exact) < 4.5 * standard_error).all()
    longer = np.array([estimated(1024) for _ in range(100)])
    assert (longer.std(axis=0) < 0.5 * estimates.std(axis=0)).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_numbers_beyond_all_measure_are_refused(solver: str) -> None:
    tensor, _ = orthogonal_tensor(np.array([3.0, 2.0]), 0)
    with pytest.raises(InputError, match=r"entries up to .*e\+160 cannot be squared"):
        solve_tensor(1e160 * tensor, solver)
    with pytest.raises(SettingsError, match="'many' is not a number"):
        solve_tensor(tensor, solver, tolerance="many")
