"""Pack documents of word counts: validate, drop what is too short, narrow the integers, count the tree."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from pyspark.sql import functions as F

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.data.hashing import next_bits
from spectral_spark.engine.arrow import flat_lists
from spectral_spark.engine.documents import DocumentFrame
from spectral_spark.engine.packing import Packing, cut_blocks, shard_count

BLOCK_DOCUMENTS = 256
DROP_REASONS = ("null_path", "bad_counts", "unknown_terms", "too_short")
_DATA = ("starts", "terms", "counts", "keys", "path_hashes")
_SCHEMA = (
    "shard int, block int, documents int, starts binary, terms binary, counts binary, keys binary, path_hashes binary, "
    "contents binary, "
    "tree_paths array<array<string>>, tree_hashes array<bigint>, tree_documents array<bigint>, "
    "tree_tokens array<double>, tree_tokens_squared array<double>, tree_tokens_cubed array<double>, tokens double, "
    + ", ".join(f"{reason} bigint" for reason in DROP_REASONS)
)


@dataclass(frozen=True)
class PackSettings:
    """Which documents are used.

    Parameters
    ----------
    vocab_size : number of words d; ids at or above it are unknown.
    cap : a word adds at most this much to the length of a document; None for no cap.
    minimum : shorter documents (in words, after the cap) are dropped; a third moment needs 3 words.
    """

    vocab_size: int
    cap: float | None = None
    minimum: int = 3


def pack_counts(source: DocumentFrame, settings: PackSettings, *, shards: int | None = None) -> Packing:
    """How documents of word counts are packed."""
    count = shards or shard_count(source.rows)
    # A document's half sample, the top bit of its shard, must not depend on how many shards there are: documents that
    # are removed later are then taken from the half they were added to.
    half = max(count // 2, 1)
    shard = (F.pmod("key", F.lit(2)) % count * half + F.pmod(F.shiftright("key", 1), F.lit(half))).cast("int")
    return Packing(
        source.frame.withColumn("shard", shard), ("key", "path", "path_hash", "terms", "counts"), _Packer(settings),
        _SCHEMA, _ARROW_SCHEMA, _DATA, CountDecoder(settings.vocab_size), count, source.rows,
    )


@dataclass(frozen=True)
class CountDecoder:
    """Turns a packed row into a CountBatch; looks tree nodes up by the hash of their path."""

    vocab_size: int
    node_hashes: np.ndarray | None = None
    node_ids: np.ndarray | None = None

    def __call__(self, batch: pa.RecordBatch, row: int) -> CountBatch:
        columns = {name: batch.column(name)[row].as_buffer() for name in _DATA}
        starts = np.frombuffer(columns["starts"], np.int32)
        entries = int(starts[-1])
        keys = np.frombuffer(columns["keys"], np.int64)
        return CountBatch(
            starts,
            _widen(columns["terms"], entries, np.int32),
            _widen(columns["counts"], entries, np.float64),
            self._nodes(np.frombuffer(columns["path_hashes"], np.int64)),
            keys,
            self.vocab_size,
        )

    def _nodes(self, hashes: np.ndarray) -> np.ndarray:
        if self.node_hashes is None or self.node_ids is None:
            return np.zeros(len(hashes), np.int32)
        at = np.minimum(np.searchsorted(self.node_hashes, hashes), len(self.node_hashes) - 1)
        return self.node_ids[at].astype(np.int32)


def joined_identities(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of identity and content of the documents in packed rows; two arrays of shape (n,)."""
    keys, contents = (
        b"".join(value.as_buffer() for chunk in rows[name].chunks for value in chunk) for name in ("keys", "contents")
    )
    return np.frombuffer(keys, np.int64), np.frombuffer(contents, np.uint32)


def _narrow(values: np.ndarray) -> bytes:
    """Whole numbers in as few bytes as hold the largest; the reader derives the width from the length."""
    largest = int(values.max()) if len(values) else 0
    width = np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32
    return values.astype(width).tobytes()


