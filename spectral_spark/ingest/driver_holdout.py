"""Documents for ``holdout.py`` that the driver ranks and counts itself."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.counted_files import CountedFiles
from spectral_spark.ingest.driver_order import documents_in_order, spreader
from spectral_spark.ingest.driver_words import DriverWords, choose_on_driver, cuts_on_driver, given_on_driver
from spectral_spark.ingest.filtering import UNKNOWN
from spectral_spark.ingest.holdout import Candidate, OrderedDocuments, Split
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings
from spectral_spark.ingest.saved_vocabulary import SavedWords, saved_words
from spectral_spark.ingest.vocabulary import Indexer, Vocabulary
from spectral_spark.ingest.word_statistics import HashSums
from spectral_spark.text.word_numbers import word_hashes


@dataclass(frozen=True, eq=False)
class DriverCandidates:
    """Candidates in the driver's memory; ``entries`` are their words (``row, hashes, counts``)."""

    ranked: list[Candidate]
    entries: pa.Table
    min_tokens: int
    salt: int

    def long_enough(self, vocabulary: Vocabulary) -> set[int]:
        indexer = Indexer(pa.array(word_hashes(vocabulary.terms.to_pylist(), self.salt)), self.min_tokens)
        return {row for batch in indexer(iter(self.entries.to_batches())) for row in batch["row"].to_pylist()}

    def statistics(self, rows: Sequence[int]) -> HashSums:
        """Statistics of the words of some of them."""
        return sums_of(self.entries.filter(pc.is_in(self.entries["row"], pa.array(rows, pa.int64()))))


def sums_of(entries: pa.Table) -> HashSums:
    """Statistics of the words of documents (``hashes, counts``)."""
    whole = entries.combine_chunks().to_batches()
    if not whole:
        return HashSums(*np.zeros((3, 0), np.int64))
    return HashSums.of(whole[0]["hashes"], whole[0]["counts"])


@dataclass(frozen=True, eq=False)
class DriverDocuments:
    """The usable documents without their words.

    Attributes
    ----------
    table : ``row, doc_id, group``.
    words : the statistics of their words.
    files : where their words are.
    copies : rows of the documents that are not usable because they are duplicates.
    kept : types of the columns that are carried along.
    """

    spark: SparkSession
    table: pa.Table
    words: DriverWords
    files: CountedFiles
    copies: np.ndarray
    kept: StructType | None
    settings: IngestSettings
    work: Workplace
    salt: int

    @property
    def usable(self) -> int:
        return int(self.table.num_rows)

    def candidates(self, holdout: Holdout, limit: int) -> DriverCandidates:
        groups = self._groups if holdout.per_group else pa.array([""] * self.usable).dictionary_encode()
        codes = groups.indices.to_numpy()
        sizes = np.bincount(codes, minlength=len(groups.dictionary))
        by_group = self._in_rank_order(np.arange(self.usable))
        by_group = by_group[np.argsort(codes[by_group], kind="stable")]
        place = np.arange(self.usable) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        first = by_group[place < limit]
        first = self._in_rank_order(first)
        rows = self.table["row"].to_numpy()[first]
        halves = sizes[codes[first]] // 2 if holdout.per_group else np.full(len(first), holdout.documents)
        names = groups.dictionary.take(pa.array(codes[first])).to_pylist()
        ranked = list(zip(rows.tolist(), names, halves.tolist(), strict=True))
        entries = pa.concat_tables(self.files.entries(rows, pa.Table.combine_chunks))
        return DriverCandidates(ranked, entries, self.settings.min_tokens, self.salt)

    def vocabulary(self, candidates: DriverCandidates | None, held_out: Sequence[int]) -> Vocabulary:
        training, n_training = self._training(candidates, held_out), self.usable - len(held_out)
        if self._saved is not None:
            return given_on_driver(self._saved, training, n_training, self.settings)
        return choose_on_driver(training, n_training, self.settings)

    def with_cuts(
        self, vocabulary: Vocabulary, candidates: DriverCandidates | None, held_out: Sequence[int]
    ) -> Vocabulary:
        if self._saved is not None:
            return vocabulary
        cuts = cuts_on_driver(self._training(candidates, held_out), self.usable - len(held_out), self.settings,
                              len(vocabulary))
        return vocabulary.with_cuts(cuts)

    def in_order(self, split: Split, files: int) -> OrderedDocuments:
        """They are put in order without a shuffle, and summed up on the way."""
        unnamed = UNKNOWN if self.settings.missing_path == UNKNOWN else None
        hashes = pa.array(word_hashes(split.vocabulary.terms.to_pylist(), self.salt))
        spread = spreader(self.files.paths, self.copies, split.test_rows["row"].to_numpy(), unnamed,
                          Indexer(hashes, self.settings.min_tokens), files, self.work)
        return OrderedDocuments(*documents_in_order(self.spark, spread, self.kept, split.vocabulary.fingerprint))

    def _training(self, candidates: DriverCandidates | None, held_out: Sequence[int]) -> DriverWords:
        return self.words if candidates is None else self.words.less(candidates.statistics(held_out))

    @cached_property
    def _saved(self) -> SavedWords | None:
        return saved_words(self.settings.vocabulary) if self.settings.vocabulary else None

    @cached_property
    def _groups(self) -> pa.DictionaryArray:
        return self.table["group"].combine_chunks().dictionary_encode()

    def _in_rank_order(self, places: np.ndarray) -> np.ndarray:
        """Places in the table, by rank; hardly ever do two ranks begin with the same number."""
        first = self._ranks[-1][places]
        order = np.argsort(first)
        if len(first) > 1 and not np.diff(first[order]).all():
            order = np.lexsort([part[places] for part in self._ranks])
        ordered: np.ndarray = places[order]
        return ordered

    @cached_property
    def _ranks(self) -> list[np.ndarray]:
        """SHA-256 of seed and id, as four numbers, the last of which comes first in the order."""
        seed, ids = b"%d:" % self.settings.seed, self.table["doc_id"].cast(pa.large_binary()).to_pylist()
        digests = b"".join([hashlib.sha256(seed + name).digest() for name in ids])
        return [np.ascontiguousarray(part) for part in np.frombuffer(digests, ">u8").reshape(-1, 4).T[::-1]]
