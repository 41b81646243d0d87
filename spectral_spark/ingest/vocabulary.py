"""The words of the corpus: chosen from the training documents, in an order that depends on nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.errors import InputError
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.saved_vocabulary import SavedWords
from spectral_spark.ingest.word_cuts import WordCuts, word_cuts

SCHEMA = pa.schema([("term_id", pa.int32()), ("term", pa.string()), ("documents", pa.int64()),
                    ("occurrences", pa.int64())])

STATISTICS = "term string, documents long, occurrences long"


@dataclass(frozen=True)
class Unseen:
    """What the training documents say in words that a given vocabulary lacks.

    Attributes
    ----------
    words, tokens, share : distinct words, their occurrences, and these as a share of all occurrences.
    recurring_tokens, recurring_share : the same of the words that would be in a vocabulary of these documents: not
        rare, and not cut on purpose. The rare ones are names and misspellings, of which every day has some.
    cut_words, cut_tokens, cut_share : the same of the words that were cut on purpose when the vocabulary was chosen,
        because they were in too many documents. Where it is not known which these were (release 0.1.0 did not keep
        them): the words that are in too many of these documents.
    """

    words: int
    tokens: int
    share: float
    recurring_tokens: int
    recurring_share: float
    cut_words: int
    cut_tokens: int
    cut_share: float


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with their training statistics, most widespread first (then most frequent, then alphabetical), or as given.

    Attributes
    ----------
    table : Arrow table with ``term_id, term, documents, occurrences``, one row per word in the order of ``term_id``.
    unseen : what a given vocabulary lacks; None when it was chosen from these documents.
    cuts : what became of the other words; None for a given vocabulary.
    """

    table: pa.Table
    unseen: Unseen | None = None
    cuts: WordCuts | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def terms(self) -> pa.Array:
        return self.table["term"].combine_chunks()

    @property
    def fingerprint(self) -> str:
        return vocabulary_fingerprint(self.terms.to_pylist())


def term_statistics(documents: DataFrame) -> DataFrame:
    """For each word the documents it is in and its occurrences: ``term, documents, occurrences``."""
    pairs = documents.select(F.explode(F.arrays_zip("words", "counts")).alias("pair"))
    return (pairs.groupBy(F.col("pair.words").alias("term"))
            .agg(F.count("*").alias("documents"), F.sum("pair.counts").alias("occurrences")))


def choose_vocabulary(
    everything: DataFrame, held_out: DataFrame | None, n_training: int, settings: IngestSettings
) -> Vocabulary:
    """The words of the training part that are neither rare nor everywhere, at most ``vocab_size`` of them.

    Parameters
    ----------
    everything, held_out : ``term_statistics`` of all documents and of the test documents among them; the training
        part is the difference.
    n_training : number of training documents.
    """
    training = _training(everything, held_out)
    most = _most(n_training, settings)
    rows = to_arrow(
        training.filter(F.col("documents").between(settings.min_documents, most))
        .orderBy(F.desc("documents"), F.desc("occurrences"), F.asc("term"))
        .limit(settings.vocab_size)
    )
    if not rows.num_rows:
        raise InputError(
            f"no word is in at least {settings.min_documents} and at most {most:,} of the {n_training:,} training "
            "documents; lower `min_documents` or raise `max_document_share`"
        )
    ids = pa.array(np.arange(rows.num_rows, dtype=np.int32))
    table = pa.table([ids, rows["term"], rows["documents"], rows["occurrences"]], names=SCHEMA.names)
    cuts = word_cuts(training, n_training, settings.min_documents, most, rows.num_rows)
    return Vocabulary(table.cast(SCHEMA).combine_chunks(), cuts=cuts)


def given_vocabulary(
    saved: SavedWords, everything: DataFrame, held_out: DataFrame | None, n_training: int, settings: IngestSettings
) -> Vocabulary:
    """Exactly these words in this order, with their statistics in the training part, and what they leave out."""
    words = saved.words
    training = _training(everything, held_out).filter(F.col("documents") > 0)
    ids = pa.array(np.arange(len(words), dtype=np.int32))
    listed = pa.table({"term_id": ids, "term": pa.array(words, pa.string())})
    found = training.join(F.broadcast(frame_from_arrow(training.sparkSession, listed)), "term", "left")
    rows = to_arrow(found.filter(F.col("term_id").isNotNull()).select("term_id", "documents", "occurrences"))
    statistics = np.zeros((2, len(words)), np.int64)
    for row, name in enumerate(("documents", "occurrences")):
        statistics[row, rows["term_id"].to_numpy()] = rows[name].to_numpy()
    table = listed.append_column("documents", pa.array(statistics[0]))
    table = table.append_column("occurrences", pa.array(statistics[1])).cast(SCHEMA).combine_chunks()
    unseen = _unseen(found.filter(F.col("term_id").isNull()), int(statistics[1].sum()), saved.cut, n_training, settings)
    return Vocabulary(table, unseen)


