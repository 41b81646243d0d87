"""A seeded sample of the documents' word counts that stays with a model, so that updates can go over old documents.

Whether a document is in the sample depends on its key and on the sampling rate alone. Samples of the same model
therefore add up, documents can be taken out again, and a sample that grows beyond its size is thinned evenly. It holds
word ids and counts, never text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spectral_spark.data.count_batch import CountBatch, joined_batches, selected_documents
from spectral_spark.data.hashing import next_bits, unit_interval
from spectral_spark.tree.nodes import Path

_SALT = np.uint64(0x5EED)        # apart from the hashes that choose shards and halves
_PART_SALT = np.uint64(0x9A27)


@dataclass(frozen=True, eq=False)
class KeptSample:
    """Documents that stand for all documents of a model.

    Attributes
    ----------
    documents : the word counts; their nodes are positions in ``paths``.
    paths : the tree paths of the groups that hold the documents.
    rate : the probability with which a document is in the sample.
    most_words : the sample is thinned when it has more words.
    """

    documents: CountBatch
    paths: tuple[Path, ...]
    rate: float
    most_words: int

    @classmethod
    def of(
        cls, batches: Sequence[CountBatch], paths: Sequence[Path], vocab_size: int, rate: float, most_words: int
    ) -> "KeptSample":
        """A sample from batches that hold each document with probability ``rate``; nodes are positions in ``paths``."""
        documents = joined_batches(batches, vocab_size)
        used, nodes = np.unique(documents.nodes, return_inverse=True)
        named = replace(documents, nodes=nodes.astype(np.int32))
        return cls(named, tuple(paths[node] for node in used), rate, most_words)._fitting()

    @property
    def words(self) -> int:
        return int(self.documents.counts.sum())

    def __len__(self) -> int:
        return self.documents.n_documents

    def __add__(self, other: "KeptSample") -> "KeptSample":
        """The sample of the documents of both, at the lower of their rates."""
        rate, most = min(self.rate, other.rate), min(self.most_words, other.most_words)
        one, two = self._at(rate), other._at(rate)
        moved = replace(two.documents, nodes=two.documents.nodes + np.int32(len(one.paths)))
        return KeptSample.of(
            [one.documents, moved], (*one.paths, *two.paths), self.documents.vocab_size, rate, most
        )._with_distinct_paths()

    def at_most(self, words: int) -> CountBatch:
        """The documents of the sample or, if they have more words, a seeded part of them with about so many."""
        if self.words <= words:
            return self.documents
        chance = unit_interval(next_bits(self.documents.keys.view(np.uint64) ^ _PART_SALT))
        return selected_documents(self.documents, chance < words / self.words)

    def without(self, keys: np.ndarray) -> "KeptSample":
        """Without documents that have these keys; a key that is given n times takes at most n copies away."""
        gone, times = np.unique(keys, return_counts=True)
        mine = self.documents.keys
        if not len(gone) or not len(mine):
            return self
        at = np.minimum(np.searchsorted(gone, mine), len(gone) - 1)
        allowed = np.where(gone[at] == mine, times[at], 0)
        order = np.argsort(mine, kind="stable")
        ordered = mine[order]
        first = np.searchsorted(ordered, ordered)
        copy = np.empty(len(mine), np.int64)
        copy[order] = np.arange(len(mine)) - first
        return replace(self, documents=selected_documents(self.documents, copy >= allowed))

    def _fitting(self) -> "KeptSample":
        """Thinned to the allowed number of words."""
        words = self.words
        return self._at(self.rate * self.most_words / words) if words > self.most_words else self

    def _at(self, rate: float) -> "KeptSample":
        """At a lower rate: the documents whose hash is low enough stay."""
        if rate >= self.rate:
            return self
        chance = unit_interval(next_bits(self.documents.keys.view(np.uint64) ^ _SALT))
        return replace(self, documents=selected_documents(self.documents, chance < rate), rate=rate)

    def _with_distinct_paths(self) -> "KeptSample":
        distinct = tuple(sorted(set(self.paths)))
        place = np.array([distinct.index(path) for path in self.paths], np.int32)
        return replace(self, documents=replace(self.documents, nodes=place[self.documents.nodes]), paths=distinct)
