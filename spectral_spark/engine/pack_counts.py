"""Pack documents of word counts: validate, drop what is too short, narrow the integers, count the tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

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
ENTRIES_TOGETHER = 1 << 17       # of blocks that are packed at once: one alone takes longer to begin with than to do
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
        waiting, entries = list[tuple[int, int, pa.Table]](), 0
        for piece in cut_blocks(batches, BLOCK_DOCUMENTS):
            waiting.append(piece)
            entries += _entries(piece[2])
            if entries >= ENTRIES_TOGETHER:
                yield self._pack(waiting)
                waiting, entries = [], 0
        if waiting:
            yield self._pack(waiting)

    def _pack(self, blocks: list[tuple[int, int, pa.Table]]) -> pa.RecordBatch:
        """A row for every block."""
        table = pa.concat_tables([rows for *_, rows in blocks]).combine_chunks()
        borders = np.cumsum([0, *(rows.num_rows for *_, rows in blocks)])
        usable = clean(table, self._settings)
        kept = np.searchsorted(usable.rows, borders)                # where the documents of every block begin
        keys, hashes = (table[name].to_numpy()[usable.rows].astype(np.int64) for name in ("key", "path_hash"))
        contents, counts = _contents(usable.counts, hashes), usable.counts
        columns: dict[str, list[Any]] = {name: [] for name in ("starts", "terms", "counts", "keys", "path_hashes",
                                                               "contents", "tokens")}
        for start, stop in pairwise(kept):
            starts = counts.indptr[start : stop + 1]
            entries = slice(int(starts[0]), int(starts[-1]))
            columns["starts"].append((starts - starts[0]).astype(np.int32).tobytes())
            columns["terms"].append(_narrow(counts.indices[entries]))
            columns["counts"].append(_narrow(counts.data[entries]))
            columns["tokens"].append(float(counts.data[entries].sum()))
            for name, values in (("keys", keys), ("path_hashes", hashes), ("contents", contents)):
                columns[name].append(values[start:stop].tobytes())
        block = np.repeat(np.arange(len(blocks)), np.diff(borders))
        return pa.RecordBatch.from_pydict({
            "shard": [shard for shard, *_ in blocks], "block": [number for _, number, _ in blocks],
            "documents": np.diff(kept).astype(np.int32), **columns,
            **_tree_counts(table["path"].combine_chunks(), usable, hashes, block),
            **{reason: np.bincount(block[drop], minlength=len(blocks)) for reason, drop in usable.drops.items()},
        }, schema=_ARROW_SCHEMA)


def _entries(table: pa.Table) -> int:
    """Entries of the lists of word ids."""
    return sum(chunk.offsets[-1].as_py() - chunk.offsets[0].as_py() for chunk in table["terms"].chunks)


@dataclass(frozen=True, eq=False)
class _Usable:
    """What is left of documents.

    Attributes
    ----------
    rows : int array of shape (n,), the rows of the usable documents.
    counts : their words, a sparse matrix of shape (n, d) with distinct, sorted word ids.
    lengths : array of shape (n,), their words after the cap.
    drops : for every reason a bool array of shape (all rows,), the documents that are dropped for it.
    """

    rows: np.ndarray
    counts: sp.csr_matrix
    lengths: np.ndarray
    drops: dict[str, np.ndarray]


def clean(table: pa.Table, settings: PackSettings) -> _Usable:
    """Which documents of a table are usable, and what they count."""
    known = pc.is_valid(table["path"]).to_numpy()
    good, unknown, counts = _matrix(table, settings.vocab_size)
    capped = counts.data if settings.cap is None else np.minimum(counts.data, settings.cap)
    lengths = np.bincount(np.repeat(np.arange(len(known)), np.diff(counts.indptr)), capped, len(known))
    usable = known & good & ~unknown
    short = usable & (lengths < settings.minimum)
    rows = np.flatnonzero(usable & ~short)
    drops = dict(zip(DROP_REASONS, (~known, known & ~good, known & good & unknown, short), strict=True))
    return _Usable(rows, counts if len(rows) == len(known) else counts[rows], lengths[rows], drops)


def _contents(counts: sp.csr_matrix, path_hashes: np.ndarray) -> np.ndarray:
    """A 32-bit hash of each document's words, counts and path, whatever the order of its words; shape (n,)."""
    pairs = next_bits(counts.indices.astype(np.uint64)) ^ counts.data.astype(np.uint64)
    ends = np.concatenate((np.zeros(1, np.uint64), np.cumsum(next_bits(pairs), dtype=np.uint64)))
    words = ends[counts.indptr[1:]] - ends[counts.indptr[:-1]]
    return (next_bits(words ^ path_hashes.view(np.uint64)) >> np.uint64(32)).astype(np.uint32)


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
    if not usable.all():
        terms, values, lengths = terms[usable], values[usable], np.bincount(rows[usable], minlength=n)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    counts = sp.csr_matrix((values, terms.astype(np.int32), starts.astype(np.int32)), shape=(n, vocab_size))
    counts.sum_duplicates()
    return good, unknown, counts


def _tree_counts(paths: pa.Array, usable: _Usable, hashes: np.ndarray, block: np.ndarray) -> dict[str, pa.Array]:
    """Documents, words and squared words per distinct path of every block; ``block`` is that of each row."""
    mine, lengths = block[usable.rows], usable.lengths
    order = np.lexsort((hashes, mine))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(hashes[order]) != 0) | (np.diff(mine[order]) != 0)
    place, first = np.empty(len(order), np.int64), order[new]
    place[order] = np.cumsum(new) - 1
    counted = {
        "tree_hashes": hashes[first],
        "tree_documents": np.bincount(place, minlength=len(first)),
        **{f"tree_{name}": np.bincount(place, lengths**power, len(first))
           for power, name in ((1, "tokens"), (2, "tokens_squared"), (3, "tokens_cubed"))},
    }
    borders = pa.array(np.searchsorted(mine[first], np.arange(block.max(initial=0) + 2)), pa.int32())
    taken = paths.take(pa.array(usable.rows[first])).cast(pa.list_(pa.string()))
    return {name: pa.ListArray.from_arrays(borders, values) for name, values in (
        ("tree_paths", taken), *((name, pa.array(sums)) for name, sums in counted.items()),
    )}


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
