"""Whitening: the basis in which the topics' second moment is the identity and topics are orthogonal (formulas §4)."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.errors import InputError, SettingsError

# Directions below this share of the largest eigenvalue are rounding errors.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Whitening:
    """WᵀS2W = I_k from the k largest eigenvalues of S2.

    Attributes
    ----------
    matrix : array of shape (p, k), W = U s^(−1/2).
    dual : array of shape (p, k), (W†)ᵀ = U s^(1/2).
    spectrum : array of shape (p,), all eigenvalues of S2 with their signs, largest first.
    """

    matrix: np.ndarray
    dual: np.ndarray
    spectrum: np.ndarray

    @property
    def condition(self) -> float:
        """The largest over the smallest eigenvalue kept."""
        return float(self.spectrum[0] / self.spectrum[self.matrix.shape[1] - 1])


def signed_spectrum(second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ritz values of S2 with their signs, largest first (p,), and their vectors (p, p) with a fixed sign."""
    values, vectors = np.linalg.eigh((second + second.T) / 2.0)
    values, vectors = values[::-1], vectors[:, ::-1]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))]
    return values.copy(), vectors * np.where(peaks < 0, -1.0, 1.0)


def usable_rank(spectrum: np.ndarray) -> int:
    """How many eigenvalues are positive beyond rounding."""
    return int((spectrum > ROUNDING * np.abs(spectrum).max(initial=0.0)).sum())


def check_k(k: int, basis_size: int) -> None:
    """Refuse a number of topics the basis cannot hold."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise SettingsError(f"k: {k!r} is not a positive whole number; pass a number of topics or 'auto'")
    if k > basis_size:
        raise SettingsError(
            f"k: {k} topics do not fit a basis of {basis_size} columns; "
            f"lower `k` to at most {basis_size} or raise `basisSize`"
        )


def whiten(second: np.ndarray, k: int) -> Whitening:
    """Whiten S2 (p, p) with its k largest eigenvalues.

    An S2 with fewer than k positive eigenvalues is refused: the missing directions would be pure noise.
    """
    check_k(k, len(second))
    spectrum, vectors = signed_spectrum(second)
    usable = usable_rank(spectrum)
    if usable == 0:
        raise InputError(
            f"second moment: no eigenvalue is positive (the largest is {spectrum[0]:.3g}): words do not occur together "
            "more than chance; use smaller `concentrations`, or more or longer documents"
        )
    if usable < k:
        raise InputError(
            f"second moment: only {usable} of the {k} largest eigenvalues are positive (number {usable + 1} is "
            f"{spectrum[usable]:.3g}, the largest {spectrum[0]:.3g}); lower `k` to {usable} or less, "
            "use smaller `concentrations`, or more documents"
        )
    roots = np.sqrt(spectrum[:k])
    return Whitening(vectors[:, :k] / roots, vectors[:, :k] * roots, spectrum)


def whiten_unsigned(second: np.ndarray, k: int) -> Whitening:
    """Whiten S2 (p, p) with its k largest singular values, as the paper does: negative eigenvalues count as positive.

    WᵀS2W is then diagonal with entries 1 and −1. ``spectrum`` keeps the signs, in the order of the singular values.
    """
    check_k(k, len(second))
    spectrum, vectors = signed_spectrum(second)
    order = np.argsort(-np.abs(spectrum), kind="stable")
    spectrum, vectors = spectrum[order], vectors[:, order]
    usable = usable_rank(np.abs(spectrum))
    if usable < k:
        raise InputError(f"second moment: its rank is {usable}, less than the {k} topics; lower `k` to {usable}")
    roots = np.sqrt(np.abs(spectrum[:k]))
    return Whitening(vectors[:, :k] / roots, vectors[:, :k] * roots, spectrum)
