"""Finds the documents of an update that a model does not have yet; known ones are counted, and skipped or refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np

from spectral_spark.engine.choose_corpus import open_documents
from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.documents import DocumentFrame, without_documents
from spectral_spark.engine.pack_counts import PackSettings
from spectral_spark.engine.progress import Progress
from spectral_spark.errors import InputError
from spectral_spark.moments.known_documents import KnownDocuments


@dataclass(frozen=True)
class DocumentTally:
    """What became of the documents that an update was given, apart from those that are too short or damaged.

    Attributes
    ----------
    given : documents that could be counted.
    taken : documents that were added, or removed.
    known : documents that were skipped because the model has them already.
    changed : documents that were skipped because the model has others under the same ids.
    absent : documents that could not be removed because the model does not have them.
    """

    given: int
    taken: int
    known: int = 0
    changed: int = 0
    absent: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The documents of an update that are to be added or removed.

    Attributes
    ----------
    corpus : the documents, or None if none is left.
    identities : what the model will know of them, or forget; None if the model knows no single documents.
    source : fingerprint of the documents.
    tally : how many there were of each kind; None if the model knows no single documents.
    """

    corpus: CountedCorpus | None
    identities: KnownDocuments | None
    source: str
    tally: DocumentTally | None


@contextmanager
def open_arrivals(
    source: DocumentFrame, settings: PackSettings, known: KnownDocuments | None, *, remove: bool, skip_known: bool,
    progress: Progress,
) -> Iterator[Arrivals]:
    """Open the documents that a model does not know, or, to remove them, those that it does.

    Others are skipped with ``skip_known``, otherwise the update is refused.
    """
    unfit = np.empty(0, np.int64)
    with open_documents(source, settings, progress=progress) as corpus:
        if known is None:
            yield Arrivals(corpus, None, source.fingerprint, None)
            return
        batch = KnownDocuments(*corpus.packed.identities())
        tally, fit = sorted_out(known, batch, remove=remove)
        if fit.all():
            yield Arrivals(corpus, batch, source.fingerprint, tally)
            return
        if not skip_known:
            raise InputError(refusal(tally, remove=remove))
        unfit = batch.keys[~fit]
    rest = without_documents(source, unfit)
    if rest is None or not fit.any():
        yield Arrivals(None, batch.selected(fit), source.fingerprint, tally)
        return
    with open_documents(rest, settings, progress=progress) as corpus:
        yield Arrivals(corpus, KnownDocuments(*corpus.packed.identities()), rest.fingerprint, tally)


def sorted_out(known: KnownDocuments, batch: KnownDocuments, *, remove: bool) -> tuple[DocumentTally, np.ndarray]:
    """How many documents are what to the model, and which of them can be added or removed, as a bool array.

    Documents without ids may have the same key; they are added, removed or left alone together.
    """
    found = known.leaving(batch) if remove else known.arriving(batch)
    fit = found.same if remove else found.new
    fit = fit & ~np.isin(batch.keys, batch.keys[~fit])
    given, taken, changed = len(batch), int(fit.sum()), int(found.changed.sum())
    others = given - taken - changed
    tally = DocumentTally(given, taken, changed=changed, **{"absent" if remove else "known": others})
    return tally, fit


def refusal(
    tally: DocumentTally, *, remove: bool, what: str = "documents", differently: str = "other words or another path"
) -> str:
    """Why nothing was added or removed; ``what`` the model counts, and how one of the same id may differ."""
    parts = []
    if tally.known:
        parts.append(f"{tally.known:,} are in this model already")
    if tally.absent:
        parts.append(f"{tally.absent:,} are not in this model")
    if tally.changed:
        parts.append(f"{tally.changed:,} have the id of a {what.removesuffix('s')} of this model but {differently}")
    done = "removed" if remove else "added"
    return (
        f"of {tally.given:,} {what} {' and '.join(parts)}, so nothing was {done}; `skipKnown=True` leaves them "
        f"out and {'removes' if remove else 'adds'} the other {tally.taken:,}"
    )
