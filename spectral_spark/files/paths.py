"""Paths: which file system they are on, whether something is there, and how two of them lie to each other.

A path may be local, or remote with a scheme (``s3a://``, ``hdfs://``, ``gs://``, ``abfs://``). While a Spark session is
running, remote paths go through its Hadoop (``files.hadoop``), with its credentials; otherwise through ``pyarrow.fs``.
"""

import errno
import os
import re
from contextlib import suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files import remote_staging
from spectral_spark.files.hadoop import hadoop_file_system, renames_directories
from spectral_spark.files.leftovers import recover
from spectral_spark.files.switching import finish_switch
from spectral_spark.files.without_spark import arrow_file_system

AnyPath = str | os.PathLike[str]
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):/")
_BUCKETS = {"s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs"}


def resolve(path: AnyPath) -> tuple[fs.FileSystem, str]:
    """The file system a path is on, and the path inside it. A path that no file system can hold is refused."""
    text = os.fspath(path)
    _check_text(text)
    scheme = _SCHEME.match(text)
    if scheme:
        _check_address(text, scheme[1])
    if scheme and scheme[1] != "file":
        if found := hadoop_file_system(text):
            return found
        return arrow_file_system(text)
    if scheme:
        text = re.sub(r"^file:(//)?", "", text)
    inside = os.path.abspath(text)
    _check_local(inside)
    return fs.LocalFileSystem(), inside


def output_target(path: AnyPath) -> tuple[fs.FileSystem, str]:
    """The same for an output: where a symbolic link points to is where it is written; the link stays."""
    filesystem, inside = resolve(path)
    if is_local(filesystem):
        if missing := dangling_link(inside):
            raise InputError(f"'{path}' is a symbolic link to '{missing}', where there is nothing; remove the link, or "
                             "give the path itself")
        inside = os.path.realpath(inside)
    if not inside.strip("/"):
        raise InputError(f"'{path}' is the root of a file system; give a path below it")
    return filesystem, inside


def is_local(filesystem: fs.FileSystem) -> bool:
    return isinstance(filesystem, fs.LocalFileSystem)


def exists(path: AnyPath) -> bool:
    """Whether a file or directory is there. What an interrupted overwrite moved aside is put back first, and one that
    was interrupted after its decision is finished."""
    filesystem, inside = resolve(path)
    finish_switch(filesystem, inside)
    if filesystem.get_file_info(inside).type != fs.FileType.NotFound:
        return True
    if not is_local(filesystem):
        return renames_directories(filesystem) and remote_staging.recover(filesystem, inside)
    if not recover(os.path.realpath(inside)):
        return False
    return bool(filesystem.get_file_info(inside).type != fs.FileType.NotFound)


def is_remote(path: object) -> bool:
    """Whether a value is a path on another file system than the local one."""
    scheme = _SCHEME.match(path) if isinstance(path, str) else None
    return scheme is not None and scheme[1] != "file"


def dangling_link(path: AnyPath) -> str | None:
    """Where a local symbolic link points to when nothing is there; None for anything else."""
    inside = os.fspath(path)
    if _SCHEME.match(inside) or not os.path.islink(inside) or os.path.exists(inside):
        return None
    return os.path.realpath(inside)


def remove(path: AnyPath) -> None:
    """Delete a file or a directory tree; nothing happens when it is not there."""
    filesystem, inside = resolve(path)
    kind = filesystem.get_file_info(inside).type
    with suppress(FileNotFoundError):                       # somebody else deletes it, too
        if kind == fs.FileType.Directory:
            filesystem.delete_dir(inside)
        elif kind != fs.FileType.NotFound:
            filesystem.delete_file(inside)


def relation(output: AnyPath, source: AnyPath) -> str | None:
    """How an output lies to an input: "is", "contains", "lies inside", or None when they are apart.

    On a local file system this sees through symbolic links and other spellings of the same directory.
    """
    here, there = resolve(output), resolve(source)
    if is_local(here[0]) != is_local(there[0]):
        return None
    mine, theirs = (_chain(inside, is_local(filesystem)) for filesystem, inside in (here, there))
    if mine[0] == theirs[0]:
        return "is"
    if mine[0] in theirs:
        return "contains"
    return "lies inside" if theirs[0] in mine else None


def _chain(inside: str, local: bool) -> list[object]:
    """A path and all directories above it, as things that are equal when they are the same."""
    place = os.path.realpath(inside) if local else inside.rstrip("/")
    chain: list[object] = []
    while True:
        chain.append(_identity(place) if local else place)
        above = os.path.dirname(place)
        if above in (place, ""):
            return chain
        place = above


def _identity(place: str) -> object:
    try:
        found = os.stat(place)
    except OSError:
        return place
    return found.st_dev, found.st_ino


def _check_text(text: str) -> None:
    if not text:
        raise InputError("a path is empty; give the name of a file or directory")
    if "\0" in text:
        raise InputError(f"the path {text!r} contains a NUL character, which no file system accepts; correct it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the path {text!r} is not valid UTF-8; rename the file or directory") from None


def _check_address(text: str, scheme: str) -> None:
    if scheme != scheme.lower():                            # Hadoop tells them apart
        raise InputError(f"'{text}': write its scheme in lower case, '{scheme.lower()}:'")
    if scheme in _BUCKETS and not re.match(r"[^/]+://[^/]", text):
        raise InputError(f"'{text}' names no bucket; write {scheme}://BUCKET/PATH")


def _check_local(inside: str) -> None:
    try:
        os.lstat(inside)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the path '{inside[:80]}…' is too long for the file system "
                             f"({len(inside.encode()):,} bytes; most take 255 for a name and 4,096 in all); choose a "
                             "shorter one") from None
        if error.errno == errno.ELOOP:
            raise InputError(f"'{inside}' leads through symbolic links that point to each other; remove one") from None
