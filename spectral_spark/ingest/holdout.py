"""Chooses the held-out documents, by seed and document ids alone, and the vocabulary from all other documents."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.ingest.corpus_fingerprint import Contents
from spectral_spark.ingest.ingest_settings import Holdout, IngestSettings
from spectral_spark.ingest.vocabulary import Vocabulary

_ROUNDS = 8
Candidate = tuple[int, str, int]           # row, group, largest number to take of that group


@dataclass(frozen=True, eq=False)
class Split:
    """The vocabulary of the training part and the rows of the test part (Arrow table with ``row``)."""

    vocabulary: Vocabulary
    test_rows: pa.Table


@dataclass(frozen=True, eq=False)
class OrderedDocuments:
    """Documents as they are written: ``doc_id, path, terms, counts, split`` and what is carried along.

    Attributes
    ----------
    contents : what is in them; None if that is only known once they are written.
    """

    frame: DataFrame
    contents: Contents | None


class Candidates(Protocol):
    """Documents that may be held out, with their words."""

    @property
    def ranked(self) -> list[Candidate]:
        """In rank order."""

    def long_enough(self, vocabulary: Vocabulary) -> set[int]:
        """The rows of those that have ``min_tokens`` words of a vocabulary."""


Found = TypeVar("Found", bound=Candidates)


class Documents(Protocol[Found]):
    """The usable documents, on the driver or on the executors."""

    @property
    def usable(self) -> int:
        """How many there are."""

    def candidates(self, holdout: Holdout, limit: int) -> Found:
        """The first ``limit`` documents in rank, overall or of every group."""

    def vocabulary(self, candidates: Found | None, held_out: Sequence[int]) -> Vocabulary:
        """The vocabulary of all documents but these candidates."""

    def with_cuts(self, vocabulary: Vocabulary, candidates: Found | None, held_out: Sequence[int]) -> Vocabulary:
        """That vocabulary with what became of all other words."""

    def in_order(self, split: Split, files: int) -> OrderedDocuments:
        """The documents with sorted term ids and counts: those with the same hash of their id modulo ``files`` in one
        partition, in the order of the ids. Those with fewer known words than ``min_tokens`` go.
        """


def split_documents(documents: Documents[Found], settings: IngestSettings) -> Split:
    """Choose the test documents and, from all the others, the vocabulary.

    Documents are ranked by a hash of seed and id, and the first ones are held out. A document that is too short in the
    vocabulary of the others cannot be used for testing: it goes back to the training documents, and the next in rank
    takes its place, until all held-out documents are long enough.
    """
    holdout = at_most_half(settings.split, documents.usable)
    if holdout is None:
        return Split(documents.with_cuts(documents.vocabulary(None, []), None, []), row_table([]))
    spare = max(20, holdout.documents // 4)
    while True:
        candidates = documents.candidates(holdout, holdout.documents + spare)
        ranked = candidates.ranked
        vocabulary, chosen = _settle(documents, candidates, ranked, holdout)
        if not _ran_out(ranked, chosen, holdout, holdout.documents + spare):
            return Split(documents.with_cuts(vocabulary, candidates, chosen), row_table(chosen))
        spare *= 8


def at_most_half(holdout: Holdout | None, n_usable: int) -> Holdout | None:
    """The holdout, limited to half of the documents. Holdouts per group are limited to half of each group anyway."""
    if holdout is None or holdout.per_group or holdout.documents <= n_usable // 2:
        return holdout
    return Holdout(n_usable // 2) if n_usable > 1 else None


def row_table(rows: Sequence[int]) -> pa.Table:
    """Numbers of rows as a table with the column ``row``."""
    return pa.table({"row": pa.array(rows, pa.int64())})


def _settle(
    documents: Documents[Found], candidates: Found, ranked: list[Candidate], holdout: Holdout
) -> tuple[Vocabulary, list[int]]:
    """Hold out the first candidates, choose the vocabulary without them, return the short ones, and repeat."""
    returned: set[int] = set()
    for _ in range(_ROUNDS):
        chosen = _first(ranked, returned, holdout)
        vocabulary = documents.vocabulary(candidates, chosen)
        short = {row for row, _, _ in ranked} - candidates.long_enough(vocabulary)
        if short.isdisjoint(chosen):
            break
        returned |= short
    return vocabulary, chosen


def _ran_out(ranked: list[Candidate], chosen: Sequence[int], holdout: Holdout, limit: int) -> bool:
    """Whether a group has fewer test documents than it should, although it has more candidates."""
    test = set(chosen)
    offered = Counter(group for _, group, _ in ranked)
    taken = Counter(group for row, group, _ in ranked if row in test)
    return any(offered[group] == limit and taken[group] < min(holdout.documents, half) for _, group, half in ranked)


def _first(ranked: list[Candidate], returned: set[int], holdout: Holdout) -> list[int]:
    taken: dict[str, int] = defaultdict(int)
    chosen: list[int] = []
    for row, group, half in ranked:
        if row not in returned and taken[group] < min(holdout.documents, half):
            taken[group] += 1
            chosen.append(row)
    return chosen
