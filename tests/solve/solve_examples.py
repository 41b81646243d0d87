"""Moments by other means than the library's: Dirichlet moments layer by layer, and dense sums over documents."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_spark.ingest.simulate import SimulatedCorpus
from spectral_spark.moments.projection import ProjectedMoments


@dataclass(frozen=True, eq=False)
class Example:
    """Topics with moments in a basis that contains them."""

    topics: np.ndarray
    weights: np.ndarray
    moments: ProjectedMoments
    projection: np.ndarray
    lift: np.ndarray
    scale: np.ndarray

    @property
    def mean_words(self) -> np.ndarray:
        return self.topics @ self.weights


def orthogonal_tensor(values: np.ndarray, seed: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Σ λ v⊗v⊗v plus symmetric noise, and the v."""
    rng, k = np.random.default_rng(seed), len(values)
    vectors = np.linalg.qr(rng.standard_normal((k, k)))[0]
    tensor = np.einsum("r,ir,jr,lr->ijl", values, vectors, vectors, vectors)
    random = rng.standard_normal((k, k, k))
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return tensor + noise * sum(random.transpose(order) for order in orders) / 6.0, vectors


def dirichlet_layer(g: float, moments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Raw moments E p, E p⊗p, E p⊗p⊗p of p ~ Dirichlet(g π) from those of π."""
    first, second, third = moments
    k = len(first)
    eye = np.eye(k)
    pair = (g * second + np.diag(first)) / (g + 1.0)
    placed = np.einsum("ij,jl->ijl", eye, second)
    same = np.einsum("ij,jl,l->ijl", eye, eye, first)
    triple = g * g * third + g * (placed + placed.transpose(0, 2, 1) + placed.transpose(2, 1, 0)) + 2.0 * same
    return first, pair, triple / ((g + 1.0) * (g + 2.0))


def document_moments(weights: np.ndarray, paths: Sequence[Sequence[float]], shares: Sequence[float]) -> tuple:
    """Raw moments of the proportions of documents whose paths have these concentrations, mixed by ``shares``."""
    root = (weights, np.outer(weights, weights), np.einsum("i,j,l->ijl", weights, weights, weights))
    total = [0.0, 0.0, 0.0]
    for path, share in zip(paths, shares, strict=True):
        moments = root
        for g in path:
            moments = dirichlet_layer(g, moments)
        total = [one + share * part for one, part in zip(total, moments, strict=True)]
    return tuple(total)


def exact_example(
    k: int, paths: Sequence[Sequence[float]], shares: Sequence[float], seed: int, d: int = 60, extra: int = 4
) -> Example:
    """Population moments in a scaled basis of k + extra columns whose range holds the topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(d, 0.2), k).T
    weights = rng.dirichlet(np.full(k, 3.0))
    first, second, third = document_moments(weights, paths, shares)
    scale = (topics @ weights + 1e-3) ** -0.5
    directions = np.linalg.qr(np.c_[scale[:, None] * topics, rng.standard_normal((d, extra))])[0]
    rotation = np.linalg.qr(rng.standard_normal((k + extra, k + extra)))[0]
    projection = scale[:, None] * (directions @ rotation)
    inside = projection.T @ topics
    moments = ProjectedMoments(
        inside @ first,
        inside @ second @ inside.T,
        np.einsum("abc,ia,jb,lc->ijl", third, inside, inside, inside, optimize=True),
    )
    return Example(topics, weights, moments, projection, projection / scale[:, None] ** 2, scale)


def dense_moments(counts: np.ndarray, projection: np.ndarray, eta: np.ndarray) -> ProjectedMoments:
    """Weighted unbiased moments of documents, counts (n, d), from their definition; weights need not sum to one."""
    eta = eta / eta.sum()
    m = counts.sum(axis=1)
    y, pair, triple = counts @ projection, eta / (m * (m - 1)), eta / (m * (m - 1) * (m - 2))
    outer = np.einsum("wi,wj->wij", projection, projection)
    second = np.einsum("n,ni,nj->ij", pair, y, y, optimize=True) - np.einsum("w,wij->ij", pair @ counts, outer)
    mixed = np.einsum("wij,wl->ijl", outer, (counts * triple[:, None]).T @ y, optimize=True)
    same = np.einsum("w,wij,wl->ijl", triple @ counts, outer, projection, optimize=True)
    cubes = np.einsum("n,ni,nj,nl->ijl", triple, y, y, y, optimize=True)
    third = cubes - mixed - mixed.transpose(0, 2, 1) - mixed.transpose(2, 1, 0) + 2.0 * same
    return ProjectedMoments((eta / m) @ y, second, third)


def scaled_basis(counts: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Projection and lift (d, p), scale and mean words (d,): leading eigenvectors of the scaled second moment."""
    n, d = counts.shape
    m = counts.sum(axis=1)
    mean = (counts / m[:, None]).mean(axis=0)
    scale = (mean + 0.1 / d) ** -0.5
    weighted = counts / (n * m * (m - 1))[:, None]
    second = scale[:, None] * (weighted.T @ counts - np.diag(weighted.sum(axis=0))) * scale
    values, vectors = np.linalg.eigh(second)
    leading = vectors[:, np.argsort(-np.abs(values))[: p - 1]]
    directions = np.linalg.qr(np.c_[leading, scale * mean])[0]
    return scale[:, None] * directions, directions / scale[:, None], scale, mean


def dense_counts(corpus: SimulatedCorpus) -> np.ndarray:
    return np.asarray(corpus.batch.matrix.todense())


def matched_error(found: np.ndarray, truth: np.ndarray) -> float:
    """Largest entry-wise difference after matching each true column with its nearest found one."""
    distance = np.abs(found[:, :, None] - truth[:, None, :]).sum(axis=0)
    nearest = distance.argmin(axis=0)
    assert len(set(nearest)) == truth.shape[1]
    return float(np.abs(found[:, nearest] - truth).max())


def nearest(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """For each true column the nearest found one."""
    return np.abs(found[:, :, None] - truth[:, None, :]).sum(axis=0).argmin(axis=0)
