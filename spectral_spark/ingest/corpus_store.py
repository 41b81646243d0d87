"""The corpus on disk: ``documents/``, ``vocabulary/`` and ``corpus.json``, which is written last."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import resolve
from spectral_spark.files.spark_paths import spark_readable
from spectral_spark.ingest.corpus_fingerprint import contents

CORPUS_KIND, CORPUS_VERSION = "spectral-corpus", 1
CORPUS_JSON = "corpus.json"
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

    def documents(self, split: str | None = None) -> DataFrame:
        """``doc_id, path, terms, counts, split`` of all documents, or of the ``train`` or ``test`` part."""
        frame = self.spark.read.schema(DOCUMENTS_SCHEMA).parquet(f"{spark_readable(self.path)}/documents")
        return frame if split is None else frame.filter(F.col("split") == split)

    @cached_property
    def vocabulary_table(self) -> pa.Table:
        """``term_id, term, documents, occurrences`` in the order of the ids."""
        filesystem, inside = resolve(self.path)
        try:
            table = pq.read_table(f"{inside}/vocabulary", filesystem=filesystem).sort_by("term_id")
        except (OSError, pa.ArrowException) as error:
            raise FormatError(f"corpus '{self.path}': vocabulary/ is damaged ({error})") from None
        if table.num_rows != self.manifest["terms"]:
            raise FormatError(
                f"corpus '{self.path}' is damaged: {table.num_rows} words in vocabulary/, {self.manifest['terms']} "
                f"in {CORPUS_JSON}"
            )
        return table

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words; position is the term id."""
        return tuple(self.vocabulary_table["term"].to_pylist())

    @property
    def fingerprint(self) -> str:
        return str(self.manifest["fingerprint"])

    def verify(self) -> None:
        """Read every document and compare with the fingerprint."""
        found = contents(self.documents(), vocabulary_fingerprint(self.vocabulary))
        if found.fingerprint != self.fingerprint:
            raise FormatError(f"corpus '{self.path}' differs from its fingerprint; it is damaged, ingest it again")


def open_corpus(spark: SparkSession, path: str) -> Corpus:
    """Open a corpus; anything incomplete, foreign or newer than this package is refused."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type == fs.FileType.NotFound:
        raise InputError(f"there is no corpus at '{path}'")
    try:
        with filesystem.open_input_stream(f"{inside}/{CORPUS_JSON}") as source:
            manifest = json.loads(source.read())
    except OSError:
        raise FormatError(f"'{path}' is not a complete corpus: it has no {CORPUS_JSON}") from None
    except ValueError:
        raise FormatError(f"'{path}/{CORPUS_JSON}' is not JSON; the corpus is damaged") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != CORPUS_KIND:
        raise FormatError(f"'{path}/{CORPUS_JSON}' does not describe a corpus")
    if not isinstance(manifest.get("version"), int) or manifest["version"] > CORPUS_VERSION:
        raise FormatError(
            f"corpus '{path}' has format {manifest.get('version')}; this package reads up to {CORPUS_VERSION}: upgrade "
            "spectral_spark"
        )
    for part in ("documents", "vocabulary"):
        if filesystem.get_file_info(f"{inside}/{part}").type != fs.FileType.Directory:
            raise FormatError(f"corpus '{path}' has no {part}/; it is damaged, ingest it again")
    return Corpus(spark, path, manifest)
