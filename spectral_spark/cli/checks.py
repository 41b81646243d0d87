"""Checks before any work starts, without Spark: what must be there is there, and what must not is not."""

from typing import Any

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.directories import exists, open_directory, resolve
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION
from spectral_spark.ingest.corpus_files import check_files
from spectral_spark.ingest.corpus_manifest import read_manifest


def output_is_free(path: str, overwrite: bool, flag: str = "--output") -> None:
    """Refuse an output that exists, unless it may be replaced, and one that cannot be made."""
    if exists(path) and not overwrite:
        raise InputError(f"{flag} '{path}' exists; choose another path, remove it, or pass --overwrite")
    filesystem, inside = resolve(path)
    parent = inside.rstrip("/").rsplit("/", 1)[0]
    while parent and isinstance(filesystem, fs.LocalFileSystem):
        kind = filesystem.get_file_info(parent).type
        if kind == fs.FileType.Directory:
            break
        if kind != fs.FileType.NotFound:
            raise InputError(f"{flag} '{path}': '{parent}' is a file, not a directory")
        parent = parent.rsplit("/", 1)[0]


def input_is_there(path: str, flag: str = "--input") -> None:
    """Refuse an input that does not exist."""
    if not exists(path):
        raise InputError(f"{flag}: there is nothing at '{path}'")


def corpus_manifest(path: str) -> dict[str, Any]:
    """``corpus.json`` of a corpus, refusing one that is not complete or was damaged."""
    if not exists(path):
        raise InputError(f"--corpus: there is nothing at '{path}'; 'spectral-spark ingest' makes a corpus")
    manifest = read_manifest(path)
    check_files(path, manifest)
    return manifest


def model_summary(path: str) -> dict[str, Any]:
    """``summary.json`` of a model, refusing what is not a complete one."""
    if not exists(path):
        raise InputError(f"--model: there is nothing at '{path}'; 'spectral-spark fit' makes a model")
    summary: dict[str, Any] = open_directory(path, MODEL_KIND, MODEL_VERSION).read_json("summary.json")
    return summary
