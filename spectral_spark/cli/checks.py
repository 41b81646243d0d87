"""Checks before any work starts, without Spark: what must be there is there, and what must not is not."""

import json
from typing import Any

from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.directories import exists, open_directory, resolve
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION

# Those of corpus.store, which imports pyspark; a dry run must not wait for that.
CORPUS_KIND, CORPUS_VERSION = "spectral-corpus", 1


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
    """``corpus.json`` of a corpus, refusing what is not a complete one."""
    if not exists(path):
        raise InputError(f"--corpus: there is nothing at '{path}'; 'spectral-spark ingest' makes a corpus")
    filesystem, inside = resolve(path)
    try:
        with filesystem.open_input_stream(f"{inside}/corpus.json") as source:
            manifest = json.loads(source.read())
    except OSError:
        raise FormatError(
            f"--corpus '{path}' is not a complete corpus: it has no corpus.json; 'spectral-spark ingest' makes one"
        ) from None
    except ValueError:
        raise FormatError(f"--corpus '{path}': corpus.json is not JSON; the corpus is damaged") from None
    _check_manifest(path, manifest)
    return dict(manifest)


def _check_manifest(path: str, manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("kind") != CORPUS_KIND:
        raise FormatError(
            f"--corpus '{path}': corpus.json does not describe a corpus; 'spectral-spark ingest' makes one"
        )
    if not isinstance(manifest.get("version"), int) or manifest["version"] > CORPUS_VERSION:
        raise FormatError(
            f"--corpus '{path}' has format {manifest.get('version')}; this package reads up to {CORPUS_VERSION}: "
            "upgrade spectral_spark"
        )
    for part in ("documents", "tokens_by_split"):
        if not isinstance(manifest.get(part), dict) or "train" not in manifest[part]:
            raise FormatError(f"--corpus '{path}': corpus.json counts no '{part}'; it is damaged, ingest it again")
    if not isinstance(manifest.get("terms"), int):
        raise FormatError(f"--corpus '{path}': corpus.json counts no 'terms'; it is damaged, ingest it again")


def model_summary(path: str) -> dict[str, Any]:
    """``summary.json`` of a model, refusing what is not a complete one."""
    if not exists(path):
        raise InputError(f"--model: there is nothing at '{path}'; 'spectral-spark fit' makes a model")
    summary: dict[str, Any] = open_directory(path, MODEL_KIND, MODEL_VERSION).read_json("summary.json")
    return summary
