"""Files of a directory tree in a fixed order, links left alone, large ones skipped."""

import os
from collections.abc import Iterator

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.directories import resolve
from spectral_spark.ingest.archive import Member


def open_input(path: str) -> tuple[fs.FileSystem, str, fs.FileType]:
    """The file system, the path inside it and what is there; an error when nothing is."""
    filesystem, inside = resolve(path)
    kind = filesystem.get_file_info(inside).type
    if kind == fs.FileType.NotFound:
        raise InputError(f"there is nothing at '{path}'")
    return filesystem, inside, kind


def directory_files(path: str, max_bytes: int) -> Iterator[Member]:
    """Every file below a directory with its path relative to it; links and large files carry a problem instead."""
    filesystem, inside, kind = open_input(path)
    if kind != fs.FileType.Directory:
        raise InputError(f"'{path}' is a file; a directory is needed")
    if isinstance(filesystem, fs.LocalFileSystem):
        yield from _local_files(inside, max_bytes)
        return
    for info in sorted(filesystem.get_file_info(fs.FileSelector(inside, recursive=True)), key=lambda info: info.path):
        name = info.path[len(inside) :].lstrip("/")
        if info.type != fs.FileType.File:
            continue
        if info.size > max_bytes:
            yield Member(name, None, "too_large")
        else:
            with filesystem.open_input_stream(info.path, compression=None) as source:
                yield Member(name, source.read(), None)


def _local_files(root: str, max_bytes: int) -> Iterator[Member]:
    for folder, folders, names in os.walk(root, onerror=_refuse):
        folders.sort()
        for name in list(folders):
            if os.path.islink(os.path.join(folder, name)):
                folders.remove(name)
                yield Member(_relative(root, folder, name), None, "link")
        for name in sorted(names):
            yield _local_file(os.path.join(folder, name), _relative(root, folder, name), max_bytes)


def _local_file(path: str, name: str, max_bytes: int) -> Member:
    if os.path.islink(path):
        return Member(name, None, "link")
    if not os.path.isfile(path):
        return Member(name, None, "special_file")
    try:
        if os.path.getsize(path) > max_bytes:
            return Member(name, None, "too_large")
        with open(path, "rb") as source:
            return Member(name, source.read(max_bytes), None)
    except OSError:
        return Member(name, None, "unreadable")


def _relative(root: str, folder: str, name: str) -> str:
    """Path below the root with ``/``; bytes that are no UTF-8 are replaced so that the name can be stored."""
    relative = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
    return relative.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refuse(error: OSError) -> None:
    raise InputError(f"cannot list '{error.filename}': {error.strerror}") from None
