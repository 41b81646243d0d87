"""The corpus on disk: ``documents/``, ``vocabulary/`` and ``corpus.json``, which is written last."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.files.spark_paths import spark_readable
from spectral_spark.ingest.corpus_files import DOCUMENTS, check_files
from spectral_spark.ingest.corpus_manifest import kept_types, read_manifest
from spectral_spark.ingest.saved_vocabulary import corpus_vocabulary

TRAIN, TEST = "train", "test"
DOCUMENTS_SCHEMA = "doc_id string, path array<string>, terms array<int>, counts array<int>, split string"


@dataclass(frozen=True, eq=False)
class Corpus:
    """A complete corpus on disk.

    Attributes
    ----------
    path : where it is.
    manifest : ``corpus.json``: settings, counts read, kept and dropped by reason, fingerprint.
    """

    spark: SparkSession
    path: str
    manifest: dict[str, Any]

    @property
    def kept_columns(self) -> dict[str, str]:
        """Names and types of the columns that ingest carried along."""
        return kept_types(self.manifest)

    def documents(self, split: str | None = None, *, kept: bool = False) -> DataFrame:
        """``doc_id, path, terms, counts, split`` of all documents, or of the ``train`` or ``test`` part.

        With ``kept``, also the columns that ingest carried along.
        """
        carried = self.kept_columns if kept else {}
        columns = [DOCUMENTS_SCHEMA, *(f"`{name.replace('`', '``')}` {kind}" for name, kind in carried.items())]
        frame = self.spark.read.schema(", ".join(columns)).parquet(f"{spark_readable(self.path)}/{DOCUMENTS}")
        return frame if split is None else frame.filter(F.col("split") == split)

    @cached_property
    def vocabulary_table(self) -> pa.Table:
        """``term_id, term, documents, occurrences`` in the order of the ids."""
        return corpus_vocabulary(self.path, self.manifest)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words; position is the term id."""
        return tuple(self.vocabulary_table["term"].to_pylist())

    @property
    def fingerprint(self) -> str:
        return str(self.manifest["fingerprint"])


def open_corpus(spark: SparkSession, path: str) -> Corpus:
    """Open a corpus after comparing its files and words with ``corpus.json``.

    Whatever is incomplete, damaged, exchanged, foreign or newer than this package is refused before any pass over the
    documents; only footers of the document files are read for this.
    """
    manifest = read_manifest(path)
    check_files(path, manifest)
    corpus = Corpus(spark, path, manifest)
    _ = corpus.vocabulary_table
    return corpus
