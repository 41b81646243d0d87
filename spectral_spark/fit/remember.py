"""Remember: what a model keeps of its documents for later updates, which documents they are and a sample of them."""

from spectral_spark.engine.corpus import Corpus, CountedCorpus
from spectral_spark.engine.memory import MOST_KNOWN
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.gibbs_step import sample_rounds
from spectral_spark.moments.kept_sample import KeptSample
from spectral_spark.moments.known_documents import BYTES_PER_DOCUMENT, KnownDocuments


def known_documents(corpus: CountedCorpus, run: FitRun) -> KnownDocuments | None:
    """Which documents are in the moments; None, with a warning, if there are too many to keep apart."""
    return _known(corpus.packed, corpus.documents, "documents", run)


def known_rows(corpus: Corpus, run: FitRun) -> KnownDocuments | None:
    """The same for the rows of a feature model."""
    return _known(corpus, corpus.rows, "rows", run)


def _known(corpus: Corpus, count: int, what: str, run: FitRun) -> KnownDocuments | None:
    if count > MOST_KNOWN:
        size = count * BYTES_PER_DOCUMENT / 1e9
        run.warn(f"knowing each of {count:,} {what} would take {size:,.1f} GB, so updates will recognise "
                 "only batches that are equal as a whole; keep batches from overlapping")
        return None
    return KnownDocuments(*corpus.identities())


def kept_sample(corpus: CountedCorpus, settings: FitSettings, *, third: bool = True) -> KeptSample | None:
    """A sample of about ``replayWords`` words; None if none is to be kept or nothing would use it.

    Updates use it to refine the topics and, in a model without third moments (``third=False``), to solve for them.
    """
    if not settings.replay_words or (third and not settings.refines):
        return None
    return document_sample(corpus, settings.replay_words)


def document_sample(corpus: CountedCorpus, words: int) -> KeptSample:
    """A sample of about so many words."""
    rounds = sample_rounds(corpus, words)
    return KeptSample.of(
        corpus.packed.sample(rounds), corpus.census.tree.paths, corpus.vocab_size, 1.0 / rounds, words
    )
