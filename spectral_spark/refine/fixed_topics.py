"""Proportions of documents under fitted topics: one code for Spark's executors, for pandas and for ``TopicModel``."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.refine.fold_in import infer

Path = tuple[str, ...]
DOCUMENTS_AT_ONCE = 2048          # bounds the memory; a document's proportions do not depend on the others


@dataclass(frozen=True, eq=False)
class FixedTopics:
    """Fitted topics and the proportions of the tree's nodes.

    Attributes
    ----------
    topics : array of shape (d, k), positive, columns sum to one.
    node_prior : array of shape (nodes, k), rows sum to one.
    concentration : of documents around their node.
    iterations : fixed-point iterations per document.
    backend : "auto", "numba" or "numpy". The two agree up to rounding; each alone gives the same bits everywhere.
    """

    topics: np.ndarray
    node_prior: np.ndarray
    concentration: float
    iterations: int = 50
    backend: str = "auto"

    def of(self, batch: CountBatch) -> np.ndarray:
        """Posterior-mean proportions of shape (n, k); a document without words has those of its node."""
        found = [
            infer(part, self.topics, self.node_prior, self.concentration, self.iterations, self.backend)
            for part in _parts(batch)
        ]
        return np.concatenate(found) if found else np.zeros((0, self.topics.shape[1]))

    def of_counts(
        self, terms: np.ndarray, starts: np.ndarray, counts: np.ndarray, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Proportions (n, k) of raw rows, and a bool array (n,): which of the rows could be used."""
        batch, good = usable_counts(terms, starts, counts, starts, nodes, len(self.topics))
        with threadpool_limits(1):
            return self.of(batch), good


def usable_counts(
    terms: np.ndarray, starts: np.ndarray, counts: np.ndarray, count_starts: np.ndarray, nodes: np.ndarray,
    vocab_size: int, keys: np.ndarray | None = None,
) -> tuple[CountBatch, np.ndarray]:
    """The known words of raw documents, and which documents have counts that can be used.

    Parameters
    ----------
    terms, starts : word ids, and where each document's begin, of shape (n + 1,).
    counts, count_starts : the same of their counts; a document with more of one than of the other is not used, nor is
        one with a count that is negative or not a number.
    nodes, keys : arrays of shape (n,), the tree node and the key of each document.
    """
    n = len(starts) - 1
    good = np.diff(starts) == np.diff(count_starts)
    if not good.all():
        keep = np.repeat(good, np.diff(starts)), np.repeat(good, np.diff(count_starts))
        terms, counts = terms[keep[0]], counts[keep[1]]
        starts = np.concatenate(([0], np.cumsum(np.where(good, np.diff(starts), 0))))
    owner = np.repeat(np.arange(n), np.diff(starts))
    good[owner[~((counts >= 0) & np.isfinite(counts))]] = False
    used = (counts > 0) & (terms >= 0) & (terms < vocab_size) & good[owner]
    starts = np.concatenate(([0], np.cumsum(np.bincount(owner[used], minlength=n))))
    batch = CountBatch(
        starts.astype(np.int32), terms[used].astype(np.int32), counts[used], nodes,
        np.zeros(n, np.int64) if keys is None else keys, vocab_size,
    )
    return batch, good


def _parts(batch: CountBatch) -> Iterable[CountBatch]:
    for first in range(0, batch.n_documents, DOCUMENTS_AT_ONCE):
        last = min(first + DOCUMENTS_AT_ONCE, batch.n_documents)
        entries = slice(batch.indptr[first], batch.indptr[last])
        yield CountBatch(
            batch.indptr[first : last + 1] - batch.indptr[first], batch.terms[entries], batch.counts[entries],
            batch.nodes[first:last], batch.keys[first:last], batch.vocab_size,
        )


@dataclass(frozen=True, eq=False)
class NodeFinder:
    """Tree nodes by their paths, as Spark finds them by the hashes of the paths."""

    paths: tuple[Path, ...]

    @cached_property
    def _known(self) -> dict[Path, int]:
        return {path: node for node, path in enumerate(self.paths)}

    def nodes(self, paths: Iterable[Sequence[str | None] | None]) -> np.ndarray:
        """The deepest known node on each path, int32 array of shape (n,); the root where none is known, and for a path
        with a missing name."""
        return np.fromiter((self._deepest(path) for path in paths), np.int32)

    def _deepest(self, path: Sequence[str | None] | None) -> int:
        if path is None or any(name is None for name in path):
            return 0
        names = tuple(map(str, path))
        levels = range(len(names), -1, -1)
        return next((self._known[names[:level]] for level in levels if names[:level] in self._known), 0)
