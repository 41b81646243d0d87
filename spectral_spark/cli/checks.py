"""Checks and estimates before any work starts, without Spark: inputs exist, outputs are free, memory suffices."""

from collections.abc import Mapping
from typing import Any

from pyarrow import fs

from spectral_spark.engine.memory import GIB, memory_need
from spectral_spark.errors import InputError
from spectral_spark.files.directories import open_directory
from spectral_spark.files.formats import MODEL_KIND, MODEL_VERSION
from spectral_spark.files.model_files import checked_summary
from spectral_spark.files.overwriting import check_apart, check_output
from spectral_spark.files.paths import dangling_link, exists, is_local, output_target, resolve
from spectral_spark.ingest.corpus_files import check_files
from spectral_spark.ingest.corpus_manifest import read_manifest


def output_is_free(
    path: str,
    overwrite: bool,
    flag: str = "--output",
    *,
    kind: str | None = None,
    inputs: Mapping[str, str | None] | None = None,
) -> None:
    """Refuse an output that exists, unless it may be replaced, and one that cannot be made.

    Parameters
    ----------
    kind : what the verb writes (see ``files.formats``): with ``overwrite`` it replaces an earlier one, nothing else.
    inputs : what the verb reads, by flag; an output that is replaced may not be, contain, or lie inside one of them.
    """
    if overwrite:
        check_apart(path, inputs or {}, flag)
    check_output(path, kind, overwrite, flag)
    filesystem, inside = output_target(path)
    parent = inside.rstrip("/").rsplit("/", 1)[0]
    while parent and is_local(filesystem):
        found = filesystem.get_file_info(parent).type
        if found == fs.FileType.Directory:
            break
        if found != fs.FileType.NotFound:
            raise InputError(f"{flag} '{path}': '{parent}' is a file, not a directory")
        parent = parent.rsplit("/", 1)[0]


def input_is_there(path: str, flag: str = "--input") -> None:
    """Refuse an input that does not exist."""
    if exists(path):
        return
    filesystem, inside = resolve(path)
    if is_local(filesystem) and (missing := dangling_link(inside)):
        raise InputError(f"{flag}: '{path}' is a symbolic link to '{missing}', where there is nothing")
    raise InputError(f"{flag}: there is nothing at '{path}'")


def file_is_there(path: str, flag: str = "--input") -> None:
    """Refuse an input that is not a file."""
    input_is_there(path, flag)
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type == fs.FileType.Directory:
        raise InputError(f"{flag}: '{path}' is a directory; give a file")


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
    saved = open_directory(path, MODEL_KIND, MODEL_VERSION)
    needed = ("k", "terms", "documents", "spectrum")
    return checked_summary(saved.read_json("summary.json"), f"{saved.path}/summary.json", needed)


def memory_line(terms: int, columns: int, k: int | str | None = None, *, third: bool = True) -> str:
    """The line of a dry run about memory, for a basis of ``columns`` columns; ``k`` is a number, ``auto`` or None, and
    ``third`` tells whether third moments are collected."""
    need = memory_need(terms, columns, k if isinstance(k, int) else None, third=third)
    return f"memory: about {need.driver / GIB:.1f} GiB on the driver, {need.worker / GIB:.1f} GiB in each Python worker"


def topics_memory(summary: Mapping[str, Any]) -> str:
    """The line of a plan that says how much memory the topics take in a worker."""
    return f"memory: each worker holds the topics, {summary['terms'] * summary['k'] * 8 / 2**20:,.1f} MiB"