def _widen(data: pa.Buffer, entries: int, dtype: type) -> np.ndarray:
    width = {0: np.uint8, 1: np.uint8, 2: np.uint16, 4: np.uint32}[len(data) // max(entries, 1)]
    return np.frombuffer(data, width).astype(dtype)


class _Packer:
    """The Arrow function: sorted documents in, packed blocks out. Block borders depend on the shard alone."""

    def __init__(self, settings: PackSettings) -> None:
        self._settings = settings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for shard, block, documents in cut_blocks(batches, BLOCK_DOCUMENTS):
            yield self._pack(shard, block, documents)

    def _pack(self, shard: int, block: int, table: pa.Table) -> pa.RecordBatch:
        table, drops, counts = clean(table, self._settings)
        cap = self._settings.cap
        capped = counts if cap is None else sp.csr_matrix(
            (np.minimum(counts.data, cap), counts.indices, counts.indptr), shape=counts.shape
        )
        lengths = np.asarray(capped.sum(axis=1)).ravel()
        tree = _tree_counts(table, lengths)
        row = {
            "shard": [shard], "block": [block], "documents": [counts.shape[0]],
            "starts": [counts.indptr.astype(np.int32).tobytes()],
            "terms": [_narrow(counts.indices)], "counts": [_narrow(counts.data)],
            "keys": [table["key"].to_numpy().astype(np.int64).tobytes()],
            "path_hashes": [table["path_hash"].to_numpy().astype(np.int64).tobytes()],
            "contents": [_contents(counts, table["path_hash"].to_numpy()).tobytes()],
            **{name: _one_list(value) for name, value in tree.items()}, "tokens": [float(counts.data.sum())],
            **{reason: [drops[reason]] for reason in DROP_REASONS},
        }
        return pa.RecordBatch.from_pydict(row, schema=_ARROW_SCHEMA)


def clean(table: pa.Table, settings: PackSettings) -> tuple[pa.Table, dict[str, int], sp.csr_matrix]:
    """The usable documents, how many were dropped for each reason, and the counts of the usable ones.

    Counts are a sparse matrix of shape (n, d) with distinct, sorted word ids.
    """
    table = table.combine_chunks()
    drops = dict.fromkeys(DROP_REASONS, 0)
    known = pc.is_valid(table["path"]).to_numpy()
    drops["null_path"] = int((~known).sum())
    good, unknown, counts = _matrix(table, settings.vocab_size)
    drops["bad_counts"] = int((known & ~good).sum())
    drops["unknown_terms"] = int((known & good & unknown).sum())
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    if settings.cap is not None:
        lengths = np.asarray(counts.minimum(settings.cap).sum(axis=1)).ravel()
    usable = known & good & ~unknown
    keep_rows = usable & (lengths >= settings.minimum)
    drops["too_short"] = int((usable & ~keep_rows).sum())
    rows = np.flatnonzero(keep_rows)
    return table.take(pa.array(rows)), drops, counts[rows]


def _contents(counts: sp.csr_matrix, path_hashes: np.ndarray) -> np.ndarray:
    """A 32-bit hash of each document's words, counts and path, whatever the order of its words; shape (n,)."""
    pairs = next_bits(counts.indices.astype(np.uint64)) ^ counts.data.astype(np.uint64)
    ends = np.concatenate((np.zeros(1, np.uint64), np.cumsum(next_bits(pairs), dtype=np.uint64)))
    words = ends[counts.indptr[1:]] - ends[counts.indptr[:-1]]
    return (next_bits(words ^ path_hashes.astype(np.int64).view(np.uint64)) >> np.uint64(32)).astype(np.uint32)


def _matrix(table: pa.Table, vocab_size: int) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """For each row: are its counts whole and not negative, has it an unknown word, and its counts (none if bad)."""
    n = table.num_rows
    terms, term_starts = flat_lists(table["terms"], np.int64)
    values, value_starts = flat_lists(table["counts"], np.float64)
    term_lengths, value_lengths = np.diff(term_starts), np.diff(value_starts)
    good = term_lengths == value_lengths
    if not good.all():
        terms = terms[np.repeat(good, term_lengths)]
        values = values[np.repeat(good, value_lengths)]
    lengths = np.where(good, term_lengths, 0)
    rows = np.repeat(np.arange(n), lengths)
    wrong = ~((values >= 0) & (values == np.floor(values)) & (values < 1 << 31))
    good[rows[wrong]] = False
    outside = (terms < 0) | (terms >= vocab_size)
    unknown = np.zeros(n, bool)
    unknown[rows[outside & (values > 0)]] = True
    usable = ~(wrong | outside | (values == 0)) & good[rows]
    counts = sp.csr_matrix(
        (values[usable], (rows[usable].astype(np.int32), terms[usable].astype(np.int32))), shape=(n, vocab_size)
    )
    counts.sum_duplicates()
    return good, unknown, counts


def _one_list(values: pa.Array) -> pa.Array:
    """A column of one row that holds all values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _tree_counts(table: pa.Table, lengths: np.ndarray) -> dict[str, pa.Array]:
    """Documents, words and squared words per distinct path of a block."""
    hashes = table["path_hash"].to_numpy()
    distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    paths = table["path"].combine_chunks().take(pa.array(first))
    counted = {
        "tree_hashes": distinct,
        "tree_documents": np.bincount(place, minlength=len(distinct)),
        "tree_tokens": np.bincount(place, lengths, len(distinct)),
        "tree_tokens_squared": np.bincount(place, lengths**2, len(distinct)),
        "tree_tokens_cubed": np.bincount(place, lengths**3, len(distinct)),
    }
    return {"tree_paths": paths.cast(pa.list_(pa.string())), **{name: pa.array(sums) for name, sums in counted.items()}}


_ARROW_SCHEMA = pa.schema([
    ("shard", pa.int32()), ("block", pa.int32()), ("documents", pa.int32()),
    ("starts", pa.binary()), ("terms", pa.binary()), ("counts", pa.binary()), ("keys", pa.binary()),
    ("path_hashes", pa.binary()), ("contents", pa.binary()),
    ("tree_paths", pa.list_(pa.list_(pa.string()))), ("tree_hashes", pa.list_(pa.int64())),
    ("tree_documents", pa.list_(pa.int64())), ("tree_tokens", pa.list_(pa.float64())),
    ("tree_tokens_squared", pa.list_(pa.float64())), ("tree_tokens_cubed", pa.list_(pa.float64())),
    ("tokens", pa.float64()),
    *((reason, pa.int64()) for reason in DROP_REASONS),
])
