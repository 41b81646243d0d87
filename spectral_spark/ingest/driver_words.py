"""The words of all documents and how they are chosen, in the driver's memory: ``vocabulary.py`` without Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.saved_vocabulary import SavedWords
from spectral_spark.ingest.vocabulary import (
    Unseen,
    Vocabulary,
    chosen_words,
    given_words,
    most_documents,
    unseen_words,
)
from spectral_spark.ingest.word_cuts import MOST_LISTED, WordCuts, cuts_of
from spectral_spark.ingest.word_statistics import HashCollisionError, HashSums
from spectral_spark.text.word_numbers import word_hashes

_ORDER = [("documents", "descending"), ("occurrences", "descending"), ("term", "ascending")]


@dataclass(frozen=True, eq=False)
class DriverWords:
    """Words with their statistics; those that are in no document are there with zeros.

    Attributes
    ----------
    hashes : sorted, each once.
    table : ``term, documents, occurrences`` in the order of the hashes.
    """

    hashes: np.ndarray
    table: pa.Table

    @classmethod
    def of(cls, parts: pa.Table, known: Sequence[str], salt: int) -> "DriverWords":
        """Added up from what workers wrote (``hash, term, documents, occurrences``).

        Parameters
        ----------
        known : further words.
        """
        listed = np.concatenate([parts["hash"].to_numpy(), word_hashes(known, salt)])
        terms = pa.concat_arrays([*parts["term"].cast(pa.string()).chunks, pa.array(known, pa.string())])
        order = np.argsort(listed, kind="stable")
        ordered, new = listed[order], np.ones(len(order), bool)
        new[1:] = ordered[1:] != ordered[:-1]
        first = terms.take(pa.array(order[new]))
        if not pc.all(pc.equal(terms.take(pa.array(order)), first.take(pa.array(np.cumsum(new) - 1)))).as_py():
            raise HashCollisionError
        sums = [_sums(np.concatenate([parts[name].to_numpy(), np.zeros(len(known), np.int64)])[order], new)
                for name in ("documents", "occurrences")]
        return cls(ordered[new], pa.table([first, *sums], names=["term", "documents", "occurrences"]))

    def less(self, *parts: HashSums) -> "DriverWords":
        """The statistics without those of some of the documents."""
        columns = {"term": self.table["term"]}
        for name in ("documents", "occurrences"):
            values = self.table[name].to_numpy().copy()
            for part in parts:
                values[np.searchsorted(self.hashes, part.hashes)] -= getattr(part, name)
            columns[name] = pa.chunked_array([values])
        return DriverWords(self.hashes, pa.table(columns))

    def where(self, mask: np.ndarray) -> pa.Table:
        return self.table.filter(pa.array(mask))

    @property
    def documents(self) -> np.ndarray:
        values: np.ndarray = self.table["documents"].to_numpy()
        return values


def _sums(values: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Sums of runs, each of which begins where ``new`` is set."""
    sums: np.ndarray = np.add.reduceat(values, np.flatnonzero(new)) if len(values) else values
    return sums


def choose_on_driver(training: DriverWords, n_training: int, settings: IngestSettings) -> Vocabulary:
    """As ``vocabulary.choose_vocabulary``."""
    fewest, most, documents = settings.min_documents, most_documents(n_training, settings), training.documents
    rows = training.where((documents >= fewest) & (documents <= most)).sort_by(_ORDER)[: settings.vocab_size]
    return chosen_words(rows, n_training, settings)


def cuts_on_driver(training: DriverWords, n_training: int, settings: IngestSettings, kept: int) -> WordCuts:
    """As ``word_cuts.word_cuts``."""
    fewest, most, documents = settings.min_documents, most_documents(n_training, settings), training.documents
    rare = int(((documents > 0) & (documents < fewest) & (documents <= most)).sum())
    frequent = training.where((documents > 0) & (documents > most)).sort_by(_ORDER)
    listed = frequent[:MOST_LISTED]
    return cuts_of(int((documents > 0).sum()), rare, frequent.num_rows, kept, n_training,
                   zip(listed["term"].to_pylist(), listed["documents"].to_pylist(), strict=True))


def given_on_driver(
    saved: SavedWords, training: DriverWords, n_training: int, settings: IngestSettings
) -> Vocabulary:
    """As ``vocabulary.given_vocabulary``."""
    terms = training.table["term"].combine_chunks()
    place = pc.index_in(pa.array(saved.words, pa.string()), terms)
    found = training.table.take(place)
    statistics = np.array([pc.fill_null(found[name], 0).to_numpy() for name in ("documents", "occurrences")])
    lacking = training.where((training.documents > 0) & ~pc.is_in(terms, pa.array(saved.words, pa.string())).to_numpy(
        zero_copy_only=False))
    return given_words(saved.words, statistics, _unseen(lacking, int(statistics[1].sum()), saved.cut, n_training,
                                                        settings))


def _unseen(
    lacking: pa.Table, known_tokens: int, cut_words: Iterable[str] | None, n_training: int, settings: IngestSettings
) -> Unseen:
    documents, occurrences = lacking["documents"].to_numpy(), lacking["occurrences"].to_numpy()
    if cut_words is None:
        cut = documents > most_documents(n_training, settings)
    else:
        cut = pc.is_in(lacking["term"], pa.array(list(cut_words), pa.string())).to_numpy().astype(bool)
    recurs = ~cut & (documents >= settings.min_documents)
    return unseen_words(len(documents), int(cut.sum()), int(occurrences.sum()), int(occurrences[recurs].sum()),
                        int(occurrences[cut].sum()), known_tokens)
