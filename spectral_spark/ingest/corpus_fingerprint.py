"""A fingerprint of the documents on disk that does not depend on how they are split into files."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from spectral_spark.engine.spark_versions import to_arrow

_LIMBS = 8
SUMS = "split string, documents long, tokens long, entries long, limbs array<long>"


@dataclass(frozen=True)
class Contents:
    """What is in a corpus: a fingerprint, and per split the documents, tokens and (document, word) pairs."""

    fingerprint: str
    documents: dict[str, int]
    tokens: dict[str, int]
    entries: dict[str, int]


def contents(documents: DataFrame, vocabulary_fingerprint: str) -> Contents:
    """Read the documents once.

    Each document is hashed (SHA-256 over id, path, terms, counts and split); the hashes are added as eight 32-bit
    columns, which is the same in every order, and the sums are hashed together with the vocabulary.
    """
    narrow = documents.select("doc_id", "path", "terms", "counts", "split")
    return added(to_arrow(narrow.mapInArrow(sums_of_batches, SUMS)), vocabulary_fingerprint)


def added(rows: pa.Table, vocabulary_fingerprint: str) -> Contents:
    """What is in all parts of a corpus, from the sums of each (``SUMS``)."""
    totals: dict[str, dict[str, int]] = {name: {} for name in ("documents", "tokens", "entries")}
    limbs = [0] * _LIMBS
    for row in rows.to_pylist():
        for name, sums in totals.items():
            sums[row["split"]] = sums.get(row["split"], 0) + row[name]
        limbs = [total + part for total, part in zip(limbs, row["limbs"], strict=True)]
    digest = hashlib.sha256(f"{vocabulary_fingerprint}|{sum(totals['documents'].values())}|{limbs}".encode())
    return Contents(digest.hexdigest(), **{name: dict(sorted(sums.items())) for name, sums in totals.items()})


def sums_of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The sums of some documents, one row per split. Runs on the executors."""
    sums: dict[str, np.ndarray] = {}
    for batch in batches:
        splits, numbers = _numbers(batch)
        for split in splits.unique().to_pylist():
            mine = pc.equal(splits, split).to_numpy(zero_copy_only=False)
            sums[split] = sums.get(split, 0) + numbers[mine].sum(axis=0)
    if sums:
        table = np.array(list(sums.values()))
        yield pa.RecordBatch.from_arrays([
            pa.array(list(sums), pa.string()), *(pa.array(table[:, i]) for i in range(3)),
            pa.array([list(map(int, row[3:])) for row in table], pa.list_(pa.int64())),
        ], names=["split", "documents", "tokens", "entries", "limbs"])


def _numbers(batch: pa.RecordBatch) -> tuple[pa.Array, np.ndarray]:
    """The splits, and (1, tokens, entries, eight limbs) of every document."""
    lists = [batch.column(name) for name in ("terms", "counts")]
    terms, counts = (column.flatten().to_numpy(zero_copy_only=False).astype("<i4") for column in lists)
    ends = lists[0].offsets.to_numpy() - lists[0].offsets[0].as_py()
    ids, words = terms.tobytes(), counts.tobytes()
    digests, start = [], 0
    for head, end in zip(_heads(batch), (4 * ends[1:]).tolist(), strict=True):
        digests.append(hashlib.sha256(head + ids[start:end] + words[start:end]).digest())
        start = end
    limbs = np.frombuffer(b"".join(digests), ">u4").reshape(-1, _LIMBS).astype(np.int64)
    tokens = np.diff(np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))[ends])
    ones = np.ones(len(tokens), np.int64)
    return batch.column("split"), np.column_stack([ones, tokens, np.diff(ends), limbs])


def _heads(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Number of path parts, then id, split and path parts of every document, each after its number of characters."""
    sizes = batch.column("path").value_lengths().to_pylist()
    named = (_with_lengths(batch.column(name)).to_pylist() for name in ("doc_id", "split"))
    parts, start = _with_lengths(batch.column("path").flatten()).to_pylist(), 0
    for doc_id, split, size in zip(*named, sizes, strict=True):
        yield b"%d|%b%b%b|" % (size, doc_id, split, b"".join(parts[start : start + size]))
        start += size


def _with_lengths(texts: pa.Array) -> pa.Array:
    """Every text after its number of characters, as bytes."""
    lengths = pc.utf8_length(texts).cast(pa.string())
    return pc.binary_join_element_wise(lengths, texts.cast(pa.string()), ":").cast(pa.binary())
