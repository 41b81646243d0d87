"""A held-out part that depends on the seed and the document ids alone, and a vocabulary that has not seen it."""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spectral_spark.corpus.settings import Holdout, IngestSettings
from spectral_spark.corpus.vocabulary import Vocabulary, choose_vocabulary, index_documents, term_statistics
from spectral_spark.corpus.workplace import Workplace
from spectral_spark.errors import SettingsError

_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Split:
    """The vocabulary of the training part and the ids of the test part (Arrow table with ``doc_id``)."""

    vocabulary: Vocabulary
    test_ids: pa.Table


def split_documents(usable: DataFrame, n_usable: int, settings: IngestSettings, work: Workplace) -> Split:
    """Choose the test documents and, from all the others, the vocabulary.

    Documents are ranked by a hash of seed and id; the first ones are held out. One that would be too short in the
    vocabulary of the rest is no use for testing: it goes back to the training part and the next in rank takes its
    place, until all held-out documents have words enough.
    """
    spark = usable.sparkSession
    statistics = term_statistics(usable).filter(F.col("documents") >= settings.min_documents)
    statistics.write.parquet(work.part("statistics"))
    statistics = spark.read.parquet(work.readable("statistics"))
    holdout = settings.split
    if holdout is None:
        vocabulary = choose_vocabulary(statistics, None, n_usable, settings)
        return Split(vocabulary, _ids([]))
    _write_candidates(usable, n_usable, holdout, settings.seed, work)
    candidates = spark.read.parquet(work.readable("candidates"))
    ranked = _ranked(candidates)
    returned: set[str] = set()
    for attempt in range(_ROUNDS):
        chosen = _ids(_first(ranked, returned, holdout))
        tested = candidates.join(F.broadcast(spark.createDataFrame(chosen)), "doc_id")
        vocabulary = choose_vocabulary(statistics, term_statistics(tested), n_usable - chosen.num_rows, settings)
        long_enough = index_documents(tested, vocabulary, settings.min_tokens).select("doc_id").toArrow()
        if long_enough.num_rows == chosen.num_rows or attempt == _ROUNDS - 1:
            break
        returned |= set(chosen["doc_id"].to_pylist()) - set(long_enough["doc_id"].to_pylist())
    return Split(vocabulary, chosen)


def _write_candidates(usable: DataFrame, n_usable: int, holdout: Holdout, seed: int, work: Workplace) -> None:
    """The first documents in rank, some more than needed, with their words."""
    if holdout.documents >= n_usable and not holdout.per_group:
        raise SettingsError(f"holdout {holdout} of {n_usable:,} usable documents leaves none to train on")
    spare = holdout.documents + max(20, holdout.documents // 4)
    ranks = usable.select(
        "doc_id",
        (F.coalesce(F.get("path", F.lit(0)), F.lit("")) if holdout.per_group else F.lit("")).alias("group"),
        F.sha2(F.concat(F.lit(f"{seed}:"), F.col("doc_id")), 256).alias("rank"),
    )
    if holdout.per_group:
        by_group = Window.partitionBy("group")
        ranks = ranks.withColumn("half", F.floor(F.count("*").over(by_group) / 2))
        ranks = ranks.withColumn("place", F.row_number().over(by_group.orderBy("rank", "doc_id")))
        ranks = ranks.filter(F.col("place") <= spare).drop("place")
    else:
        ranks = ranks.withColumn("half", F.lit(holdout.documents)).orderBy("rank", "doc_id").limit(spare)
    usable.join(F.broadcast(ranks), "doc_id").write.parquet(work.part("candidates"))


def _ranked(candidates: DataFrame) -> list[tuple[str, str, int]]:
    """Id, group and largest number to take of the group, in rank order."""
    rows = candidates.select("rank", "doc_id", "group", "half").toArrow().sort_by([("rank", "ascending"),
                                                                                   ("doc_id", "ascending")])
    return list(zip(*(rows[name].to_pylist() for name in ("doc_id", "group", "half")), strict=True))


def _first(ranked: list[tuple[str, str, int]], returned: set[str], holdout: Holdout) -> list[str]:
    taken: dict[str, int] = defaultdict(int)
    chosen: list[str] = []
    for doc_id, group, half in ranked:
        if doc_id not in returned and taken[group] < min(holdout.documents, half):
            taken[group] += 1
            chosen.append(doc_id)
    return chosen


def _ids(ids: list[str]) -> pa.Table:
    return pa.table({"doc_id": pa.array(ids, pa.string())})
