"""Edges of noise spectra against simulated random matrices."""

import numpy as np
import pytest

from spectral_spark.solve.document_noise import DocumentNoise, document_noise_edge, pair_noise_edge, word_variances


def test_equal_variances_give_the_semicircle() -> None:
    assert pair_noise_edge(np.full(400, 1.0)) == pytest.approx(2 * np.sqrt(400), rel=1e-4)
    assert pair_noise_edge(np.full(400, 3.0)) == pytest.approx(6 * np.sqrt(400), rel=1e-4)


def test_unequal_variances_match_a_random_matrix() -> None:
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.1, 2.0, 700) ** 2
    noise = rng.standard_normal((700, 700))
    noise = (np.triu(noise) + np.triu(noise, 1).T) * np.sqrt(np.outer(variances, variances))
    assert np.linalg.eigvalsh(noise)[-1] == pytest.approx(pair_noise_edge(variances), rel=0.03)


@pytest.mark.parametrize("heavy", [1.0, 30.0])
def test_document_weights_match_a_random_matrix(heavy: float) -> None:
    rng = np.random.default_rng(1)
    variances = rng.uniform(0.2, 1.5, 500)
    weights = np.r_[np.full(1500, 1.0), np.full(60, heavy)] / 1560
    z = rng.standard_normal((1560, 500)) * np.sqrt(variances)
    matrix = (z * weights[:, None]).T @ z - weights.sum() * np.diag(variances)
    edge = document_noise_edge(variances, DocumentNoise(weights, np.ones(1560)))
    assert np.linalg.eigvalsh(matrix)[-1] == pytest.approx(edge, rel=0.04)


def test_bins_of_documents_equal_the_documents_themselves() -> None:
    each = DocumentNoise(np.repeat([0.001, 0.004], [300, 50]), np.ones(350))
    binned = DocumentNoise(np.array([0.001, 0.004]), np.array([300.0, 50.0]))
    variances = np.full(100, 1.0)
    assert document_noise_edge(variances, binned) == pytest.approx(document_noise_edge(variances, each), rel=1e-6)


def test_square_root_scaling_makes_words_equally_noisy() -> None:
    mean = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(word_variances(mean**-0.5, mean), 1.0)
