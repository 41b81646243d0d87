"""From an additive state to features: no pass over any rows."""

import numpy as np

from spectral_spark.errors import InputError
from spectral_spark.ibp.cumulant_decomposition import CumulantDecomposition, joint_decomposition
from spectral_spark.ibp.cumulants import WhitenedCumulants, gaussian_fourth
from spectral_spark.ibp.feature_state import PAIRWISE, FeatureBasis, FeatureState
from spectral_spark.ibp.frame_moments import pair_products_of
from spectral_spark.ibp.packed_cumulants import unpack4
from spectral_spark.ibp.paper_split import paper_decomposition
from spectral_spark.ibp.row_whitening import RowWhitening, refuse_below_noise
from spectral_spark.ibp.source_kinds import Kind
from spectral_spark.ibp.spectrum import Spectrum, exact_spectrum, pairwise_spectrum
from spectral_spark.moments.symmetric_packing import unpack2

_SMALLEST = 1e-8


def make_basis(mean: np.ndarray, spectrum: Spectrum, whitening: RowWhitening, size: int) -> FeatureBasis:
    """A basis around the mean: the whitened directions of the features, then the next ones of the spectrum."""
    k = whitening.matrix.shape[1]
    size = max(k, min(size, len(spectrum.values)))
    scale = np.sqrt(np.maximum(spectrum.values[k:size], _SMALLEST * spectrum.values[0]))
    return FeatureBasis(mean, np.hstack([whitening.matrix, spectrum.vectors[:, k:size] / scale]))


def state_spectrum(state: FeatureState) -> Spectrum:
    """Eigenpairs of the covariance: all of them up to 1,024 columns, beyond those within the basis."""
    if not state.is_full:
        values, vectors = _within(state)
        return Spectrum(values, vectors, state.total_variance(), float(state.sums["projected"][0]))
    if state.missing == PAIRWISE:
        return pairwise_spectrum(state.covariance(), unpack2(state.sums["pair_counts"], state.basis.width), state.rows)
    return exact_spectrum(state.covariance(), state.rows)


def whiten_state(state: FeatureState, k: int, noise: float) -> RowWhitening:
    """Whitening by k directions of the basis.

    The features are lifted with the whole covariance, where it is known: (cov − σ²I) W v_i = √q_i φ_i holds for every W
    in the basis, so that what features have outside of it is found as well.
    """
    values, vectors = _within(state)
    signal = values[:k] - noise
    refuse_below_noise(signal, 1e-14 * values[0], k, noise)
    matrix = vectors[:, :k] / np.sqrt(signal)
    if not state.is_full:
        return RowWhitening(matrix, vectors[:, :k] * np.sqrt(signal), noise)
    return RowWhitening(matrix, state.covariance() @ matrix - noise * matrix, noise)


def state_cumulants(state: FeatureState, whitening: RowWhitening, mean: np.ndarray) -> WhitenedCumulants:
    """Whitened cumulants; what noise of unequal variance leaves in the fourth is subtracted."""
    turn = state.basis.lift.T @ whitening.matrix
    moments = state.frame_moments().turned(turn).central()
    fourth = moments.fourth - gaussian_fourth(moments.second)
    if "noise_fourth" in state.sums:
        n, pairs = state.sums["projected"][0], pair_products_of(turn)
        every = pairs.T @ unpack4(state.sums["noise_fourth"] / n, state.basis.size) @ pairs
        same = gaussian_fourth(turn.T @ (state.sums["noise_second"] / n) @ turn)
        fourth -= whitening.noise_variance**2 * (every - same)
    return WhitenedCumulants(whitening.matrix.T @ mean, moments.third, fourth)


def decompose(cumulants: WhitenedCumulants, kind: Kind, solver: str, seed: int) -> CumulantDecomposition:
    """The decomposition by the solver of that name; W3 is not used if y is symmetric."""
    if solver == "paper":
        return paper_decomposition(cumulants, third=kind.is_binary, seed=seed)
    if kind.is_binary:
        return joint_decomposition(cumulants, seed=seed)
    return joint_decomposition(cumulants, third_weight=0.0, seed=seed)


def check_size(k: int, state: FeatureState) -> None:
    """Raise if the state does not have the moments of k features."""
    if k > state.basis.size:
        raise InputError(f"k = {k}, but third and fourth moments were kept in {state.basis.size} directions; give a "
                         f"smaller k, or fit again with `basisSize={min(k + 4, 40)}`")


def _within(state: FeatureState) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors (d, p) of the covariance within the basis, largest first."""
    lengths = np.linalg.norm(state.basis.directions, axis=0)
    unit = state.basis.directions / lengths
    small = unit.T @ state.covariance() @ unit if state.is_full else _projected_covariance(state, lengths)
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values[::-1], unit @ rotation[:, ::-1]


def _projected_covariance(state: FeatureState, lengths: np.ndarray) -> np.ndarray:
    """From the coordinates of the rows; missing values raise the noise in them from σ² to σ² E G⁻¹, which is undone."""
    scale = np.outer(lengths, lengths)
    second = state.frame_moments().central().second / scale
    if "noise_second" not in state.sums:
        return np.asarray(second)
    inflated = state.sums["noise_second"] / state.sums["projected"][0] / scale
    noise = (state.total_variance() - np.trace(second)) / (state.basis.width - np.trace(inflated))
    return np.asarray(second - max(float(noise), 0.0) * (inflated - np.eye(len(lengths))))


def captured_share(state: FeatureState, k: int) -> float:
    """How much of the variance of the k strongest directions of all rows lies in the basis; 1 where that is unknown."""
    if not state.is_full:
        return 1.0
    everywhere = np.linalg.eigvalsh(state.covariance())[::-1][:k].sum()
    return float(_within(state)[0][:k].sum() / everywhere)