def _unseen(
    lacking: DataFrame, known_tokens: int, cut_words: Sequence[str] | None, n_training: int, settings: IngestSettings
) -> Unseen:
    """Sum up the statistics of the words that a given vocabulary lacks."""
    documents, occurrences = F.col("documents"), F.col("occurrences")
    cut = documents > _most(n_training, settings) if cut_words is None else F.col("term").isin(list(cut_words))
    recurs = ~cut & (documents >= settings.min_documents)
    row = lacking.agg(
        F.count("*"), F.count(F.when(cut, 1)),
        *(F.coalesce(F.sum(F.when(which, occurrences)), F.lit(0)) for which in (F.lit(True), recurs, cut)),
    ).collect()[0]
    words, n_cut, tokens, recurring, cut_tokens = (int(value) for value in row)
    total = max(known_tokens + tokens, 1)
    return Unseen(words, tokens, tokens / total, recurring, recurring / total, n_cut, cut_tokens, cut_tokens / total)


def _most(n_training: int, settings: IngestSettings) -> int:
    """In how many documents a word may be."""
    return int(np.floor(settings.document_share * n_training + 1e-9))


def _training(everything: DataFrame, held_out: DataFrame | None) -> DataFrame:
    """Statistics of all documents less those of the test documents."""
    if held_out is None:
        return everything
    tested = held_out.select("term", F.col("documents").alias("d"), F.col("occurrences").alias("o"))
    return everything.join(F.broadcast(tested), "term", "left").select(
        "term",
        (F.col("documents") - F.coalesce("d", F.lit(0))).alias("documents"),
        (F.col("occurrences") - F.coalesce("o", F.lit(0))).alias("occurrences"),
    )


INDEXED = "doc_id string, path array<string>, terms array<int>, counts array<int>"
_INDEXED_SCHEMA = pa.schema([("doc_id", pa.string()), ("path", pa.list_(pa.string())), ("terms", pa.list_(pa.int32())),
                             ("counts", pa.list_(pa.int32()))])


@dataclass(frozen=True)
class Indexer:
    """Words to ids, vectorised over a batch; words outside the vocabulary fall out, then documents left too short."""

    terms: pa.Array
    min_tokens: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self._indexed(batch)

    def _indexed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        words = batch.column("words")
        owner = np.repeat(np.arange(batch.num_rows), pc.list_value_length(words).to_numpy(zero_copy_only=False))
        ids = pc.fill_null(pc.index_in(words.flatten(), self.terms), -1).to_numpy(zero_copy_only=False)
        counts = batch.column("counts").flatten().to_numpy(zero_copy_only=False)
        known = ids >= 0
        owner, ids, counts = owner[known], ids[known], counts[known]
        length = np.bincount(owner, weights=counts, minlength=batch.num_rows)
        kept = length >= self.min_tokens
        mine = kept[owner]
        order = np.lexsort((ids[mine], owner[mine]))
        owner, ids, counts = owner[mine][order], ids[mine][order], counts[mine][order]
        sizes = np.bincount(owner, minlength=batch.num_rows)[kept]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        mask = pa.array(kept)
        return pa.RecordBatch.from_arrays([
            batch.column("doc_id").filter(mask), batch.column("path").filter(mask),
            pa.ListArray.from_arrays(offsets, pa.array(ids, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(counts, pa.int32())),
        ], schema=_INDEXED_SCHEMA)


def index_documents(documents: DataFrame, vocabulary: Vocabulary, min_tokens: int) -> DataFrame:
    """Documents as sorted term ids and counts (``INDEXED``); those with fewer known words than ``min_tokens`` go."""
    columns = documents.select("doc_id", "path", "words", "counts")
    return columns.mapInArrow(Indexer(vocabulary.terms, min_tokens), INDEXED)
