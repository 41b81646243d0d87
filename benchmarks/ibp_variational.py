"""The infinite variational method for the Indian Buffet Process, the competitor that the paper compares with.

Doshi-Velez, Miller, Van Gael and Teh, "Variational inference for the Indian Buffet Process" (2009): sticks v_k ~
Beta(α, 1) with π_k = v_1 ⋯ v_k, binary z_nk ~ π_k, rows x_n ~ N(z_n A, σ² I), features A_k ~ N(0, σ_A² I). The
posterior is approximated by independent Beta(τ_k1, τ_k2), Bernoulli(ν_nk) and N(φ_k, s_k I), truncated at K features;
the term E log(1 − v_1 ⋯ v_k) is bounded below with a multinomial over the sticks. Every update raises the bound.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, xlogy


@dataclass(eq=False)
class VariationalState:
    """Sticks τ (K, 2), codes ν (n, K), features φ (K, d) with variances s (K,)."""

    sticks: np.ndarray
    codes: np.ndarray
    features: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """The dictionary (d, K) and probabilities (K,) at the end, the bound after every round, and the noise variance."""

    dictionary: np.ndarray
    probabilities: np.ndarray
    bounds: list[float]
    noise_variance: float


def fit_variational(
    values: np.ndarray, truncation: int, seed: int, noise_variance: float, *, alpha: float = 2.0,
    feature_variance: float = 1.0, rounds: int = 200, tolerance: float = 1e-4,
) -> VariationalFit:
    """Rounds of coordinate ascent until the bound of a round rises by less than ``tolerance`` per row."""
    n, d = values.shape
    rng = np.random.default_rng(seed)
    state = VariationalState(
        np.column_stack([np.full(truncation, alpha), np.ones(truncation)]), rng.uniform(0.2, 0.8, (n, truncation)),
        0.1 * np.sqrt(feature_variance) * rng.standard_normal((truncation, d)), np.full(truncation, feature_variance),
    )
    bounds: list[float] = []
    for _ in range(rounds):
        _update_features(values, state, noise_variance, feature_variance)
        _update_sticks(state, alpha)
        _update_codes(values, state, noise_variance)
        bounds.append(lower_bound(values, state, noise_variance, alpha, feature_variance))
        if len(bounds) > 1 and bounds[-1] - bounds[-2] < tolerance * n:
            break
    return VariationalFit(state.features.T, state.codes.mean(axis=0), bounds, noise_variance)


def _update_features(values: np.ndarray, state: VariationalState, noise: float, feature_variance: float) -> None:
    residual = values - state.codes @ state.features
    for k in range(len(state.features)):
        column = state.codes[:, k]
        residual += np.outer(column, state.features[k])
        state.variances[k] = 1 / (1 / feature_variance + column.sum() / noise)
        state.features[k] = state.variances[k] * (column @ residual) / noise
        residual -= np.outer(column, state.features[k])


def _update_codes(values: np.ndarray, state: VariationalState, noise: float) -> None:
    log_on, log_off = _log_sticks(state.sticks), _log_off(state.sticks)[0]
    residual = values - state.codes @ state.features
    for k, feature in enumerate(state.features):
        residual += np.outer(state.codes[:, k], feature)
        size = feature @ feature + len(feature) * state.variances[k]
        odds = log_on[k] - log_off[k] + (residual @ feature - 0.5 * size) / noise
        state.codes[:, k] = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
        residual -= np.outer(state.codes[:, k], feature)


def _update_sticks(state: VariationalState, alpha: float) -> None:
    """τ for the multinomial that makes the bound tight at the present sticks."""
    on = state.codes.sum(axis=0)
    off = len(state.codes) - on
    shares = _log_off(state.sticks)[1]
    truncation = len(on)
    for k in range(truncation):
        beyond = sum(off[m] * shares[m, k + 1 : m + 1].sum() for m in range(k + 1, truncation))
        state.sticks[k, 0] = alpha + on[k:].sum() + beyond
        state.sticks[k, 1] = 1 + (off[k:] * shares[k:, k]).sum()


def _log_sticks(sticks: np.ndarray) -> np.ndarray:
    """E log π_k."""
    return np.cumsum(digamma(sticks[:, 0]) - digamma(sticks.sum(axis=1)))


def _log_off(sticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bound of E log(1 − π_k), shape (K,), and the multinomials (K, K) that make it tight."""
    total = digamma(sticks.sum(axis=1))
    on, off = digamma(sticks[:, 0]) - total, digamma(sticks[:, 1]) - total
    terms = off + np.concatenate(([0.0], np.cumsum(on)[:-1]))            # E log of (1 − v_i) v_1 ⋯ v_(i−1)
    size = len(sticks)
    logits = np.where(np.tri(size, dtype=bool), terms, -np.inf)
    highest = logits.max(axis=1, keepdims=True)
    weights = np.exp(logits - highest)
    totals = weights.sum(axis=1, keepdims=True)
    return (highest + np.log(totals)).ravel(), weights / totals


def lower_bound(
    values: np.ndarray, state: VariationalState, noise: float, alpha: float, feature_variance: float
) -> float:
    """The evidence lower bound, natural logarithm."""
    n, d = values.shape
    codes, features, variances, sticks = state.codes, state.features, state.variances, state.sticks
    total = digamma(sticks.sum(axis=1))
    log_v, log_rest = digamma(sticks[:, 0]) - total, digamma(sticks[:, 1]) - total
    bound = (np.log(alpha) + (alpha - 1) * log_v).sum()
    bound += (codes * _log_sticks(sticks) + (1 - codes) * _log_off(sticks)[0]).sum()
    bound -= 0.5 * (d * np.log(2 * np.pi * feature_variance)
                    + ((features**2).sum(axis=1) + d * variances) / feature_variance).sum()
    sizes = (features**2).sum(axis=1)
    spread = (codes * (sizes + d * variances)).sum() - (codes**2 @ sizes).sum()
    squares = ((values - codes @ features) ** 2).sum() + spread
    bound -= 0.5 * n * d * np.log(2 * np.pi * noise) + 0.5 * squares / noise
    bound -= ((sticks[:, 0] - 1) * log_v + (sticks[:, 1] - 1) * log_rest - betaln(*sticks.T)).sum()
    bound -= (xlogy(codes, codes) + xlogy(1 - codes, 1 - codes)).sum()
    return float(bound + 0.5 * d * (np.log(2 * np.pi * variances) + 1).sum())
