"""On exact moments the features come back to rounding, wherever the probabilities are."""

import numpy as np
import pytest

from spectral_spark.ibp.cumulant_decomposition import joint_decomposition
from spectral_spark.ibp.recover import recover_features
from spectral_spark.ibp.solve_features import decompose
from spectral_spark.ibp.source_kinds import kind_named

from .exact_moments import exact_whitened, matched

ROOTS_OF_S4 = [(3 - 3**0.5) / 6, (3 + 3**0.5) / 6]          # π − 7π² + 12π³ − 6π⁴ = 0 at .2113 and .7887
BINARY = {
    "mixed": [0.1, 0.3, 0.6, 0.8],
    "all one half, blind for the third moment": [0.5] * 5,
    "roots of the fourth": [*ROOTS_OF_S4, ROOTS_OF_S4[0]],
    "near the roots": [0.2114, 0.2112, 0.7886, 0.788],
    "halves and roots": [0.5, ROOTS_OF_S4[0], 0.5, ROOTS_OF_S4[1], 0.5],
    "rare": [1e-3, 1e-4, 0.01],
    "nearly always on": [0.999, 0.99, 1 - 1e-4],
    "everything at once": [1e-3, 0.999, 0.5, ROOTS_OF_S4[0], 0.4999, 0.3],
    "single": [0.3],
}


def dictionary_of(rng: np.random.Generator, d: int, k: int) -> np.ndarray:
    return rng.standard_normal((d, k)) * np.linspace(0.5, 2, k)


@pytest.mark.parametrize("probabilities", ["eigenvalues", "mean"])
@pytest.mark.parametrize("case", BINARY)
def test_binary_features_from_exact_moments(case: str, probabilities: str) -> None:
    pi = np.array(BINARY[case])
    truth = dictionary_of(np.random.default_rng(len(case)), 12, len(pi))
    mean, whitening, cumulants = exact_whitened("binary", truth, pi, 0.3)
    assert abs(whitening.noise_variance - 0.3) < 1e-12
    found = recover_features(
        joint_decomposition(cumulants), whitening, mean, kind_named("binary"), np.inf, "auto", probabilities
    )
    assert found.offset == "none"
    order = matched(found.model.dictionary, truth)
    np.testing.assert_allclose(found.model.probabilities[order], pi, atol=1e-8, rtol=1e-6)
    np.testing.assert_allclose(found.model.dictionary[:, order], truth, atol=1e-8)


@pytest.mark.parametrize("solver", ["joint", "paper"])
@pytest.mark.parametrize("kind", ["isfa", "iica"])
@pytest.mark.parametrize("pi", [[0.1, 0.3, 0.6, 0.8], [0.01, 0.99, 0.5], [1e-3, 0.999, 0.2, 0.2], [0.5] * 4, [0.4, 1]])
def test_sparse_factors_from_exact_moments(kind: str, pi: list[float], solver: str) -> None:
    truth = dictionary_of(np.random.default_rng(3), 10, len(pi))
    truth *= np.sign(truth[np.argmax(np.abs(truth), axis=0), np.arange(len(pi))])      # the canonical sign
    mean, whitening, cumulants = exact_whitened(kind, truth, np.array(pi), 0.2)
    decomposition = decompose(cumulants, kind_named(kind), solver, 0)
    found = recover_features(decomposition, whitening, mean, kind_named(kind), np.inf).model
    order = matched(found.dictionary, truth)
    np.testing.assert_allclose(found.probabilities[order], pi, atol=1e-8)
    np.testing.assert_allclose(found.dictionary[:, order], truth, atol=1e-8)
    assert (found.dictionary[np.argmax(np.abs(found.dictionary), axis=0), np.arange(len(pi))] > 0).all()


def test_always_on_gaussian_factors_come_as_principal_axes() -> None:
    rng = np.random.default_rng(5)
    truth, pi = dictionary_of(rng, 10, 4), np.array([1.0, 1.0, 0.3, 1.0])
    mean, whitening, cumulants = exact_whitened("isfa", truth, pi, 0.1)
    found = recover_features(
        decompose(cumulants, kind_named("isfa"), "joint", 0), whitening, mean, kind_named("isfa"), np.inf
    )
    assert found.unidentified == 3
    always = found.model.dictionary[:, found.model.probabilities == 1.0]
    np.testing.assert_allclose(always @ always.T, truth[:, [0, 1, 3]] @ truth[:, [0, 1, 3]].T, atol=1e-8)
    gram = always.T @ always
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-8)
    sparse = found.model.dictionary[:, found.model.probabilities < 1.0][:, 0]
    assert min(np.abs(sparse - truth[:, 2]).max(), np.abs(sparse + truth[:, 2]).max()) < 1e-8


@pytest.mark.parametrize("pi", [[0.1, 0.3, 0.5, 0.8], [0.05, 0.9, 0.45, 0.55]])
def test_paper_split_agrees_with_joint_on_exact_moments(pi: list[float]) -> None:
    truth = dictionary_of(np.random.default_rng(7), 9, len(pi))
    mean, whitening, cumulants = exact_whitened("binary", truth, np.array(pi), 0.2)
    paper = decompose(cumulants, kind_named("binary"), "paper", 1)
    assert paper.solver == "paper"
    found = recover_features(paper, whitening, mean, kind_named("binary"), np.inf).model
    order = matched(found.dictionary, truth)
    np.testing.assert_allclose(found.dictionary[:, order], truth, atol=1e-6)
    np.testing.assert_allclose(found.probabilities[order], pi, atol=1e-6)


@pytest.mark.parametrize("k", [10, 25, 40])
def test_many_features_from_exact_moments(k: int) -> None:
    rng = np.random.default_rng(k)
    truth, pi = rng.standard_normal((60, k)), rng.uniform(0.02, 0.98, k)
    mean, whitening, cumulants = exact_whitened("binary", truth, pi, 0.5)
    decomposition = joint_decomposition(cumulants, starts=3)
    assert decomposition.residual < 1e-10
    found = recover_features(decomposition, whitening, mean, kind_named("binary"), np.inf).model
    order = matched(found.dictionary, truth)
    np.testing.assert_allclose(found.dictionary[:, order], truth, atol=1e-8)
    np.testing.assert_allclose(found.probabilities[order], pi, atol=1e-8)


def test_offset_shows_in_the_mean_and_is_left_free() -> None:
    truth, pi = dictionary_of(np.random.default_rng(9), 8, 3), np.array([0.2, 0.4, 0.5])
    mean, whitening, cumulants = exact_whitened("binary", truth, pi, 0.1)
    centred = recover_features(joint_decomposition(cumulants), whitening, 0 * mean, kind_named("binary"), np.inf)
    assert centred.offset == "free"
    assert centred.offset_misfit == pytest.approx(1.0)
    model = centred.model
    signs = np.sign(truth[np.argmax(np.abs(truth), axis=0), [0, 1, 2]])
    expected_pi = np.where(signs > 0, pi, 1 - pi)                       # z ↔ 1 − z is not identifiable
    order = matched(model.dictionary, truth * signs)
    np.testing.assert_allclose(model.dictionary[:, order], truth * signs, atol=1e-8)
    np.testing.assert_allclose(model.probabilities[order], expected_pi, atol=1e-8)
    np.testing.assert_allclose(model.offset + model.dictionary @ model.probabilities, 0, atol=1e-8)
