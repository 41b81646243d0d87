"""The census: the tree of a packed corpus, documents and words per node, and what was dropped."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from spectral_spark.engine.pack_counts import DROP_REASONS, CountDecoder
from spectral_spark.engine.packed import PackedCorpus
from spectral_spark.errors import InputError, NoDocumentsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree

_COUNTS = ("documents", "tokens", "tokens_squared", "tokens_cubed")


@dataclass(frozen=True, eq=False)
class CensusResult:
    """A packed corpus whose decoder knows the tree, and the counts of the corpus.

    Attributes
    ----------
    packed : the corpus; its batches carry node numbers of ``census.tree``.
    census : documents and words of every node, after dropping.
    tokens : words in the kept documents (before any cap).
    dropped : documents dropped, by reason.
    """

    packed: PackedCorpus
    census: Census
    tokens: int
    dropped: dict[str, int]

    @property
    def documents(self) -> int:
        return int(self.census.documents.sum())


@dataclass(frozen=True, eq=False)
class _Counted:
    """Sums over all blocks: words, dropped documents by reason, and for each distinct path its hash and counts."""

    tokens: int
    dropped: dict[str, int]
    hashes: np.ndarray
    paths: list[tuple[str, ...]]
    counts: dict[str, np.ndarray]


def _whole_sum(name: str) -> Column:
    """A sum of whole numbers without rounding, so that it does not depend on the order of the rows."""
    return F.sum(F.col(name).cast("decimal(38,0)")).cast("double")


def _count_on_executors(packed: PackedCorpus) -> _Counted:
    """Only one row per tree node reaches the driver."""
    totals = packed.frame.agg(
        F.sum("tokens").alias("tokens"), *(F.sum(reason).alias(reason) for reason in DROP_REASONS)
    ).first()
    dropped = {reason: int(totals[reason] or 0) for reason in DROP_REASONS} if totals else {}
    names = ("path", "hash", *_COUNTS)
    rows = (
        packed.frame.select(F.explode(F.arrays_zip(
            "tree_paths", "tree_hashes", "tree_documents", "tree_tokens", "tree_tokens_squared",
            "tree_tokens_cubed")).alias("node"))
        .select(*(F.col(f"node.tree_{column}").alias(name) for column, name in
                  zip(("paths", "hashes", *names[2:]), names, strict=True)))
        .groupBy("hash", "path")
        .agg(*(_whole_sum(name).alias(name) for name in _COUNTS))
        .toArrow()
    )
    return _Counted(
        int(totals["tokens"] or 0) if totals else 0, dropped, rows["hash"].to_numpy(),
        [tuple(path) for path in rows["path"].to_pylist()], {name: rows[name].to_numpy() for name in _COUNTS},
    )


def _count_nearby(table: pa.Table) -> _Counted:
    """The same sums, of whole numbers and so without rounding, from blocks that the driver holds."""
    place: dict[tuple[int, tuple[str, ...]], int] = {}
    hashes = table["tree_hashes"].combine_chunks().flatten().to_pylist()
    paths = map(tuple, table["tree_paths"].combine_chunks().flatten().to_pylist())
    nodes = [place.setdefault(node, len(place)) for node in zip(hashes, paths, strict=True)]
    counts = {}
    for name in _COUNTS:
        sums = [0] * len(place)
        for node, value in zip(nodes, table[f"tree_{name}"].combine_chunks().flatten().to_pylist(), strict=True):
            sums[node] += int(value)
        counts[name] = np.array([float(value) for value in sums])
    dropped = {reason: int(pc.sum(table[reason]).as_py() or 0) for reason in DROP_REASONS}
    return _Counted(
        int(pc.sum(table["tokens"]).as_py() or 0), dropped, np.array([node for node, _ in place], np.int64),
        [path for _, path in place], counts,
    )


def take_census(packed: PackedCorpus) -> CensusResult:
    """Read the counts that packing left beside the documents."""
    counted = _count_on_executors(packed) if packed.nearby is None else _count_nearby(packed.nearby.table)
    if not counted.paths:
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counted.dropped.items() if count)
        raise NoDocumentsError(f"no document is left to work on; dropped: {reasons or 'none'}", counted.dropped)
    hashes = counted.hashes
    if len(np.unique(hashes)) != len(hashes):
        raise InputError("two different paths of the document tree share a hash; rename one of the groups")
    tree = DocumentTree.from_paths(counted.paths)
    nodes = np.array([tree.index(path) for path in counted.paths], np.int32)
    counts = {name: np.zeros(len(tree.paths)) for name in _COUNTS}
    for name, column in counts.items():
        column[nodes] = counted.counts[name]
    order = np.argsort(hashes)
    decoder = CountDecoder(packed.decode.vocab_size, hashes[order], nodes[order])  # type: ignore[attr-defined]
    census = Census(tree, counts.pop("documents").astype(np.int64), **counts)
    kept = replace(packed, decode=decoder, documents=int(census.documents.sum()))
    return CensusResult(kept, census, counted.tokens, counted.dropped)
