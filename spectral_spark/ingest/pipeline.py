"""From an input to a corpus on disk: read → count → screen → split → vocabulary → write → fingerprint."""

import logging
import time
from dataclasses import asdict
from typing import Any

from pyarrow import fs
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spectral_spark.errors import InputError
from spectral_spark.files.directories import Staging, staged
from spectral_spark.files.overwriting import check_apart
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.boilerplate import write_boilerplate
from spectral_spark.ingest.boilerplate_file import check_boilerplate_file
from spectral_spark.ingest.corpus_files import describe_files
from spectral_spark.ingest.corpus_fingerprint import Contents, contents
from spectral_spark.ingest.corpus_manifest import CORPUS_JSON, CORPUS_KIND, CORPUS_VERSION
from spectral_spark.ingest.corpus_store import DOCUMENTS_SCHEMA, TRAIN
from spectral_spark.ingest.counted_words import CountedWords, counted_words
from spectral_spark.ingest.holdout import Split, split_documents
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.kept_columns import KEPT
from spectral_spark.ingest.readers.source import Source, read_source
from spectral_spark.ingest.saved_vocabulary import saved_words

_LOG = logging.getLogger(__name__)
_DOCUMENTS_PER_FILE = 16_384
_SCRATCH = ("raw", "counted", "spread", "reasons", "statistics", "joined", "joined_statistics", "ranks", "candidates")


def ingest(spark: SparkSession, settings: IngestSettings, progress: ShowProgress | None = None) -> dict[str, Any]:
    """Make a corpus and return its manifest (what ``corpus.json`` says, and the seconds each stage took).

    The output appears complete, at once, or not at all. ``read`` always equals ``kept`` plus the sum of ``dropped``.

    Parameters
    ----------
    settings : what to read, where to, and what to keep.
    progress : called with a short line at every stage; never with text from the documents.
    """
    stages = _Stages(progress)
    check_boilerplate_file(settings)
    if settings.overwrite:
        check_apart(settings.output, {"input": settings.input, "vocabulary": settings.vocabulary}, "output")
    with staged(settings.output, CORPUS_KIND, overwrite=settings.overwrite) as place:
        work = Workplace(place)
        with stages("read"):
            source = read_source(spark, settings, work, stages.say)
        if settings.find_boilerplate:
            with stages("boilerplate"):
                lines = write_boilerplate(source, settings)
            stages.say(f"{lines:,} lines in at least {settings.boilerplate_documents:,} documents: see "
                       f"'{settings.find_boilerplate}'")
        with stages("count"):
            words = counted_words(spark, source, settings, work)
            screened = words.screened
        stages.say(f"read {screened.read:,} documents, {screened.kept:,} usable")
        if words.recipe.phrases:
            stages.say(f"{len(words.recipe.phrases):,} phrases")
        with stages("vocabulary"):
            split = split_documents(words.documents, settings)
        stages.say(f"{len(split.vocabulary):,} words")
        with stages("write"):
            found = _write(spark, source, words, split, settings, work)
        files = describe_files(work.filesystem, work.inside)
        manifest = _manifest(settings, source, words, split, found, files)
        for name in _SCRATCH:
            work.delete(name)
        Staging(work.filesystem, work.inside).write_json(CORPUS_JSON, manifest)
    stages.say(f"kept {manifest['kept']:,} documents with {manifest['tokens']:,} words; dropped: "
               f"{_reasons(manifest['dropped'])}")
    return {**manifest, "seconds": stages.seconds}


class _Stages:
    """Progress lines and the time each stage took."""

    def __init__(self, progress: ShowProgress | None) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}

    def say(self, line: str) -> None:
        _LOG.info(line)
        if self._progress:
            self._progress(line)

    def __call__(self, name: str) -> "_Stage":
        return _Stage(self.seconds, name)


class _Stage:
    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._name] = round(time.perf_counter() - self._start, 3)


def _write(
    spark: SparkSession, source: Source, words: CountedWords, split: Split, settings: IngestSettings, work: Workplace
) -> Contents:
    """Write documents and vocabulary. Files and the order inside them depend on the documents alone."""
    ordered = words.documents.in_order(split, -(-words.screened.kept // _DOCUMENTS_PER_FILE))
    carried = [F.col(KEPT)[name].alias(name) for name in (source.kept.names if source.kept else ())]
    ordered.frame.select("doc_id", "path", "terms", "counts", "split", *carried).write.option(
        "compression", "zstd").parquet(work.part("documents"))
    _name_files(work)
    Staging(work.filesystem, work.inside).write_table("vocabulary", split.vocabulary.table)
    found = ordered.contents
    if found is None:
        documents = spark.read.schema(DOCUMENTS_SCHEMA).parquet(work.readable("documents"))
        found = contents(documents, split.vocabulary.fingerprint)
    if not found.documents.get(TRAIN):
        given = f" of '{settings.vocabulary}'; lower" if settings.vocabulary else "; lower `min_documents` or"
        raise InputError(f"no training document has enough words in the vocabulary{given} `min_tokens`")
    return found


def _name_files(work: Workplace) -> None:
    """Stable names for Spark's part files, so that the same corpus is the same directory, byte for byte."""
    inside = f"{work.inside}/documents"
    number = 0
    for info in sorted(work.filesystem.get_file_info(fs.FileSelector(inside)), key=lambda info: info.base_name):
        if info.base_name.startswith("part-") and info.base_name.endswith(".parquet"):
            work.filesystem.move(info.path, f"{inside}/part-{number:05d}.parquet")
            number += 1
        else:
            work.filesystem.delete_file(info.path)    # _SUCCESS and the checksums of the old names


def _manifest(
    settings: IngestSettings, source: Source, words: CountedWords, split: Split, found: Contents,
    files: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    screened, recipe = words.screened, words.recipe
    kept = sum(found.documents.values())
    dropped = dict(screened.dropped)
    if screened.kept > kept:
        dropped["too_short"] = dropped.get("too_short", 0) + screened.kept - kept
    unseen, cuts = split.vocabulary.unseen, split.vocabulary.cuts
    cut_words = saved_words(settings.vocabulary).cut if settings.vocabulary else cuts.words if cuts else None
    return {
        "kind": CORPUS_KIND,
        "version": CORPUS_VERSION,
        "settings": settings.for_manifest(),
        "notes": source.notes,
        "read": screened.read,
        "kept": kept,
        "dropped": dict(sorted(dropped.items())),
        "documents": found.documents,
        "terms": len(split.vocabulary),
        "tokens": sum(found.tokens.values()),
        "tokens_by_split": found.tokens,
        "entries": sum(found.entries.values()),
        **({"words": cuts.for_manifest()} if cuts else {}),
        **({"unseen": asdict(unseen)} if unseen else {}),
        **({} if cut_words is None else {"cut_words": list(cut_words)}),
        **({} if recipe.plain or settings.ready_made else {"text": recipe.as_dict()}),
        **({} if source.kept is None else {"kept_columns": {field.name: field.dataType.simpleString()
                                                            for field in source.kept.fields}}),
        "vocabulary_fingerprint": split.vocabulary.fingerprint,
        "fingerprint": found.fingerprint,
        "files": files,
    }


def _reasons(dropped: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items()) or "none"
