"""The words of a saved corpus or model, in their order, read without Spark."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import resolve
from spectral_spark.files.safe_reading import check_table_size
from spectral_spark.ingest.corpus_files import VOCABULARY
from spectral_spark.ingest.corpus_manifest import CORPUS_JSON, read_manifest


def corpus_vocabulary(path: str, manifest: dict[str, Any]) -> pa.Table:
    """``term_id, term, documents, occurrences`` of a corpus in the order of the ids, compared with its fingerprint."""
    filesystem, inside = resolve(path)
    what = f"corpus '{path}': {VOCABULARY}/"
    try:
        table = _read(filesystem, f"{inside}/{VOCABULARY}", ["term_id", "term", "documents", "occurrences"])
        words, ids = table["term"].to_pylist(), table["term_id"].to_pylist()
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"{what} is damaged ({error}); ingest again") from None
    if table.num_rows != manifest["terms"]:
        raise FormatError(f"{what} is damaged: {table.num_rows:,} words in {VOCABULARY}/, {manifest['terms']:,} in "
                          f"{CORPUS_JSON}; ingest again")
    if (ids != list(range(len(ids))) or not all(isinstance(word, str) for word in words)
            or vocabulary_fingerprint(words) != manifest["vocabulary_fingerprint"]):
        raise FormatError(f"{what} does not hold the words of this corpus, or not in their order; restore it from a "
                          "copy, or ingest again")
    return table


def _read(filesystem: fs.FileSystem, inside: str, columns: list[str]) -> pa.Table:
    """The columns of the Parquet files in a directory in the order of ``term_id``, if they fit into memory."""
    tables = []
    for info in filesystem.get_file_info(fs.FileSelector(inside)):
        if info.type != fs.FileType.File or info.base_name.startswith((".", "_")):
            continue
        with filesystem.open_input_file(info.path) as source:
            file = pq.ParquetFile(source)
            check_table_size(file.metadata, info.path)
            tables.append(file.read(columns=columns))
    table = pa.concat_tables(tables).sort_by("term_id")
    table.validate(full=True)
    return table


@dataclass(frozen=True)
class SavedWords:
    """The words of a model or corpus.

    Attributes
    ----------
    words : the vocabulary; position is the word's id.
    cut : words that were left out of it on purpose, because they were in too many documents; None where that is not
        known.
    """

    words: tuple[str, ...]
    cut: tuple[str, ...] | None


def saved_words(path: str) -> SavedWords:
    """The vocabulary of the model or corpus at ``path``, and the words that were cut from it."""
    filesystem, inside = resolve(path)
    words = known_words(path)
    if filesystem.get_file_info(f"{inside}/{CORPUS_JSON}").type == fs.FileType.File:
        return SavedWords(words, _strings(read_manifest(path).get("cut_words")))
    try:
        with filesystem.open_input_stream(f"{inside}/summary.json") as source:
            summary = json.loads(source.read())
        return SavedWords(words, _strings(summary["extra"]["corpus"]["cut_words"]))
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return SavedWords(words, None)


def _strings(listed: Any) -> tuple[str, ...] | None:
    return tuple(word for word in listed if isinstance(word, str)) if isinstance(listed, list) else None


def known_words(path: str) -> tuple[str, ...]:
    """The vocabulary of the model or corpus at ``path``; position is the word's id there."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type == fs.FileType.NotFound:
        raise InputError(f"vocabulary: there is nothing at '{path}'; give a model or a corpus")
    if filesystem.get_file_info(f"{inside}/{CORPUS_JSON}").type == fs.FileType.File:
        return tuple(corpus_vocabulary(path, read_manifest(path))["term"].to_pylist())
    if filesystem.get_file_info(f"{inside}/{VOCABULARY}").type != fs.FileType.Directory:
        raise InputError(f"vocabulary: '{path}' has no vocabulary/; give a model fitted with words, or a corpus")
    try:
        words = tuple(_read(filesystem, f"{inside}/{VOCABULARY}", ["term_id", "term"])["term"].to_pylist())
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatError(f"vocabulary of '{path}' is damaged ({error}); save the model again") from None
    if not words or None in words or len(set(words)) < len(words):
        raise FormatError(f"vocabulary of '{path}' is damaged: it is empty, or a word is missing or there twice")
    return words
