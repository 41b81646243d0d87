"""Brute force: moments by enumeration and in exact integers, and small loops in place of the engine."""

from collections.abc import Iterable, Mapping
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from spectral_spark.data.count_batch import CountBatch, selected_documents


def batch_of(counts: np.ndarray, nodes: np.ndarray | None = None) -> CountBatch:
    """Dense counts (n, d) as a batch, words that do not occur left out."""
    counts = np.asarray(counts, dtype=float)
    rows, terms = np.nonzero(counts)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(counts)))))
    nodes = np.zeros(len(counts), dtype=np.int32) if nodes is None else np.asarray(nodes, dtype=np.int32)
    return CountBatch(
        indptr, terms.astype(np.int32), counts[rows, terms], nodes, np.arange(len(counts)), counts.shape[1]
    )


def slices(batch: CountBatch, size: int) -> list[CountBatch]:
    """Consecutive batches of ``size`` documents."""
    order = np.arange(batch.n_documents) // size
    return [selected_documents(batch, order == number) for number in range(order.max(initial=-1) + 1)]


def run(kernel: object, shared: Mapping[str, np.ndarray], batches: Iterable[CountBatch]) -> dict[str, np.ndarray]:
    accumulator = kernel.start(shared)  # type: ignore[attr-defined]
    for batch in batches:
        accumulator.add(batch)
    return accumulator.arrays()


def enumerated(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """φ1, φ2, φ3 of one document by looking at every ordered choice of distinct words."""
    d = len(counts)
    words = np.repeat(np.arange(d), np.asarray(counts, dtype=int))
    first, second, third = np.zeros(d), np.zeros((d, d)), np.zeros((d, d, d))
    for a in words:
        first[a] += 1
    for a, b in permutations(range(len(words)), 2):
        second[words[a], words[b]] += 1
    for a, b, c in permutations(range(len(words)), 3):
        third[words[a], words[b], words[c]] += 1
    return first / first.sum(), second / second.sum(), third / third.sum()


def exact(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same from the formula, numerators in Python integers: no rounding before the one division."""
    d = len(counts)
    c = np.array([int(x) for x in counts], dtype=object)
    m = int(sum(c))
    second = np.multiply.outer(c, c) - np.diag(c)
    third = np.multiply.outer(np.multiply.outer(c, c), c)
    for i in range(d):
        for j in range(d):
            third[i, i, j] -= c[i] * c[j]
            third[i, j, i] -= c[i] * c[j]
            third[j, i, i] -= c[i] * c[j]
        third[i, i, i] += 2 * c[i]
    pairs, triples = m * (m - 1), m * (m - 1) * (m - 2)
    return (
        np.array([x / m for x in c]),
        np.array([x / pairs for x in second.ravel()]).reshape(d, d),
        np.array([x / triples for x in third.ravel()]).reshape(d, d, d),
    )


def moments(
    counts: np.ndarray, weights: np.ndarray, projection: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ η φ_r(B, …, B) over the rows of ``counts``."""
    b = projection
    leaves = [exact(row) for row in counts]
    first = sum(w * leaf[0] for w, leaf in zip(weights, leaves, strict=True))
    second = sum(w * leaf[1] for w, leaf in zip(weights, leaves, strict=True))
    third = sum(w * leaf[2] for w, leaf in zip(weights, leaves, strict=True))
    return b.T @ first, b.T @ second @ b, np.einsum("abc,ai,bj,cl->ijl", third, b, b, b, optimize=True)


@pytest.fixture(scope="session")
def brute() -> SimpleNamespace:
    return SimpleNamespace(
        batch_of=batch_of, slices=slices, run=run, enumerated=enumerated, exact=exact, moments=moments
    )
