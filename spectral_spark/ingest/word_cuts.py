"""What became of the distinct words of the training documents: kept, or cut by which rule."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

MOST_LISTED, MOST_NAMED = 1000, 10


@dataclass(frozen=True)
class WordCuts:
    """Distinct words after stop words, short words and words with digits were left out.

    Attributes
    ----------
    distinct : distinct words of the training documents.
    kept : those in the vocabulary.
    too_rare, too_frequent, beyond_vocab_size : those cut, by the rule that cut them.
    frequent : the words cut as too frequent (at most 1,000), the most frequent first, with the share of the training
        documents that they are in.
    """

    distinct: int
    kept: int
    too_rare: int
    too_frequent: int
    beyond_vocab_size: int
    frequent: tuple[tuple[str, float], ...]

    @property
    def words(self) -> list[str]:
        """The words cut as too frequent."""
        return [word for word, _ in self.frequent]

    def for_manifest(self) -> dict[str, Any]:
        """As JSON values, with the ten most frequent words that were cut."""
        first = [{"word": word, "document_share": round(share, 6)} for word, share in self.frequent[:MOST_NAMED]]
        counts = {name: value for name, value in asdict(self).items() if name != "frequent"}
        return {**counts, "most_frequent_cut": first}


def word_cuts(training: DataFrame, n_training: int, fewest: int, most: int, kept: int) -> WordCuts:
    """Count the words of ``training`` (term, documents, occurrences) by what became of them.

    Parameters
    ----------
    n_training : number of training documents.
    fewest, most : in how many training documents a word of the vocabulary may be.
    kept : words in the vocabulary.
    """
    documents = F.col("documents")
    counted = training.filter(documents > 0).agg(
        F.count("*"), F.count(F.when(documents > most, 1)),
        F.count(F.when((documents < fewest) & (documents <= most), 1)),
    ).collect()[0]
    distinct, frequent, rare = (int(value) for value in counted)
    words = (training.filter(documents > most).orderBy(F.desc("documents"), F.desc("occurrences"), F.asc("term"))
             .limit(MOST_LISTED).select("term", "documents").collect()) if frequent else []
    return cuts_of(distinct, rare, frequent, kept, n_training, ((row["term"], row["documents"]) for row in words))


def cuts_of(
    distinct: int, rare: int, frequent: int, kept: int, n_training: int, listed: Iterable[tuple[str, int]]
) -> WordCuts:
    """The same counts, with the words cut as too frequent and in how many documents each is."""
    shares = tuple((word, documents / max(n_training, 1)) for word, documents in listed)
    return WordCuts(distinct, kept, rare, frequent, distinct - rare - frequent - kept, shares)
