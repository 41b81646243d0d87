"""Do a topic's top words occur together? NPMI and UMass from document co-occurrence counts of the top words alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from spectral_spark.data.count_batch import CountBatch

TOP_WORDS = 10


def top_words(topics: np.ndarray, count: int = TOP_WORDS) -> np.ndarray:
    """The most probable words of each topic, best first; ties go to the smaller word id.

    Parameters
    ----------
    topics : array of shape (d, k).

    Returns
    -------
    int array of shape (k, min(count, d)).
    """
    return np.argsort(-topics, axis=0, kind="stable")[:count].T.copy()


@dataclass(frozen=True)
class CooccurrenceKernel:
    """Counts in how many documents each word of a small set, and each pair of them, occurs.

    ``shared["position"]`` of shape (d,) gives each word's place in the set, −1 for all others. The state is
    ``together`` of shape (u, u), with the words' own document counts on the diagonal, ``documents`` of shape (1,) and,
    since the pass is there anyway, ``occurrences`` of shape (d,): how often each word of the vocabulary occurs.
    """

    def start(self, shared: Mapping[str, np.ndarray]) -> "CooccurrenceAccumulator":
        return CooccurrenceAccumulator(shared["position"])


class CooccurrenceAccumulator:
    """The counts of one logical shard."""

    def __init__(self, position: np.ndarray) -> None:
        self._position = position
        size = int(position.max(initial=-1)) + 1
        self._together, self._documents = np.zeros((size, size)), np.zeros(1)
        self._occurrences = np.zeros(len(position))

    def add(self, batch: CountBatch) -> None:
        place = self._position[batch.terms]
        document = np.repeat(np.arange(batch.n_documents), np.diff(batch.indptr))
        kept = (place >= 0) & (batch.counts > 0)
        shape = (batch.n_documents, len(self._together))
        present = sp.csr_matrix((np.ones(int(kept.sum())), (document[kept], place[kept])), shape)
        self._together += (present.T @ present).toarray()
        self._documents += batch.n_documents
        self._occurrences += np.bincount(batch.terms, batch.counts, len(self._occurrences))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"together": self._together, "documents": self._documents, "occurrences": self._occurrences}


def cooccurrence_inputs(words: np.ndarray, vocab_size: int) -> dict[str, np.ndarray]:
    """The ``shared`` array for the union of the given word ids (any shape); places follow the sorted ids."""
    position = np.full(vocab_size, -1, np.int32)
    union = np.unique(words)
    position[union] = np.arange(len(union), dtype=np.int32)
    return {"position": position}


def npmi(places: np.ndarray, together: np.ndarray, documents: float) -> np.ndarray:
    """Mean normalised pointwise mutual information over the pairs of each topic's top words.

    Parameters
    ----------
    places : int array of shape (k, n), top words as places in ``together``.
    together : array of shape (u, u), documents with both words.
    documents : number of documents counted.

    Returns
    -------
    array of shape (k,), between −1 (a pair never meets) and 1 (pairs always meet).
    """
    first, second = _pairs(places.shape[1])
    both = together[places[:, first], places[:, second]] / documents
    alone = np.diag(together) / documents
    apart = alone[places[:, first]] * alone[places[:, second]]
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.log(both / apart) / -np.log(both)
    scores = np.where(both > 0, np.where(both < 1, scores, 1.0), -1.0)
    return scores.mean(axis=1)


def umass(places: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Mean of log (D(w_i, w_j) + 1) / D(w_j) over pairs with w_j the more probable word (Mimno et al. 2011).

    Parameters and result as in :func:`npmi`; words that occur in no document count as if in one.
    """
    first, second = _pairs(places.shape[1])
    both = together[places[:, first], places[:, second]]
    leading = np.maximum(np.diag(together)[places[:, first]], 1.0)
    return np.log((both + 1.0) / leading).mean(axis=1)


def _pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(count, 1)
