"""Pack documents of word counts: validate, drop what is too short, narrow the integers, count the tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark.data.count_batch import CountBatch
from spectral_spark.engine.blocks import cut_blocks
from spectral_spark.engine.documents import DocumentFrame
from spectral_spark.engine.driver_corpus import Nearby, fits_driver
from spectral_spark.engine.lists import flat_lists
from spectral_spark.engine.memory import driver_threads
from spectral_spark.engine.packed import PackedCorpus, keep, parallelism_of, shard_count, task_count

BLOCK_DOCUMENTS = 256
DROP_REASONS = ("null_path", "bad_counts", "unknown_terms", "too_short")
_DATA = ("starts", "terms", "counts", "keys", "path_hashes")
_SCHEMA = (
    "shard int, block int, documents int, starts binary, terms binary, counts binary, keys binary, path_hashes binary, "
    "tree_paths array<array<string>>, tree_hashes array<bigint>, tree_documents array<bigint>, "
    "tree_tokens array<double>, tree_tokens_squared array<double>, tree_tokens_cubed array<double>, tokens double, "
    + ", ".join(f"{reason} bigint" for reason in DROP_REASONS)
)


@dataclass(frozen=True)
class PackSettings:
    """What a document must have to count.

    Parameters
    ----------
    vocab_size : number of words d; ids at or above it are unknown.
    cap : a word counts at most this often for the length of a document, None for no cap.
    minimum : fewest words (after the cap) that a document must have; 3 for a third moment.
    """

    vocab_size: int
    cap: float | None = None
    minimum: int = 3


def pack_counts(source: DocumentFrame, settings: PackSettings, *, shards: int | None = None) -> PackedCorpus:
    """The working copy of a corpus (still lazy; its first use fills it)."""
    count = shards or shard_count(source.rows)
    tasks = task_count(count, parallelism_of(source.frame))
    shift = (count // tasks).bit_length() - 1
    # A document's half sample, the top bit of its shard, must not depend on how many shards there are: documents that
    # are removed later are then taken from the half they were added to.
    half = max(count // 2, 1)
    shard = (F.pmod("key", F.lit(2)) % count * half + F.pmod(F.shiftright("key", 1), F.lit(half))).cast("int")
    sharded, spark = source.frame.withColumn("shard", shard), source.frame.sparkSession
    placed = (
        sharded.repartitionById(tasks, F.shiftright("shard", shift))
        .sortWithinPartitions("shard", "key", "tie")
        .select("shard", "key", "path", "path_hash", "terms", "counts")
    )
    packer, decode = _Packer(settings), CountDecoder(settings.vocab_size)
    frame = placed.mapInArrow(packer, _SCHEMA)
    if fits_driver(spark, source.entries, source.vocab_size):
        nearby = Nearby(partial(_pack_here, sharded, packer), driver_threads(spark))
        return PackedCorpus(frame, _DATA, decode, count, source.rows, nearby)
    return PackedCorpus(keep(frame), _DATA, decode, count, source.rows)


def _pack_here(sharded: DataFrame, packer: "_Packer") -> pa.Table:
    """Fetch, sort and pack on the driver: the rows that the executors would have made."""
    documents = sharded.toArrow().combine_chunks()
    order = [(name, "ascending") for name in ("shard", "key", "tie")]
    return pa.Table.from_batches(packer(documents.sort_by(order).combine_chunks().to_batches()), _ARROW_SCHEMA)


@dataclass(frozen=True)
class CountDecoder:
    """A packed row → CountBatch. Tree nodes are looked up by the hash of their path."""

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


def _narrow(values: np.ndarray) -> bytes:
    """Whole numbers in the fewest bytes that hold them; the reader sees the width from the length."""
    largest = int(values.max()) if len(values) else 0
    width = np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32
    return values.astype(width).tobytes()


def _widen(data: pa.Buffer, entries: int, dtype: type) -> np.ndarray:
    width = {0: np.uint8, 1: np.uint8, 2: np.uint16, 4: np.uint32}[len(data) // max(entries, 1)]
    return np.frombuffer(data, width).astype(dtype)


class _Packer:
    """The Arrow function: sorted documents in, packed blocks out; block borders depend on the shard alone."""

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
            **{name: _one_list(value) for name, value in tree.items()}, "tokens": [float(counts.data.sum())],
            **{reason: [drops[reason]] for reason in DROP_REASONS},
        }
        return pa.RecordBatch.from_pydict(row, schema=_ARROW_SCHEMA)


def clean(table: pa.Table, settings: PackSettings) -> tuple[pa.Table, dict[str, int], sp.csr_matrix]:
    """Split off what cannot be used, by reason, and the counts of the rest as (n, d) with distinct sorted word ids."""
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


def _matrix(table: pa.Table, vocab_size: int) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """(counts are whole and not negative, has an unknown word, counts); rows that are not good are empty."""
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
    ("path_hashes", pa.binary()),
    ("tree_paths", pa.list_(pa.list_(pa.string()))), ("tree_hashes", pa.list_(pa.int64())),
    ("tree_documents", pa.list_(pa.int64())), ("tree_tokens", pa.list_(pa.float64())),
    ("tree_tokens_squared", pa.list_(pa.float64())), ("tree_tokens_cubed", pa.list_(pa.float64())),
    ("tokens", pa.float64()),
    *((reason, pa.int64()) for reason in DROP_REASONS),
])
