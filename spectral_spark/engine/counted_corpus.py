"""The census: the document tree of a corpus, documents and words of every node, and what was dropped."""

from dataclasses import dataclass

import numpy as np

from spectral_spark.engine.corpus import NODE_COUNTS, Corpus
from spectral_spark.engine.pack_counts import CountDecoder
from spectral_spark.errors import InputError, NoDocumentsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree


@dataclass(frozen=True, eq=False)
class CountedCorpus:
    """A corpus and its census.

    Attributes
    ----------
    packed : the documents; their batches carry node numbers of ``census.tree``.
    census : documents and words of every node, after dropping.
    tokens : words in the kept documents, before any cap.
    dropped : dropped documents by reason.
    vocab_size : number of words d.
    """

    packed: Corpus
    census: Census
    tokens: int
    dropped: dict[str, int]
    vocab_size: int

    @property
    def documents(self) -> int:
        return int(self.census.documents.sum())

    @property
    def documents_per_shard(self) -> float:
        return self.documents / self.packed.shards


def take_census(packed: Corpus, vocab_size: int) -> CountedCorpus:
    """Count the documents of every tree node. From here on, batches of the corpus carry the nodes' numbers."""
    counted = packed.count()
    if not counted.paths:
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counted.dropped.items() if count)
        raise NoDocumentsError(f"no document is left to work on; dropped: {reasons or 'none'}", counted.dropped)
    hashes = counted.hashes
    if len(np.unique(hashes)) != len(hashes):
        raise InputError("two different paths of the document tree have the same hash; rename one of the groups")
    tree = DocumentTree.from_paths(counted.paths)
    nodes = np.array([tree.index(path) for path in counted.paths], np.int32)
    counts = {name: np.zeros(len(tree.paths)) for name in NODE_COUNTS}
    for name, column in counts.items():
        column[nodes] = counted.counts[name]
    order = np.argsort(hashes)
    packed.decode = CountDecoder(vocab_size, hashes[order], nodes[order])
    census = Census(tree, counts.pop("documents").astype(np.int64), **counts)
    return CountedCorpus(packed, census, counted.tokens, counted.dropped, vocab_size)
