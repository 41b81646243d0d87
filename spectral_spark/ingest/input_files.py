"""The input as it lies on disk: the files of a directory in a fixed order, gathered into a few Parquet files.

Links are left alone and large files are skipped; both are counted. Executors then share the Parquet files.
"""

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from spectral_spark.errors import InputError
from spectral_spark.files.directories import resolve
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.archive import Member

FILE_BYTES = 16 << 20
RAW_SCHEMA = pa.schema([("name", pa.string()), ("content", pa.binary()), ("problem", pa.string())])

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
            yield _remote_file(filesystem, info.path, name)


def _remote_file(filesystem: fs.FileSystem, path: str, name: str) -> Member:
    try:
        with filesystem.open_input_stream(path, compression=None) as source:
            return Member(name, source.read(), None)
    except OSError:
        return Member(name, None, "unreadable")


def _local_files(root: str, max_bytes: int) -> Iterator[Member]:
    closed: list[str] = []

    def cannot_list(error: OSError) -> None:
        if os.path.realpath(error.filename) == os.path.realpath(root):
            raise InputError(f"cannot list '{error.filename}': {error.strerror}; check its permissions") from None
        closed.append(error.filename)

    for folder, folders, names in os.walk(root, onerror=cannot_list):
        folders.sort()
        for name in list(folders):
            if os.path.islink(os.path.join(folder, name)):
                folders.remove(name)
                yield Member(_relative(root, folder, name), None, "link")
        for name in sorted(names):
            yield _local_file(os.path.join(folder, name), _relative(root, folder, name), max_bytes)
    for folder in sorted(closed):
        yield Member(_relative(root, folder, ""), None, "unreadable_folder")


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


def compact(spark: SparkSession, members: Iterable[Member], work: Workplace) -> tuple[DataFrame, int]:
    """Write the members to ``raw/`` and open them with Spark: name, content, problem. Also says how many there are.

    Names are made unique: a second ``a/1.`` becomes ``a/1.#2``.
    """
    inside = work.create("raw")
    total = 0
    for number, rows in enumerate(_batches(_unique(members))):
        total += len(rows)
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), RAW_SCHEMA.types,
                                                                  strict=True)]
        table = pa.Table.from_arrays(columns, schema=RAW_SCHEMA)
        with work.filesystem.open_output_stream(f"{inside}/part-{number:05d}.parquet") as sink:
            pq.write_table(table, sink, compression="zstd", use_dictionary=False, row_group_size=4096)
    return spark.read.schema("name string, content binary, problem string").parquet(work.readable("raw")), total


def _unique(members: Iterable[Member]) -> Iterator[Member]:
    seen: dict[str, int] = {}
    for member in members:
        name = member.name
        while name in seen:
            seen[member.name] += 1
            name = f"{member.name}#{seen[member.name]}"
        seen[name] = 1
        yield member._replace(name=name)


def _batches(members: Iterable[Member]) -> Iterator[list[Member]]:
    batch: list[Member] = []
    size = 0
    for member in members:
        batch.append(member)
        size += len(member.content or b"") + len(member.name)
        if size >= FILE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
