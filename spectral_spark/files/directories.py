"""Directories of JSON, Parquet and .npy files that are either complete or not there.

Everything the driver saves (models, bases, moment states, checkpoints) goes through here: files are written into a
staging directory beside the target, listed with their sizes and SHA-256 in ``manifest.json``, and moved into place as
the last step. A reader accepts a directory only if the manifest is there, is of the expected kind and version, and
every file matches it. Nothing is ever unpickled.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.formats import MANIFEST, TABLE_MANIFEST, name_of
from spectral_spark.files.paths import AnyPath, dangling_link, exists, remove, resolve
from spectral_spark.files.safe_reading import (
    MOST_JSON,
    REMEDY,
    damaged,
    first_line,
    parse_array,
    parse_json,
    parse_object,
    parse_table,
)
from spectral_spark.files.staging import replace_file, staged, write_file

__all__ = [
    "SavedDirectory", "Staging", "exists", "new_directory", "open_directory", "read_file", "remove",
    "replace_file", "resolve", "staged", "write_file", "write_table_manifest",
]


class Staging:
    """A directory being written. Use the ``write_*`` methods; names may contain ``/``."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self._filesystem, self.path = filesystem, path
        self._files: dict[str, dict[str, Any]] = {}

    def write_bytes(self, name: str, data: bytes) -> None:
        folders = name.split("/")[:-1]
        for depth in range(len(folders)):               # never the directory itself: it must still be there
            self._filesystem.create_dir(f"{self.path}/{'/'.join(folders[: depth + 1])}", recursive=False)
        with self._filesystem.open_output_stream(f"{self.path}/{name}") as sink:
            sink.write(data)
        self._files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def write_unlisted(self, name: str, data: bytes) -> None:
        """A file that people may edit later: the manifest does not mention it."""
        self.write_bytes(name, data)
        del self._files[name]

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
    path: AnyPath,
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
    kind, version : what it is and the version of its format (see ``files.formats``); checked when it is read.
    overwrite : replace an earlier one of the same kind; anything else that exists is refused.
    about : further JSON values for the manifest.
    """
    with staged(path, kind, overwrite=overwrite) as place:
        staging = Staging(*resolve(place))
        yield staging
        staging.finish(kind, version, about or {})


def write_table_manifest(place: str, kind: str, version: int, about: Mapping[str, Any]) -> None:
    """Say what a directory is that Spark filled and that others read as one table."""
    Staging(*resolve(place)).write_json(TABLE_MANIFEST, {"kind": kind, "version": version, **about})


@dataclass(frozen=True)
class SavedDirectory:
    """A complete directory written by :func:`new_directory`, opened for reading."""

    path: str
    manifest: dict[str, Any]
    _filesystem: fs.FileSystem

    @property
    def filesystem(self) -> fs.FileSystem:
        """Where the directory lies."""
        return self._filesystem

    def names(self) -> list[str]:
        return sorted(self.manifest["files"])

    def has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def read_bytes(self, name: str) -> bytes:
        """The bytes of a file, if they are those that the manifest promises."""
        expected = self.manifest["files"].get(name)
        if not isinstance(expected, dict) or not isinstance(expected.get("bytes"), int) or "sha256" not in expected:
            raise FormatError(f"'{self.path}' has no '{name}'; it was written by something else or is damaged")
        where = f"{self.path}/{name}"
        info = self._filesystem.get_file_info(where)
        if info.type == fs.FileType.NotFound:
            raise FormatError(f"'{where}' is missing; the directory is damaged: {REMEDY}")
        data = b""
        if info.size == expected["bytes"]:                  # nothing is read, or allocated, of a file of another size
            data = read_file(self._filesystem, where)
        if len(data) != expected["bytes"] or hashlib.sha256(data).hexdigest() != expected["sha256"]:
            raise FormatError(f"'{where}' differs from its manifest; the directory is damaged: {REMEDY}")
        return data

    def read_json(self, name: str) -> Any:
        return parse_json(self.read_bytes(name), f"{self.path}/{name}")

    def read_object(self, name: str) -> dict[str, Any]:
        """JSON that must be an object."""
        return parse_object(self.read_bytes(name), f"{self.path}/{name}")

    def read_table(self, name: str) -> pa.Table:
        file = f"{name}/part-0.parquet"
        return parse_table(self.read_bytes(file), f"{self.path}/{file}")

    def read_array(self, name: str) -> np.ndarray:
        return parse_array(self.read_bytes(f"{name}.npy"), f"{self.path}/{name}.npy")

    def read_numbers(self, name: str, dimensions: int) -> np.ndarray:
        """An array of finite real numbers with so many dimensions."""
        array = self.read_array(name)
        where = f"{self.path}/{name}.npy"
        if array.ndim != dimensions or array.dtype.kind not in "fiu":
            raise damaged(where, f"{array.dtype} numbers in {array.ndim} dimensions, where {dimensions} belong")
        if not np.all(np.isfinite(array)):
            raise damaged(where, "a number is not finite")
        return array


def open_directory(path: AnyPath, kind: str, version: int) -> SavedDirectory:
    """Open what :func:`new_directory` wrote; refuse anything incomplete, foreign or newer than this package."""
    filesystem, inside = resolve(path)
    called = name_of(kind).partition(" ")[2]
    if not exists(path):
        link = dangling_link(inside)
        raise InputError(f"there is no {called} at '{path}'" + (f": it is a symbolic link to '{link}', where there is "
                                                               "nothing" if link else ""))
    manifest = _manifest(filesystem, inside, path, called)
    if not isinstance(manifest, dict) or manifest.get("kind") != kind or not isinstance(manifest.get("files"), dict):
        found = manifest.get("kind") if isinstance(manifest, dict) else None
        what = name_of(found) if isinstance(found, str) and found else "a foreign directory"
        raise FormatError(f"'{path}' is {what}, not {name_of(kind)}")
    if not isinstance(manifest.get("version"), int) or manifest["version"] > version:
        raise FormatError(
            f"'{path}' has {called} format {manifest.get('version')}; this package reads up to {version}: "
            "upgrade spectral_spark"
        )
    return SavedDirectory(inside, manifest, filesystem)


def _manifest(filesystem: fs.FileSystem, inside: str, path: AnyPath, called: str) -> Any:
    where = f"{inside}/{MANIFEST}"
    info = filesystem.get_file_info(where)
    if info.type == fs.FileType.NotFound:
        raise FormatError(f"'{path}' is not a complete {called}: it has no {MANIFEST}")
    if info.size is not None and info.size >= MOST_JSON:
        raise damaged(where, "it is too large")
    return parse_json(read_file(filesystem, where), where)


def read_file(filesystem: fs.FileSystem, where: str) -> bytes:
    """All bytes of a file that exists."""
    try:
        with filesystem.open_input_stream(where) as source:
            data: bytes = source.read()
        return data
    except OSError as error:
        raise FormatError(f"'{where}' cannot be read ({first_line(error)}); {REMEDY}") from None
