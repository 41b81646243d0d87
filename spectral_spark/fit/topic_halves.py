"""Two topics within the words of one: its words in some documents are sampled as a corpus of their own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import next_bits, unit_interval
from spectral_spark.errors import InputError
from spectral_spark.fit.fitted_topics import FittedTopics
from spectral_spark.refine.fold_in import infer
from spectral_spark.refine.gibbs import DocumentSample, GibbsSampler
from spectral_spark.refine.gibbs_settings import GibbsSettings
from spectral_spark.refine.refine_settings import RefineSettings
from spectral_spark.refine.refine_state import RefineState
from spectral_spark.tree.nodes import DocumentTree, Path

SWEEPS = 100
FEWEST_WORDS = 200          # of the topic in the documents: with fewer, a split would rest on chance
DOCUMENTS_AT_ONCE = 1024
_POWER_STEPS = 30
_PULL_TO_MEAN = 1.0         # occurrences of a word that are taken as divided like the whole topic


@dataclass(frozen=True, eq=False)
class TopicHalves:
    """How a topic falls into two.

    Attributes
    ----------
    word_shares : array of shape (d,), the share of the word's occurrences in the topic that the first part has.
    node_shares : array of shape (nodes,), the share of the topic's proportion at every node.
    """

    word_shares: np.ndarray
    node_shares: np.ndarray

    def first_has(self, words: set[str], vocabulary: Sequence[str]) -> "TopicHalves":
        """The same with the part first that has more of these words."""
        chosen = np.fromiter((word in words for word in vocabulary), bool, len(vocabulary))
        if not chosen.any() or self.word_shares[chosen].mean() >= 0.5:
            return self
        return TopicHalves(1.0 - self.word_shares, 1.0 - self.node_shares)


def split_in_two(
    fitted: FittedTopics, topic: int, documents: CountBatch, paths: Sequence[Path], seed: int
) -> TopicHalves:
    """Sample two topics within one; the larger one comes first.

    Parameters
    ----------
    documents : documents in the model's vocabulary, whose nodes are positions in ``paths``.
    """
    tree, whole = DocumentTree.from_paths(paths), DocumentTree.from_paths(fitted.nodes.paths)
    place = np.array([tree.index(path) for path in paths], np.int32)
    known = tree.inherit(fitted.nodes.paths, fitted.nodes.proportions, fitted.weights)
    words = _words_of(fitted, topic, documents, known[place], seed)
    words = CountBatch(words.indptr, words.terms, words.counts, place[words.nodes], words.keys, words.vocab_size)
    if words.counts.sum() < FEWEST_WORDS:
        raise InputError(f"topic {topic} has {int(words.counts.sum())} words in these documents, too few to tell two "
                         f"topics apart; give documents with at least {FEWEST_WORDS} of its words")
    state = _sampled(words, tree, seed)
    larger = int(state.weights.argmax())
    counts = state.statistics[:, [larger, 1 - larger]]
    mean = state.weights[larger]
    shares = (counts[:, 0] + _PULL_TO_MEAN * mean) / (counts.sum(axis=1) + _PULL_TO_MEAN)
    nodes = whole.inherit(
        tree.paths, state.hierarchy.proportions[:, [larger, 1 - larger]], np.array([mean, 1.0 - mean])
    )
    return TopicHalves(shares, nodes[[whole.index(path) for path in fitted.nodes.paths], 0])


def _words_of(
    fitted: FittedTopics, topic: int, documents: CountBatch, priors: np.ndarray, seed: int
) -> CountBatch:
    """The words of the documents that belong to the topic: each is drawn with its probability in its document."""
    parts = []
    for first in range(0, documents.n_documents, DOCUMENTS_AT_ONCE):
        last = min(first + DOCUMENTS_AT_ONCE, documents.n_documents)
        entries = slice(documents.indptr[first], documents.indptr[last])
        part = CountBatch(
            documents.indptr[first : last + 1] - documents.indptr[first], documents.terms[entries],
            documents.counts[entries], documents.nodes[first:last], documents.keys[first:last], documents.vocab_size,
        )
        theta = infer(part, fitted.topics, priors, fitted.document_concentration)
        owner = np.repeat(np.arange(part.n_documents), np.diff(part.indptr))
        likely = np.einsum("ij,ij->i", fitted.topics[part.terms], theta[owner])
        mine = fitted.topics[part.terms, topic] * theta[owner, topic] / np.maximum(likely, 1e-300)
        parts.append(_drawn(part.counts, np.clip(mine, 0.0, 1.0), part.keys.view(np.uint64)[owner], part.terms, seed))
    counts = np.concatenate([np.zeros(0), *parts])
    kept = counts > 0
    owner = np.repeat(np.arange(documents.n_documents), np.diff(documents.indptr))[kept]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=documents.n_documents))])
    return CountBatch(
        indptr.astype(np.int64), documents.terms[kept], counts[kept], documents.nodes, documents.keys,
        documents.vocab_size,
    )


def _drawn(counts: np.ndarray, chance: np.ndarray, keys: np.ndarray, terms: np.ndarray, seed: int) -> np.ndarray:
    """How many of the occurrences are drawn; the rounding depends on the document and the word alone."""
    expected = counts * chance
    state = keys ^ (terms.astype(np.uint64) << np.uint64(20)) ^ np.uint64(seed)
    drawn: np.ndarray = np.floor(expected + unit_interval(next_bits(state)))
    return drawn


def _sampled(words: CountBatch, tree: DocumentTree, seed: int) -> RefineState:
    """Two topics of these words, from the direction in which the documents differ most."""
    tokens = float(words.counts.sum())
    start = RefineState.start(
        _start(words), np.full(2, 0.5), tree.parent, tree.level, tokens, float(words.n_documents)
    )
    sampler = GibbsSampler(
        start, DocumentSample.from_batches([words], int(tokens) + 1), GibbsSettings(SWEEPS, surplus=0.0),
        RefineSettings(), seed=seed,
    )
    for _ in range(SWEEPS):
        sampler.sweep()
    return sampler.state().with_all_nodes()


def _start(words: CountBatch) -> np.ndarray:
    """Two topics (d, 2): the words on either side of the first principal direction of the documents' words."""
    matrix, lengths = words.matrix, words.lengths
    total = np.bincount(words.terms, words.counts, words.vocab_size)
    mean, scale = total / total.sum(), 1.0 / np.sqrt(np.maximum(total, 1.0))
    direction = np.random.default_rng(0).standard_normal(words.vocab_size)
    for _ in range(_POWER_STEPS):
        seen = matrix @ (scale * direction) - lengths * (mean @ (scale * direction))
        direction = scale * (matrix.T @ seen - mean * (lengths @ seen))
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
    side = direction > 0
    topics = np.column_stack([np.where(side, 0.9, 0.1), np.where(side, 0.1, 0.9)]) * (mean + 1e-9)[:, None]
    return topics / topics.sum(axis=0)
