"""Documents for ``holdout.py`` that Spark ranks and counts on the executors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.corpus_store import TEST, TRAIN
from spectral_spark.ingest.holdout import Candidate, OrderedDocuments, Split, row_table
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings
from spectral_spark.ingest.saved_vocabulary import SavedWords, saved_words
from spectral_spark.ingest.vocabulary import Vocabulary, choose_vocabulary, given_vocabulary, index_documents, with_cuts
from spectral_spark.ingest.word_statistics import statistics_of

_CANDIDATES = "row long, doc_id string, hashes binary, counts binary, group string, rank string, half long"


@dataclass(frozen=True, eq=False)
class ExecutorCandidates:
    """Candidates in files that Spark wrote."""

    frame: DataFrame
    min_tokens: int
    salt: int

    @cached_property
    def ranked(self) -> list[Candidate]:
        rows = to_arrow(self.frame.select("rank", "doc_id", "row", "group", "half"))
        rows = rows.sort_by([("rank", "ascending"), ("doc_id", "ascending")])
        return list(zip(*(rows[name].to_pylist() for name in ("row", "group", "half")), strict=True))

    def long_enough(self, vocabulary: Vocabulary) -> set[int]:
        found = to_arrow(index_documents(self.frame, vocabulary, self.min_tokens, self.salt).select("row"))
        return set(found["row"].to_pylist())

    def statistics(self, rows: Sequence[int]) -> DataFrame:
        """Statistics of the words of some of them."""
        chosen = F.broadcast(frame_from_arrow(self.frame.sparkSession, row_table(rows)))
        return statistics_of(self.frame.join(chosen, "row"))


@dataclass(frozen=True, eq=False)
class ExecutorDocuments:
    """The usable documents as a DataFrame, and the statistics of their words.

    Attributes
    ----------
    frame : ``row, doc_id, path, hashes, counts``.
    usable : how many documents there are.
    statistics : ``hash, term, documents, occurrences`` of their words.
    """

    frame: DataFrame
    usable: int
    statistics: DataFrame
    settings: IngestSettings
    work: Workplace
    salt: int

    def candidates(self, holdout: Holdout, limit: int) -> ExecutorCandidates:
        """Their words are written, so that they are looked up once."""
        ranks = self.frame.select(
            "row", "doc_id",
            (F.coalesce(F.get("path", F.lit(0)), F.lit("")) if holdout.per_group else F.lit("")).alias("group"),
            F.sha2(F.concat(F.lit(f"{self.settings.seed}:"), F.col("doc_id")), 256).alias("rank"),
        )
        first = _written_ranks(_first_in_rank(ranks, limit, _likely_share(limit)), self.work)
        found = first.groupBy("group").agg(F.count("*").alias("found"), F.first("size").alias("size"))
        if found.filter(F.col("found") < F.least("size", F.lit(limit))).limit(1).count():
            first = _written_ranks(_first_in_rank(ranks, limit, F.lit(1.0)), self.work)
        half = F.floor(F.col("size") / 2) if holdout.per_group else F.lit(holdout.documents).cast("long")
        chosen = first.select("row", "group", "rank", half.alias("half"))
        (self.frame.select("row", "doc_id", "hashes", "counts").join(F.broadcast(chosen), "row")
         .write.mode("overwrite").parquet(self.work.part("candidates")))
        spark = self.frame.sparkSession
        return ExecutorCandidates(spark.read.schema(_CANDIDATES).parquet(self.work.readable("candidates")),
                                  self.settings.min_tokens, self.salt)

    def vocabulary(self, candidates: ExecutorCandidates | None, held_out: Sequence[int]) -> Vocabulary:
        tested = None if candidates is None else candidates.statistics(held_out)
        if self._saved is not None:
            return given_vocabulary(self._saved, self.statistics, tested, self.usable - len(held_out), self.settings)
        return choose_vocabulary(self.statistics, tested, self.usable - len(held_out), self.settings)

    def with_cuts(
        self, vocabulary: Vocabulary, candidates: ExecutorCandidates | None, held_out: Sequence[int]
    ) -> Vocabulary:
        if self._saved is not None:
            return vocabulary
        tested = None if candidates is None else candidates.statistics(held_out)
        return with_cuts(vocabulary, self.statistics, tested, self.usable - len(held_out), self.settings)

    def in_order(self, split: Split, files: int) -> OrderedDocuments:
        """They go through a shuffle; what is in them is read from the files."""
        marked = self.frame.withColumn("split", F.lit(TRAIN))
        if split.test_rows.num_rows:
            tested = frame_from_arrow(marked.sparkSession, split.test_rows).withColumn("test", F.lit(TEST))
            marked = (marked.join(F.broadcast(tested), "row", "left")
                      .withColumn("split", F.coalesce("test", "split")).drop("test"))
        # indexed before the shuffle: ids are narrower than hashes, and the many small files need no Python worker
        indexed = index_documents(marked.drop("row"), split.vocabulary, self.settings.min_tokens, self.salt)
        return OrderedDocuments(indexed.repartition(files, "doc_id").sortWithinPartitions("doc_id"), None)

    @cached_property
    def _saved(self) -> SavedWords | None:
        return saved_words(self.settings.vocabulary) if self.settings.vocabulary else None


def _written_ranks(ranks: DataFrame, work: Workplace) -> DataFrame:
    ranks.write.mode("overwrite").parquet(work.part("ranks"))
    return ranks.sparkSession.read.schema(ranks.schema).parquet(work.readable("ranks"))


def _first_in_rank(ranks: DataFrame, limit: int, share: Column) -> DataFrame:
    """The first ``limit`` documents of every group, if they are among the first ``share`` of all possible ranks."""
    place = F.conv(F.substring("rank", 1, 12), 16, 10).cast("double") / 16.0**12
    sizes = ranks.groupBy("group").agg(F.count("*").alias("size"))
    near = ranks.join(F.broadcast(sizes), "group").filter(place <= share)
    by_rank = Window.partitionBy("group").orderBy("rank", "doc_id")
    return near.withColumn("place", F.row_number().over(by_rank)).filter(F.col("place") <= limit).drop("place")


def _likely_share(limit: int) -> Column:
    """A share of the ranks that has ``limit`` documents of a group but for eight standard deviations of bad luck."""
    return (limit + 8 * limit**0.5 + 40) / F.col("size")
