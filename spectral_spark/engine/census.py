"""The census: the tree of a packed corpus, documents and words per node, and what was dropped."""

from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from spectral_spark.engine.pack_counts import DROP_REASONS, CountDecoder
from spectral_spark.engine.packed import PackedCorpus
from spectral_spark.errors import InputError, NoDocumentsError
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree


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


def _whole_sum(name: str) -> Column:
    """A sum of whole numbers without rounding, so that it does not depend on the order of the rows."""
    return F.sum(F.col(name).cast("decimal(38,0)")).cast("double")


def take_census(packed: PackedCorpus) -> CensusResult:
    """Read the counts that packing left beside the documents; only one row per tree node reaches the driver."""
    totals = packed.frame.agg(
        F.sum("tokens").alias("tokens"), *(F.sum(reason).alias(reason) for reason in DROP_REASONS)
    ).first()
    dropped = {reason: int(totals[reason] or 0) for reason in DROP_REASONS} if totals else {}
    names = ("path", "hash", "documents", "tokens", "tokens_squared", "tokens_cubed")
    rows = (
        packed.frame.select(F.explode(F.arrays_zip(
            "tree_paths", "tree_hashes", "tree_documents", "tree_tokens", "tree_tokens_squared",
            "tree_tokens_cubed")).alias("node"))
        .select(*(F.col(f"node.tree_{column}").alias(name) for column, name in
                  zip(("paths", "hashes", *names[2:]), names, strict=True)))
        .groupBy("hash", "path")
        .agg(*(_whole_sum(name).alias(name) for name in names[2:]))
        .toArrow()
    )
    if rows.num_rows == 0:
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in dropped.items() if count)
        raise NoDocumentsError(f"no document is left to work on; dropped: {reasons or 'none'}", dropped)
    hashes = rows["hash"].to_numpy()
    if len(np.unique(hashes)) != len(hashes):
        raise InputError("two different paths of the document tree share a hash; rename one of the groups")
    paths = [tuple(path) for path in rows["path"].to_pylist()]
    tree = DocumentTree.from_paths(paths)
    nodes = np.array([tree.index(path) for path in paths], np.int32)
    counts = {name: np.zeros(len(tree.paths)) for name in names[2:]}
    for name, column in counts.items():
        column[nodes] = rows[name].to_numpy()
    order = np.argsort(hashes)
    decoder = CountDecoder(packed.decode.vocab_size, hashes[order], nodes[order])  # type: ignore[attr-defined]
    census = Census(tree, counts.pop("documents").astype(np.int64), **counts)
    kept = replace(packed, decode=decoder, documents=int(census.documents.sum()))
    return CensusResult(kept, census, int(totals["tokens"]) if totals else 0, dropped)
