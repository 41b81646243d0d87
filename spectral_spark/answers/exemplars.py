"""The documents that show a topic best: candidates that can be merged in any order, and near-duplicates thinned out.

A document is a candidate for a topic with the share of the topic in it. Shares are posterior means, so a short document
does not win by chance. Candidates of parts of a corpus are merged by keeping the best of both, in an order that depends
on the documents alone; the partitioning therefore does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import next_bits

OVERSAMPLED = 4            # candidates per wanted document, so that some may be thinned out
SAME_WORDS = 0.7           # documents that share more of their distinct words are near-duplicates
SKETCH = 48                # hash functions of a sketch: an estimated overlap is off by at most 0.15 in 19 of 20 cases
CANDIDATES = pa.schema([
    ("node", pa.int32()), ("topic", pa.int32()), ("share", pa.float64()), ("content", pa.int64()), ("id", pa.string()),
    ("words", pa.int64()), ("sketch", pa.binary()),
])


@dataclass(frozen=True)
class Exemplar:
    """A document that shows a topic.

    Attributes
    ----------
    node, topic : numbers of the tree node and the topic.
    rank : 1 for the best.
    id, share, words : of the document: its id, the topic's share in it, and its number of known words.
    """

    node: int
    topic: int
    rank: int
    id: str
    share: float
    words: int


def candidate_rows(
    ids: Sequence[str | None], batch: CountBatch, shares: np.ndarray, nodes: Sequence[np.ndarray], most: int,
    enough: np.ndarray,
) -> pa.Table:
    """The best documents of a batch for every topic and node.

    Parameters
    ----------
    ids, batch, shares : the documents: their ids, words, and proportions of shape (n, k).
    nodes : for every level that is asked for, an int array of shape (n,) with the node on the document's path, −1 for
        none.
    most : candidates to keep of each topic and node.
    enough : bool array of shape (n,), the documents that may be candidates.
    """
    contents = content_hashes(batch)
    name_rank = np.empty(len(ids), np.int64)
    name_rank[np.argsort(np.array([name or "" for name in ids], object), kind="stable")] = np.arange(len(ids))
    found: list[np.ndarray] = []
    for level in nodes:
        for node in np.unique(level[enough & (level >= 0)]):
            members = np.flatnonzero(enough & (level == node))
            for topic in range(shares.shape[1]):
                order = members[np.lexsort((name_rank[members], contents[members], -shares[members, topic]))]
                best = order[_first_places(contents[order])[:most]]
                found.append(np.stack([np.full_like(best, node), np.full_like(best, topic), best], axis=1))
    rows = np.concatenate(found) if found else np.zeros((0, 3), np.int64)
    chosen, place = np.unique(rows[:, 2], return_inverse=True)
    sketches = word_sketches(batch, chosen)
    return pa.table({
        "node": pa.array(rows[:, 0], pa.int32()), "topic": pa.array(rows[:, 1], pa.int32()),
        "share": pa.array(shares[rows[:, 2], rows[:, 1]]), "content": pa.array(contents[rows[:, 2]], pa.int64()),
        "id": pa.array([ids[document] for document in rows[:, 2]], pa.string()),
        "words": pa.array(batch.lengths[rows[:, 2]].astype(np.int64)),
        "sketch": pa.array([sketches[at].tobytes() for at in place], pa.binary()),
    }, schema=CANDIDATES)


def best_candidates(table: pa.Table, most: int | None = None) -> pa.Table:
    """The ``most`` best of every topic and node, or all; of documents with the same words only the best one stays."""
    table = table.sort_by([("node", "ascending"), ("topic", "ascending"), ("share", "descending"),
                           ("content", "ascending"), ("id", "ascending")])
    if not table.num_rows:
        return table
    keys = np.stack([table[name].to_numpy().astype(np.int64) for name in ("node", "topic", "content")], axis=1)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    _, starts, group = np.unique(keys[first, :2], axis=0, return_index=True, return_inverse=True)
    rank = np.arange(len(first)) - starts[group]
    return table.take(first[rank < (len(first) if most is None else most)])


def _first_places(values: np.ndarray) -> np.ndarray:
    """Where each value stands for the first time, in the order of the places."""
    return np.sort(np.unique(values, return_index=True)[1])


def thinned(table: pa.Table, n: int) -> list[Exemplar]:
    """The ``n`` best of every topic and node, without near-duplicates of a better one; sorted by node, topic, rank."""
    kept: dict[tuple[int, int], list[np.ndarray]] = {}
    exemplars = []
    for row in best_candidates(table).to_pylist():
        chosen = kept.setdefault((row["node"], row["topic"]), [])
        sketch = np.frombuffer(row["sketch"], np.uint32)
        if len(chosen) >= n or any(np.mean(sketch == other) > SAME_WORDS for other in chosen):
            continue
        chosen.append(sketch)
        exemplars.append(
            Exemplar(row["node"], row["topic"], len(chosen), row["id"], float(row["share"]), int(row["words"]))
        )
    return exemplars


def word_sketches(batch: CountBatch, documents: np.ndarray) -> np.ndarray:
    """Min-hash sketches of the documents' distinct words, uint32 array of shape (documents, ``SKETCH``).

    Two sketches agree in as many places as the documents share of their distinct words (Broder 1997).
    """
    salts = next_bits(np.arange(SKETCH, dtype=np.uint64))
    sketches = np.zeros((len(documents), SKETCH), np.uint32)
    for place, document in enumerate(documents):
        words = batch.terms[batch.indptr[document] : batch.indptr[document + 1]].astype(np.uint64)
        if len(words):
            sketches[place] = (next_bits(words[:, None] ^ salts) >> np.uint64(32)).min(axis=0)
    return sketches


def content_hashes(batch: CountBatch) -> np.ndarray:
    """A hash of the words and counts of each document, whatever their order; int64 array of shape (n,)."""
    counts = np.asarray(batch.counts, np.float64).view(np.uint64)
    entries = next_bits(next_bits(batch.terms.astype(np.uint64)) ^ counts)
    ends = np.concatenate((np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)))
    return (ends[batch.indptr[1:]] - ends[batch.indptr[:-1]]).view(np.int64)
