"""Directories of JSON, Parquet and .npy files that are either complete or not there.

Everything the driver saves (models, bases, moment states, checkpoints) goes through here: files are written into a
staging directory beside the target, listed with their sizes and SHA-256 in ``manifest.json``, and moved into place as
the last step. A reader accepts a directory only if the manifest is there, is of the expected kind and version, and
every file matches it. Nothing is ever unpickled. Paths may be local or anything ``pyarrow.fs`` understands
(``s3://``, ``gs://``, ``hdfs://``, ``abfs://``).
"""

import hashlib
import io
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.staging_names import partial_name, sweep

MANIFEST = "manifest.json"
_SCHEMES = {"s3a": "s3", "s3n": "s3"}


def resolve(path: str | os.PathLike[str]) -> tuple[fs.FileSystem, str]:
    """The file system a path lives on, and the path inside it."""
    text = os.fspath(path)
    scheme = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]*):/", text)
    if scheme and scheme[1] != "file":
        text = _SCHEMES.get(scheme[1], scheme[1]) + text[scheme.end(1) :]
        try:
            return fs.FileSystem.from_uri(text)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"cannot reach '{path}': {error}") from None
    if scheme:
        text = re.sub(r"^file:(//)?", "", text)
    return fs.LocalFileSystem(), os.path.abspath(text)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether a file or directory is there."""
    filesystem, inside = resolve(path)
    return filesystem.get_file_info(inside).type != fs.FileType.NotFound


def remove(path: str | os.PathLike[str]) -> None:
    """Delete a file or a directory tree; nothing happens when it is not there."""
    filesystem, inside = resolve(path)
    kind = filesystem.get_file_info(inside).type
    if kind == fs.FileType.Directory:
        filesystem.delete_dir(inside)
    elif kind != fs.FileType.NotFound:
        filesystem.delete_file(inside)


def write_file(path: str | os.PathLike[str], data: bytes, *, overwrite: bool = False) -> None:
    """Write a single file that appears complete or not at all."""
    if exists(path) and not overwrite:
        raise _taken(path)
    filesystem, target = resolve(path)
    parent, name = target.rsplit("/", 1)
    staging = f"{parent}/{partial_name(name)}"
    if isinstance(filesystem, fs.LocalFileSystem):
        sweep(parent, name)
    try:
        filesystem.create_dir(parent, recursive=True)
        with filesystem.open_output_stream(staging) as sink:
            sink.write(data)
        filesystem.move(staging, target)
    except BaseException:
        with suppress(OSError):
            filesystem.delete_file(staging)
        raise


class Staging:
    """A directory being written. Use the ``write_*`` methods; names may contain ``/``."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self._filesystem, self.path = filesystem, path
        self._files: dict[str, dict[str, Any]] = {}

    def write_bytes(self, name: str, data: bytes) -> None:
        target = f"{self.path}/{name}"
        self._filesystem.create_dir(target.rsplit("/", 1)[0], recursive=True)
        with self._filesystem.open_output_stream(target) as sink:
            sink.write(data)
        self._files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def write_json(self, name: str, value: Any) -> None:
        self.write_bytes(name, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def write_line(self, name: str, value: Any) -> None:
        """JSON on one line, for readers that take a text file line by line."""
        self.write_bytes(name, (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def write_table(self, name: str, table: pa.Table) -> None:
        """One Parquet file ``name/part-0.parquet``, so that Spark can read the directory ``name`` too."""
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        self.write_bytes(f"{name}/part-0.parquet", buffer.getvalue())

    def write_array(self, name: str, array: np.ndarray) -> None:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        self.write_bytes(f"{name}.npy", buffer.getvalue())

    def finish(self, kind: str, version: int, about: Mapping[str, Any]) -> None:
        manifest = {"kind": kind, "version": version, **about, "files": self._files}
        self.write_bytes(MANIFEST, (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode())


@contextmanager
def new_directory(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    *,
    overwrite: bool = False,
    about: Mapping[str, Any] | None = None,
) -> Iterator[Staging]:
    """Write a directory that appears complete, at once, when the block ends, and not at all when it raises.

    Parameters
    ----------
    path : where the directory goes.
    kind, version : what it is ("model", "basis", …) and the version of its format; checked when it is read.
    overwrite : replace what is there; without it an existing path is refused.
    about : further JSON values for the manifest.
    """
    with staged(path, overwrite=overwrite) as place:
        staging = Staging(*resolve(place))
        yield staging
        staging.finish(kind, version, about or {})


@contextmanager
def staged(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[str]:
    """An empty hidden directory beside ``path`` that takes its place when the block ends, and goes when it raises.

    For directories that Spark fills. The name is spelt as ``path`` is, scheme included. Object stores cannot rename
    directories: there the block writes to ``path`` itself, and what makes a directory complete must be written last.
    """
    if exists(path) and not overwrite:
        raise _taken(path)
    filesystem, target = resolve(path)
    text = target if isinstance(filesystem, fs.LocalFileSystem) else os.fspath(path).rstrip("/")
    parent, name = text.rsplit("/", 1)
    renames = _renames_directories(filesystem)
    place = f"{parent}/{partial_name(name)}" if renames else text
    if isinstance(filesystem, fs.LocalFileSystem):
        sweep(parent, name)
    inside = resolve(place)[1]
    try:
        if not renames:
            remove(path)
        filesystem.create_dir(inside, recursive=True)
        yield place
        if renames:
            if exists(path) and not overwrite:
                raise _taken(path)
            aside = resolve(f"{parent}/.{name}.replaced-{uuid.uuid4().hex[:8]}")[1]
            _move_into_place(filesystem, inside, target, aside)
    except BaseException:
        with suppress(OSError):
            filesystem.delete_dir(inside)
        raise


def _renames_directories(filesystem: fs.FileSystem) -> bool:
    return filesystem.type_name in ("local", "hdfs", "mock")


def _taken(path: str | os.PathLike[str]) -> InputError:
    return InputError(f"'{path}' exists; choose another path, remove it, or allow overwriting")


def _move_into_place(filesystem: fs.FileSystem, source: str, target: str, aside: str) -> None:
    if filesystem.get_file_info(target).type == fs.FileType.NotFound:
        filesystem.move(source, target)
        return
    filesystem.move(target, aside)
    try:
        filesystem.move(source, target)
    except OSError:
        filesystem.move(aside, target)
        raise
    if filesystem.get_file_info(aside).type == fs.FileType.Directory:
        filesystem.delete_dir(aside)
    else:
        filesystem.delete_file(aside)


@dataclass(frozen=True)
class SavedDirectory:
    """A complete directory written by :func:`new_directory`, opened for reading."""

    path: str
    manifest: dict[str, Any]
    _filesystem: fs.FileSystem

    def names(self) -> list[str]:
        return sorted(self.manifest["files"])

    def has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def read_bytes(self, name: str) -> bytes:
        expected = self.manifest["files"].get(name)
        if not isinstance(expected, dict) or not {"bytes", "sha256"} <= expected.keys():
            raise FormatError(f"'{self.path}' has no '{name}'; it was written by something else or is damaged")
        try:
            with self._filesystem.open_input_stream(f"{self.path}/{name}") as source:
                data: bytes = source.read()
        except OSError:
            raise FormatError(f"'{self.path}/{name}' is missing; the directory is damaged") from None
        if len(data) != expected["bytes"] or hashlib.sha256(data).hexdigest() != expected["sha256"]:
            raise FormatError(f"'{self.path}/{name}' differs from its manifest; the directory is damaged")
        return data

    def read_json(self, name: str) -> Any:
        return json.loads(self.read_bytes(name))

    def read_table(self, name: str) -> pa.Table:
        return pq.read_table(io.BytesIO(self.read_bytes(f"{name}/part-0.parquet")))

    def read_array(self, name: str) -> np.ndarray:
        return np.lib.format.read_array(io.BytesIO(self.read_bytes(f"{name}.npy")), allow_pickle=False)


def open_directory(path: str | os.PathLike[str], kind: str, version: int) -> SavedDirectory:
    """Open what :func:`new_directory` wrote; refuse anything incomplete, foreign or newer than this package."""
    filesystem, inside = resolve(path)
    if not exists(path):
        raise InputError(f"there is no {kind} at '{path}'{_interrupted(filesystem, inside)}")
    try:
        with filesystem.open_input_stream(f"{inside}/{MANIFEST}") as source:
            manifest = json.loads(source.read())
    except OSError:
        raise FormatError(f"'{path}' is not a complete {kind}: it has no {MANIFEST}") from None
    except ValueError:
        raise FormatError(f"'{path}/{MANIFEST}' is not JSON; the directory is damaged") from None
    if not isinstance(manifest, dict) or manifest.get("kind") != kind or not isinstance(manifest.get("files"), dict):
        found = manifest.get("kind") if isinstance(manifest, dict) else None
        raise FormatError(f"'{path}' is a {found or 'foreign directory'}, not a {kind}")
    if not isinstance(manifest.get("version"), int) or manifest["version"] > version:
        raise FormatError(
            f"'{path}' has {kind} format {manifest.get('version')}; this package reads up to {version}: "
            "upgrade spectral_spark"
        )
    return SavedDirectory(inside, manifest, filesystem)


def _interrupted(filesystem: fs.FileSystem, inside: str) -> str:
    """What to do when a process was killed between the two renames of an overwrite."""
    parent, name = inside.rstrip("/").rsplit("/", 1)
    entries = filesystem.get_file_info(fs.FileSelector(parent or "/", allow_not_found=True))
    aside = sorted(entry.path for entry in entries if entry.base_name.startswith(f".{name}.replaced-"))
    return f"; an overwrite was interrupted, what was there before is at '{aside[-1]}'" if aside else ""


def fingerprint(*parts: bytes | str | np.ndarray) -> str:
    """SHA-256 over the parts, each with its type, shape and length."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise TypeError("arrays of objects have no stable bytes; fingerprint their text instead")
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        else:
            data = part.encode() if isinstance(part, str) else part
            digest.update(f"{type(part).__name__}{len(data)}:".encode())
            digest.update(data)
    return digest.hexdigest()
