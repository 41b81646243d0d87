"""The words of the corpus: chosen from the training documents, in an order that depends on nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.errors import InputError
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.saved_vocabulary import SavedWords
from spectral_spark.ingest.word_cuts import WordCuts, word_cuts
from spectral_spark.ingest.word_statistics import binary_values
from spectral_spark.text.word_numbers import word_hashes

_INTEGERS = ArrayType(IntegerType())

SCHEMA = pa.schema([("term_id", pa.int32()), ("term", pa.string()), ("documents", pa.int64()),
                    ("occurrences", pa.int64())])


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

    def with_cuts(self, cuts: WordCuts) -> "Vocabulary":
        """The same words, with what became of the others."""
        return replace(self, cuts=cuts)

    @property
    def fingerprint(self) -> str:
        return vocabulary_fingerprint(self.terms.to_pylist())


def choose_vocabulary(
    everything: DataFrame, held_out: DataFrame | None, n_training: int, settings: IngestSettings
) -> Vocabulary:
    """The words of the training part that are neither rare nor everywhere, at most ``vocab_size`` of them.

    Parameters
    ----------
    everything, held_out : statistics of the words of all documents and of the test documents among them; the training
        part is the difference.
    n_training : number of training documents.
    """
    # held-out documents only make words rarer, so rare words need no look at them
    training = _training(everything.filter(F.col("documents") >= settings.min_documents), held_out)
    most = most_documents(n_training, settings)
    rows = to_arrow(
        training.filter(F.col("documents").between(settings.min_documents, most))
        .orderBy(F.desc("documents"), F.desc("occurrences"), F.asc("term"))
        .limit(settings.vocab_size)
    )
    return chosen_words(rows, n_training, settings)


def chosen_words(rows: pa.Table, n_training: int, settings: IngestSettings) -> Vocabulary:
    """The vocabulary of the words ``term, documents, occurrences`` in this order; refuses to be empty."""
    if not rows.num_rows:
        most = most_documents(n_training, settings)
        raise InputError(
            f"no word is in at least {settings.min_documents} and at most {most:,} of the {n_training:,} training "
            "documents; lower `min_documents` or raise `max_document_share`"
        )
    ids = pa.array(np.arange(rows.num_rows, dtype=np.int32))
    table = pa.table([ids, rows["term"], rows["documents"], rows["occurrences"]], names=SCHEMA.names)
    return Vocabulary(table.cast(SCHEMA).combine_chunks())


def with_cuts(
    vocabulary: Vocabulary, everything: DataFrame, held_out: DataFrame | None, n_training: int,
    settings: IngestSettings,
) -> Vocabulary:
    """The vocabulary with what became of all other words; arguments as of ``choose_vocabulary``."""
    most, training = most_documents(n_training, settings), _training(everything, held_out)
    return vocabulary.with_cuts(word_cuts(training, n_training, settings.min_documents, most, len(vocabulary)))


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
    unseen = _unseen(found.filter(F.col("term_id").isNull()), int(statistics[1].sum()), saved.cut, n_training, settings)
    return given_words(words, statistics, unseen)


def given_words(words: Sequence[str], statistics: np.ndarray, unseen: Unseen) -> Vocabulary:
    """These words in this order; ``statistics`` of shape (2, words): in how many documents, and how often in them."""
    ids = pa.array(np.arange(len(words), dtype=np.int32))
    table = pa.table([ids, pa.array(words, pa.string()), *statistics], names=SCHEMA.names)
    return Vocabulary(table.cast(SCHEMA).combine_chunks(), unseen)


def _unseen(
    lacking: DataFrame, known_tokens: int, cut_words: Sequence[str] | None, n_training: int, settings: IngestSettings
) -> Unseen:
    """Sum up the statistics of the words that a given vocabulary lacks."""
    documents, occurrences = F.col("documents"), F.col("occurrences")
    cut = documents > most_documents(n_training, settings) if cut_words is None else F.col("term").isin(list(cut_words))
    recurs = ~cut & (documents >= settings.min_documents)
    row = lacking.agg(
        F.count("*"), F.count(F.when(cut, 1)),
        *(F.coalesce(F.sum(F.when(which, occurrences)), F.lit(0)) for which in (F.lit(True), recurs, cut)),
    ).collect()[0]
    words, n_cut, tokens, recurring, cut_tokens = (int(value) for value in row)
    return unseen_words(words, n_cut, tokens, recurring, cut_tokens, known_tokens)


def unseen_words(words: int, n_cut: int, tokens: int, recurring: int, cut_tokens: int, known_tokens: int) -> Unseen:
    """The same counts with their shares of all occurrences."""
    total = max(known_tokens + tokens, 1)
    return Unseen(words, tokens, tokens / total, recurring, recurring / total, n_cut, cut_tokens, cut_tokens / total)


def most_documents(n_training: int, settings: IngestSettings) -> int:
    """In how many documents a word may be."""
    return int(np.floor(settings.document_share * n_training + 1e-9))


def _training(everything: DataFrame, held_out: DataFrame | None) -> DataFrame:
    """Statistics of all documents less those of the test documents."""
    if held_out is None:
        return everything
    tested = held_out.groupBy("hash").agg(F.sum("documents").alias("d"), F.sum("occurrences").alias("o"))
    return everything.join(F.broadcast(tested), "hash", "left").select(
        "term",
        (F.col("documents") - F.coalesce("d", F.lit(0))).alias("documents"),
        (F.col("occurrences") - F.coalesce("o", F.lit(0))).alias("occurrences"),
    )


@dataclass(frozen=True)
class Indexer:
    """Hashes of words to ids, vectorised over a batch; words outside the vocabulary fall out, then documents left too
    short. Other columns stay as they are.
    """

    hashes: pa.Array
    min_tokens: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self._indexed(batch)

    def _indexed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        hashes, starts = binary_values(batch.column("hashes"), np.int64)
        counts, _ = binary_values(batch.column("counts"), np.int32)
        owner = np.repeat(np.arange(batch.num_rows), np.diff(starts))
        ids = pc.fill_null(pc.index_in(pa.array(hashes), self.hashes), -1).to_numpy(zero_copy_only=False)
        known = ids >= 0
        owner, ids, counts = owner[known], ids[known], counts[known]
        length = np.bincount(owner, weights=counts, minlength=batch.num_rows)
        kept = length >= self.min_tokens
        mine = kept[owner]
        order = np.argsort(owner[mine] * len(self.hashes) + ids[mine])      # by document, then by id
        owner, ids, counts = owner[mine][order], ids[mine][order], counts[mine][order]
        sizes = np.bincount(owner, minlength=batch.num_rows)[kept]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        mask = pa.array(kept)
        indexed = {"hashes": ("terms", ids), "counts": ("counts", counts)}
        names, arrays = [], []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            new, values = indexed.get(name, (name, None))
            names.append(new)
            arrays.append(column.filter(mask) if values is None
                          else pa.ListArray.from_arrays(offsets, pa.array(values, pa.int32())))
        return pa.RecordBatch.from_arrays(arrays, names=names)


def index_documents(documents: DataFrame, vocabulary: Vocabulary, min_tokens: int, salt: int) -> DataFrame:
    """Documents with sorted term ids and counts in the place of hashes; those with fewer known words than
    ``min_tokens`` go.
    """
    fields = [StructField("terms", _INTEGERS) if field.name == "hashes" else
              StructField("counts", _INTEGERS) if field.name == "counts" else field for field in documents.schema]
    hashes = pa.array(word_hashes(vocabulary.terms.to_pylist(), salt))
    return documents.mapInArrow(Indexer(hashes, min_tokens), StructType(fields))
