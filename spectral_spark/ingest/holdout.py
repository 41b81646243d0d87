"""Chooses the held-out documents, by seed and document ids alone, and the vocabulary from all other documents."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.engine.spark_versions import frame_from_arrow, to_arrow
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings
from spectral_spark.ingest.saved_vocabulary import saved_words
from spectral_spark.ingest.vocabulary import (
    STATISTICS,
    Vocabulary,
    choose_vocabulary,
    given_vocabulary,
    index_documents,
    term_statistics,
)

_ROUNDS = 8
_Candidate = tuple[str, str, int]          # id, group, largest number to take of that group
_Chooser = Callable[[DataFrame | None, int], Vocabulary]         # (held-out statistics, number of the others)
_CANDIDATES = (
    "doc_id string, path array<string>, words array<string>, counts array<int>, group string, rank string, half long"
)


@dataclass(frozen=True, eq=False)
class Split:
    """The vocabulary of the training part and the ids of the test part (Arrow table with ``doc_id``)."""

    vocabulary: Vocabulary
    test_ids: pa.Table


def split_documents(usable: DataFrame, n_usable: int, settings: IngestSettings, work: Workplace) -> Split:
    """Choose the test documents and, from all the others, the vocabulary.

    Documents are ranked by a hash of seed and id, and the first ones are held out. A document that is too short in the
    vocabulary of the others cannot be used for testing: it goes back to the training documents, and the next in rank
    takes its place, until all held-out documents are long enough.
    """
    spark = usable.sparkSession
    statistics = term_statistics(usable)
    statistics.write.parquet(work.part("statistics"))
    choose = _chooser(spark.read.schema(STATISTICS).parquet(work.readable("statistics")), settings)
    holdout = at_most_half(settings.split, n_usable)
    if holdout is None:
        return Split(choose(None, n_usable), _ids([]))
    spare = max(20, holdout.documents // 4)
    while True:
        candidates = _candidates(usable, holdout, holdout.documents + spare, settings.seed, work)
        ranked = _ranked(candidates)
        split = _settle(candidates, ranked, holdout, choose, n_usable, settings)
        if not _ran_out(ranked, split, holdout, holdout.documents + spare):
            return split
        spare *= 8


def at_most_half(holdout: Holdout | None, n_usable: int) -> Holdout | None:
    """The holdout, limited to half of the documents. Holdouts per group are limited to half of each group anyway."""
    if holdout is None or holdout.per_group or holdout.documents <= n_usable // 2:
        return holdout
    return Holdout(n_usable // 2) if n_usable > 1 else None


def _chooser(statistics: DataFrame, settings: IngestSettings) -> _Chooser:
    if settings.vocabulary is None:
        return lambda held_out, n_training: choose_vocabulary(statistics, held_out, n_training, settings)
    saved = saved_words(settings.vocabulary)
    return lambda held_out, n_training: given_vocabulary(saved, statistics, held_out, n_training, settings)


def _settle(
    candidates: DataFrame, ranked: list[_Candidate], holdout: Holdout, choose: _Chooser, n_usable: int,
    settings: IngestSettings,
) -> Split:
    """Hold out the first candidates, choose the vocabulary without them, return the short ones, and repeat."""
    returned: set[str] = set()
    for _ in range(_ROUNDS):
        chosen = _first(ranked, returned, holdout)
        tested = candidates.join(F.broadcast(frame_from_arrow(candidates.sparkSession, _ids(chosen))), "doc_id")
        vocabulary = choose(term_statistics(tested), n_usable - len(chosen))
        long_enough = to_arrow(index_documents(candidates, vocabulary, settings.min_tokens).select("doc_id"))
        short = {doc_id for doc_id, _, _ in ranked} - set(long_enough["doc_id"].to_pylist())
        if short.isdisjoint(chosen):
            break
        returned |= short
    return Split(vocabulary, _ids(chosen))


def _ran_out(ranked: list[_Candidate], split: Split, holdout: Holdout, limit: int) -> bool:
    """Whether a group has fewer test documents than it should, although it has more candidates."""
    test = set(split.test_ids["doc_id"].to_pylist())
    offered = Counter(group for _, group, _ in ranked)
    taken = Counter(group for doc_id, group, _ in ranked if doc_id in test)
    return any(offered[group] == limit and taken[group] < min(holdout.documents, half) for _, group, half in ranked)


def _candidates(usable: DataFrame, holdout: Holdout, limit: int, seed: int, work: Workplace) -> DataFrame:
    """The first ``limit`` documents in rank, overall or of every group, with their words."""
    ranks = usable.select(
        "doc_id",
        (F.coalesce(F.get("path", F.lit(0)), F.lit("")) if holdout.per_group else F.lit("")).alias("group"),
        F.sha2(F.concat(F.lit(f"{seed}:"), F.col("doc_id")), 256).alias("rank"),
    )
    if holdout.per_group:
        by_group = Window.partitionBy("group")
        ranks = ranks.withColumn("half", F.floor(F.count("*").over(by_group) / 2))
        ranks = ranks.withColumn("place", F.row_number().over(by_group.orderBy("rank", "doc_id")))
        ranks = ranks.filter(F.col("place") <= limit).drop("place")
    else:
        ranks = ranks.withColumn("half", F.lit(holdout.documents).cast("long")).orderBy("rank", "doc_id").limit(limit)
    usable.join(F.broadcast(ranks), "doc_id").write.mode("overwrite").parquet(work.part("candidates"))
    return usable.sparkSession.read.schema(_CANDIDATES).parquet(work.readable("candidates"))


def _ranked(candidates: DataFrame) -> list[_Candidate]:
    """The candidates in rank order."""
    rows = to_arrow(candidates.select("rank", "doc_id", "group", "half")).sort_by([("rank", "ascending"),
                                                                                   ("doc_id", "ascending")])
    return list(zip(*(rows[name].to_pylist() for name in ("doc_id", "group", "half")), strict=True))


def _first(ranked: list[_Candidate], returned: set[str], holdout: Holdout) -> list[str]:
    taken: dict[str, int] = defaultdict(int)
    chosen: list[str] = []
    for doc_id, group, half in ranked:
        if doc_id not in returned and taken[group] < min(holdout.documents, half):
            taken[group] += 1
            chosen.append(doc_id)
    return chosen


def _ids(ids: list[str]) -> pa.Table:
    return pa.table({"doc_id": pa.array(ids, pa.string())})
