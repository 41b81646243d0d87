"""Decides where a corpus is worked on: small ones on the driver, others on the executors.

In a local session the driver also sweeps the words of larger ones, as its threads do what Python workers would.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from spectral_spark.engine.corpus import Corpus, CountedCorpus, take_census
from spectral_spark.engine.documents import DocumentFrame, words_of
from spectral_spark.engine.driver_corpus import DriverCorpus
from spectral_spark.engine.executor_corpus import ExecutorCorpus
from spectral_spark.engine.memory import available_memory, driver_threads, held_bytes, local_workers
from spectral_spark.engine.pack_counts import PackSettings, pack_counts
from spectral_spark.engine.pack_dense import pack_rows
from spectral_spark.engine.packing import Packing
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.rows import RowFrame
from spectral_spark.engine.spark_connect import session_setting
from spectral_spark.errors import SettingsError

SETTING = "spark.spectral.driverEntries"
DRIVER_ENTRIES = 8_000_000       # (word, count) entries, or values of vectors, of all documents together: some 100 MB
LOCAL_ENTRIES, FEW_CORES = 24_000_000, 4     # in local sessions of few cores
COPIED_ENTRIES = 48_000_000      # of which the driver of a local session holds a copy: some 64 million words
ENTRY_BYTES, DOCUMENT_BYTES, FETCHED_BYTES = 12, 120, 512 << 20      # as Spark hands documents over; half of its limit
DRIVER_WORDS = 100_000           # larger vocabularies have states too large for one process
DRIVER_STATE_BYTES = 96 << 20    # of the largest state, if known
SHARE_OF_MEMORY = 0.5            # that may be taken for the words of a larger corpus


@contextmanager
def open_documents(
    source: DocumentFrame, settings: PackSettings, *, progress: Progress | None = None
) -> Iterator[CountedCorpus]:
    """Pack documents where they will be worked on and take their census; release them at the end of the block."""
    packing, watched = pack_counts(source, settings), progress or Progress()
    with choose_corpus(packing, source.entries, source.vocab_size, progress=watched) as packed:
        with watched.watch(packed.spark, "census"):
            corpus = take_census(packed, settings.vocab_size)
        yield corpus


def open_rows(source: RowFrame, *, state_bytes: int = 0, progress: Progress | None = None) -> Corpus:
    """Vectors where they will be worked on, packed by the first pass; a context manager."""
    packing = pack_rows(source, state_bytes=state_bytes)
    return choose_corpus(
        packing, source.rows * source.width, source.width, state_bytes=state_bytes, progress=progress, copied=False
    )


def choose_corpus(
    packing: Packing, entries: int, words: int, *, state_bytes: int = 0, progress: Progress | None = None,
    copied: bool = True,
) -> Corpus:
    """A DriverCorpus if the driver can easily hold the documents, an ExecutorCorpus otherwise.

    ``copied`` tells whether the driver may hold a copy of what the executors of a local session work on.
    """
    spark, progress = packing.frame.sparkSession, progress or Progress()
    limit = driver_entries(spark)
    if driver_holds(limit, entries, words, state_bytes):
        return DriverCorpus(packing, progress, driver_threads(spark))
    here = copied and sweeps_here(spark, entries)
    most = local_entries(limit, local_workers(spark))
    if here and driver_holds(most, entries, words) and _fetches(packing.documents, entries):
        return DriverCorpus(packing, progress, driver_threads(spark), keeps_decoded=False)
    threads = driver_threads(spark) if here else 0
    return ExecutorCorpus(packing, progress, entries, copy_for=threads, round_entries=limit * (words <= DRIVER_WORDS))


def sweeps_here(spark: SparkSession, entries: int) -> bool:
    """Whether the driver of this session sweeps a corpus of so many entries, and has the memory for it."""
    enough = SHARE_OF_MEMORY * available_memory() >= held_bytes(0, words_of(entries))
    return driver_copies(driver_entries(spark), entries, local=local_workers(spark) > 0) and enough


def driver_copies(limit: int, entries: float, *, local: bool) -> bool:
    """Whether the driver sweeps the words of so many entries; ``limit`` is that of corpora that it holds anyway."""
    return local and limit > 0 and entries <= max(limit, COPIED_ENTRIES)


def local_entries(limit: int, cores: int) -> int:
    """The most entries that a driver with so many cores and no executors holds; 0 cores stand for a cluster.

    With few cores, its threads are as fast as Python workers, which documents would have to reach first. A limit below
    the usual one is kept.
    """
    return max(limit, LOCAL_ENTRIES) if limit >= DRIVER_ENTRIES and 0 < cores <= FEW_CORES else limit


def _fetches(documents: int, entries: int) -> bool:
    """Whether Spark may hand over so many documents at once, and the driver has room for a sorted copy of them."""
    size = ENTRY_BYTES * entries + DOCUMENT_BYTES * documents
    return size <= FETCHED_BYTES and 3 * size <= SHARE_OF_MEMORY * available_memory()


def driver_holds(limit: int, entries: float, words: int, state_bytes: int = 0) -> bool:
    """Whether a corpus of so many entries and words belongs on the driver; ``limit`` is that of the entries."""
    return 0 < limit >= entries and words <= DRIVER_WORDS and state_bytes <= DRIVER_STATE_BYTES


def driver_entries(spark: SparkSession) -> int:
    """The Spark setting ``spark.spectral.driverEntries``: the most entries that stay on the driver; 0 for never."""
    return entries_limit(session_setting(spark, SETTING))


def entries_limit(given: str | None) -> int:
    """The limit that a value of the setting stands for; None for the default."""
    try:
        return DRIVER_ENTRIES if given is None else int(given)
    except ValueError:
        raise SettingsError(f"{SETTING} is '{given}'; give a whole number of entries, 0 to never use the driver") \
            from None
