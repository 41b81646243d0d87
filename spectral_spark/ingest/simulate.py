"""Draws corpora from the model itself, so that fitted topics can be compared with the true ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import GOLDEN_GAMMA, mixed_bits
from spectral_spark.errors import SettingsError
from spectral_spark.tree.nodes import DocumentTree

TreeSpec = int | Sequence["TreeSpec"] | Mapping[str, "TreeSpec"]

_CHUNK_WORDS = 4_000_000


@dataclass(frozen=True, eq=False)
class SimulatedCorpus:
    """A simulated corpus, with the topics and proportions that it was drawn from.

    Attributes
    ----------
    batch : all documents, in the order of their nodes.
    tree : the document tree.
    topics : array of shape (d, k), Φ.
    root_weights : array of shape (k,), π0.
    node_proportions : array of shape (nodes, k).
    document_proportions : array of shape (documents, k).
    """

    batch: CountBatch
    tree: DocumentTree
    topics: np.ndarray
    root_weights: np.ndarray
    node_proportions: np.ndarray
    document_proportions: np.ndarray

    def table(self) -> pa.Table:
        """The documents as a corpus on disk has them: doc_id, path, terms, counts."""
        starts = pa.array(self.batch.indptr, pa.int32())
        return pa.table({
            "doc_id": [f"d{i}" for i in range(self.batch.n_documents)],
            "path": pa.array([list(self.tree.paths[node]) for node in self.batch.nodes], pa.list_(pa.string())),
            "terms": pa.ListArray.from_arrays(starts, pa.array(self.batch.terms, pa.int32())),
            "counts": pa.ListArray.from_arrays(starts, pa.array(self.batch.counts.astype(np.int32))),
        })


def random_topics(vocab_size: int, k: int, seed: int, *, concentration: float = 0.1) -> np.ndarray:
    """Topics drawn from a symmetric Dirichlet; array of shape (vocab_size, k), columns sum to one."""
    rng = np.random.default_rng([seed, 1])
    return _dirichlet(rng, np.full((k, vocab_size), concentration)).T


def simulate_hdp(
    topics: np.ndarray | tuple[int, int],
    tree: TreeSpec,
    concentrations: Sequence[float],
    lengths: int | tuple[int, int] | np.ndarray = 100,
    seed: int = 0,
    *,
    root_weights: np.ndarray | None = None,
) -> SimulatedCorpus:
    """Draw a corpus: a node's proportions around its parent's, a document's around its node's, words from the topics.

    Parameters
    ----------
    topics : array of shape (d, k) with columns that sum to one, or (d, k) to draw them.
    tree : a number of documents (no groups); a list of such specifications (children named "0", "1", …); or a mapping
        of names to them, where the name "" holds documents of the node itself.
    concentrations : g of each layer: of the nodes at level 1, 2, … and, last, of the documents (at any level).
    lengths : words per document: one number, a range (lowest, highest), or an array of shape (documents,).
    seed : the same arguments and seed give the same corpus.
    root_weights : array of shape (k,), π0; drawn when not given.

    Examples
    --------
    >>> corpus = simulate_hdp((100, 3), [50, 50], concentrations=[5.0, 1.0], lengths=20, seed=1)
    >>> corpus.batch.n_documents, corpus.tree.paths
    (100, ((), ('0',), ('1',)))
    """
    rng = np.random.default_rng(seed)
    phi = random_topics(*topics, seed) if isinstance(topics, tuple) else np.asarray(topics, dtype=float)
    own: dict[tuple[str, ...], int] = {}
    _walk(tree, (), own)
    document_tree = DocumentTree.from_paths(own)
    g = _checked_concentrations(concentrations, document_tree)
    k = phi.shape[1]
    root = _dirichlet(rng, np.full((1, k), 3.0))[0] if root_weights is None else np.asarray(root_weights, dtype=float)
    proportions = np.empty((len(document_tree), k))
    proportions[0] = root
    for nodes in document_tree.levels_upwards[::-1]:
        level = document_tree.level[nodes[0]]
        proportions[nodes] = _dirichlet(rng, g[level - 1] * proportions[document_tree.parent[nodes]])
    documents = np.array([own.get(path, 0) for path in document_tree.paths])
    nodes = np.repeat(np.arange(len(document_tree), dtype=np.int32), documents)
    theta = _dirichlet(rng, g[-1] * proportions[nodes])
    numbers = np.arange(1, len(nodes) + 1, dtype=np.uint64) + rng.integers(2**63, dtype=np.uint64)
    keys = mixed_bits(numbers * GOLDEN_GAMMA).view(np.int64)
    batch = _draw_words(rng, phi, theta, _draw_lengths(rng, lengths, len(nodes)), nodes, keys)
    return SimulatedCorpus(batch, document_tree, phi, root, proportions, theta)


def _walk(spec: TreeSpec, path: tuple[str, ...], own: dict[tuple[str, ...], int]) -> None:
    if isinstance(spec, (int, np.integer)):
        own[path] = own.get(path, 0) + int(spec)
        return
    items = spec.items() if isinstance(spec, Mapping) else ((str(i), child) for i, child in enumerate(spec))
    for name, child in items:
        _walk(child, (*path, name) if name else path, own)


def _checked_concentrations(concentrations: Sequence[float], tree: DocumentTree) -> np.ndarray:
    g = np.asarray(concentrations, dtype=float)
    if g.shape != (tree.depth + 1,) or not np.all(g > 0):
        raise SettingsError(
            f"concentrations {list(concentrations)}: this tree needs {tree.depth + 1} positive numbers, one for each "
            "level of nodes below the root and one for the documents"
        )
    return g


def _dirichlet(rng: np.random.Generator, parameters: np.ndarray) -> np.ndarray:
    """Rows of Dirichlet variables, drawn in logarithms: with tiny parameters, all gamma variables of a row are 0."""
    shape = np.maximum(parameters, 1e-12)
    log_gamma = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.shape)) / shape
    weights = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _draw_lengths(rng: np.random.Generator, lengths: int | tuple[int, int] | np.ndarray, n: int) -> np.ndarray:
    if isinstance(lengths, tuple):
        return rng.integers(lengths[0], lengths[1] + 1, n)
    result = np.broadcast_to(np.asarray(lengths, dtype=np.int64), (n,))
    if np.any(result < 0):
        raise SettingsError(f"lengths: {result.min()} words in a document; give zero or more")
    return result


def _draw_words(
    rng: np.random.Generator,
    phi: np.ndarray,
    theta: np.ndarray,
    lengths: np.ndarray,
    nodes: np.ndarray,
    keys: np.ndarray,
) -> CountBatch:
    n, d = len(theta), phi.shape[0]
    cumulative = np.cumsum(phi, axis=0)
    step = max(1, _CHUNK_WORDS // max(1, int(lengths.mean()) if n else 1))
    sizes, terms, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for start in range(0, n, step):
        per_topic = rng.multinomial(lengths[start : start + step], theta[start : start + step])
        codes = [
            np.repeat(np.arange(len(per_topic)), column) * d + _draw_terms(rng, cumulative[:, topic], column.sum())
            for topic, column in enumerate(per_topic.T)
        ]
        code, count = np.unique(np.concatenate(codes), return_counts=True)
        sizes.append(np.bincount(code // d, minlength=len(per_topic)))
        terms.append((code % d).astype(np.int32))
        counts.append(count.astype(float))
    indptr = np.concatenate(([0], np.cumsum(np.concatenate(sizes))))
    return CountBatch(indptr, np.concatenate(terms), np.concatenate(counts), nodes, keys, d)


def _draw_terms(rng: np.random.Generator, cumulative: np.ndarray, size: int) -> np.ndarray:
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.minimum(drawn, len(cumulative) - 1)
