"""Whitening with signed eigenvalues."""

import numpy as np
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.solve.whitening import signed_spectrum, whiten


def symmetric(values: list[float], seed: int = 0) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (q * values) @ q.T


def test_whitening_makes_the_second_moment_the_identity() -> None:
    second = symmetric([5.0, 2.0, 0.3, 1e-3, -0.01])
    white = whiten(second, 4)
    np.testing.assert_allclose(white.matrix.T @ second @ white.matrix, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(white.matrix.T @ white.dual, np.eye(4), atol=1e-12)
    assert white.condition == pytest.approx(5.0 / 1e-3)


def test_the_spectrum_keeps_its_signs() -> None:
    values, vectors = signed_spectrum(symmetric([3.0, 1.0, -2.0, -5.0]))
    np.testing.assert_allclose(values, [3.0, 1.0, -2.0, -5.0], atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)


def test_an_indefinite_second_moment_names_the_usable_rank() -> None:
    with pytest.raises(InputError, match=r"only 2 of the 3 largest eigenvalues are positive.*lower `k` to 2"):
        whiten(symmetric([3.0, 1.0, -0.5, -2.0]), 3)
    with pytest.raises(InputError, match="only 2 of the 3"):
        whiten(symmetric([3.0, 1.0, 0.0, 0.0]), 3)


@pytest.mark.parametrize("k", [0, -3, 2.5, True])
def test_k_must_be_a_positive_whole_number(k: object) -> None:
    with pytest.raises(SettingsError, match="not a positive whole number"):
        whiten(np.eye(4), k)  # type: ignore[arg-type]


def test_k_beyond_the_basis_names_both() -> None:
    with pytest.raises(SettingsError, match="5 topics do not fit a basis of 4 columns; lower `k` to at most 4"):
        whiten(np.eye(4), 5)
