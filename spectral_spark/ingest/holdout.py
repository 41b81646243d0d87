"""Chooses the held-out documents, by seed and document ids alone, and the vocabulary from all other documents."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings
from spectral_spark.ingest.saved_vocabulary import saved_words
from spectral_spark.ingest.vocabulary import Vocabulary, choose_vocabulary, given_vocabulary, index_documents, with_cuts
from spectral_spark.ingest.word_statistics import statistics_of

_ROUNDS = 8
_Candidate = tuple[int, str, int]          # row, group, largest number to take of that group
_Chooser = Callable[[DataFrame | None, int], Vocabulary]         # (held-out statistics, number of the others)
_CANDIDATES = "row long, doc_id string, hashes binary, counts binary, group string, rank string, half long"


@dataclass(frozen=True, eq=False)
class Split:
    """The vocabulary of the training part and the rows of the test part (Arrow table with ``row``)."""

    vocabulary: Vocabulary
    test_rows: pa.Table


def split_documents(
    usable: DataFrame, n_usable: int, statistics: DataFrame, settings: IngestSettings, work: Workplace, salt: int
) -> Split:
    """Choose the test documents and, from all the others, the vocabulary.

    Documents are ranked by a hash of seed and id, and the first ones are held out. A document that is too short in the
    vocabulary of the others cannot be used for testing: it goes back to the training documents, and the next in rank
    takes its place, until all held-out documents are long enough.
    """
    choose, finish = _choosers(statistics, settings)
    holdout = at_most_half(settings.split, n_usable)
    if holdout is None:
        return Split(finish(choose(None, n_usable), None, n_usable), _rows([]))
    spare = max(20, holdout.documents // 4)
    while True:
        candidates = _candidates(usable, holdout, holdout.documents + spare, settings.seed, work)
        ranked = _ranked(candidates)
        split = _settle(candidates, ranked, holdout, choose, n_usable, settings.min_tokens, salt)
        if not _ran_out(ranked, split, holdout, holdout.documents + spare):
            tested = statistics_of(_chosen(candidates, split.test_rows))
            return Split(finish(split.vocabulary, tested, n_usable - split.test_rows.num_rows), split.test_rows)
        spare *= 8


def at_most_half(holdout: Holdout | None, n_usable: int) -> Holdout | None:
    """The holdout, limited to half of the documents. Holdouts per group are limited to half of each group anyway."""
    if holdout is None or holdout.per_group or holdout.documents <= n_usable // 2:
        return holdout
    return Holdout(n_usable // 2) if n_usable > 1 else None


def _choosers(
    statistics: DataFrame, settings: IngestSettings
) -> tuple[_Chooser, Callable[[Vocabulary, DataFrame | None, int], Vocabulary]]:
    """How the vocabulary is chosen, as often as the held-out documents change, and what is told about it at the end."""
    if settings.vocabulary is None:
        return (lambda held_out, n: choose_vocabulary(statistics, held_out, n, settings),
                lambda chosen, held_out, n: with_cuts(chosen, statistics, held_out, n, settings))
    saved = saved_words(settings.vocabulary)
    return (lambda held_out, n: given_vocabulary(saved, statistics, held_out, n, settings),
            lambda chosen, held_out, n: chosen)


def _settle(
    candidates: DataFrame, ranked: list[_Candidate], holdout: Holdout, choose: _Chooser, n_usable: int,
    min_tokens: int, salt: int,
) -> Split:
    """Hold out the first candidates, choose the vocabulary without them, return the short ones, and repeat."""
    returned: set[int] = set()
    for _ in range(_ROUNDS):
        chosen = _first(ranked, returned, holdout)
        tested = _chosen(candidates, _rows(chosen))
        vocabulary = choose(statistics_of(tested), n_usable - len(chosen))
        long_enough = to_arrow(index_documents(candidates, vocabulary, min_tokens, salt).select("row"))
        short = {row for row, _, _ in ranked} - set(long_enough["row"].to_pylist())
        if short.isdisjoint(chosen):
            break
        returned |= short
    return Split(vocabulary, _rows(chosen))


def _chosen(candidates: DataFrame, rows: pa.Table) -> DataFrame:
    return candidates.join(F.broadcast(frame_from_arrow(candidates.sparkSession, rows)), "row")


def _ran_out(ranked: list[_Candidate], split: Split, holdout: Holdout, limit: int) -> bool:
    """Whether a group has fewer test documents than it should, although it has more candidates."""
    test = set(split.test_rows["row"].to_pylist())
    offered = Counter(group for _, group, _ in ranked)
    taken = Counter(group for row, group, _ in ranked if row in test)
    return any(offered[group] == limit and taken[group] < min(holdout.documents, half) for _, group, half in ranked)


def _candidates(usable: DataFrame, holdout: Holdout, limit: int, seed: int, work: Workplace) -> DataFrame:
    """The first ``limit`` documents in rank, overall or of every group, with their words."""
    ranks = usable.select(
        "row", "doc_id",
        (F.coalesce(F.get("path", F.lit(0)), F.lit("")) if holdout.per_group else F.lit("")).alias("group"),
        F.sha2(F.concat(F.lit(f"{seed}:"), F.col("doc_id")), 256).alias("rank"),
    )
    first = _written_ranks(_first_in_rank(ranks, limit, _likely_share(limit)), work)
    found = first.groupBy("group").agg(F.count("*").alias("found"), F.first("size").alias("size"))
    if found.filter(F.col("found") < F.least("size", F.lit(limit))).limit(1).count():
        first = _written_ranks(_first_in_rank(ranks, limit, F.lit(1.0)), work)
    half = F.floor(F.col("size") / 2) if holdout.per_group else F.lit(holdout.documents).cast("long")
    chosen = first.select("row", "group", "rank", half.alias("half"))
    (usable.select("row", "doc_id", "hashes", "counts").join(F.broadcast(chosen), "row")
     .write.mode("overwrite").parquet(work.part("candidates")))
    return usable.sparkSession.read.schema(_CANDIDATES).parquet(work.readable("candidates"))


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


def _ranked(candidates: DataFrame) -> list[_Candidate]:
    """The candidates in rank order."""
    rows = to_arrow(candidates.select("rank", "doc_id", "row", "group", "half")).sort_by([("rank", "ascending"),
                                                                                          ("doc_id", "ascending")])
    return list(zip(*(rows[name].to_pylist() for name in ("row", "group", "half")), strict=True))


def _first(ranked: list[_Candidate], returned: set[int], holdout: Holdout) -> list[int]:
    taken: dict[str, int] = defaultdict(int)
    chosen: list[int] = []
    for row, group, half in ranked:
        if row not in returned and taken[group] < min(holdout.documents, half):
            taken[group] += 1
            chosen.append(row)
    return chosen


def _rows(rows: list[int]) -> pa.Table:
    return pa.table({"row": pa.array(rows, pa.int64())})
