"""The Parquet files of a corpus: described when it is written, and compared with that whenever it is opened.

Only directory listings and Parquet footers are read, so this is cheap for a corpus of any size. A footer holds the
schema, the number of rows and the place, size and statistics of every column: a file with the same footer and size is
the same file, unless somebody went out of their way.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.errors import FormatError
from spectral_spark.files.directories import resolve

DOCUMENTS, VOCABULARY = "documents", "vocabulary"
DOCUMENT_COLUMNS = {
    "doc_id": pa.string(), "path": pa.list_(pa.string()), "terms": pa.list_(pa.int32()), "counts": pa.list_(pa.int32()),
    "split": pa.string(),
}
_MAGIC = b"PAR1"
_THREADS = 16
_AGAIN = "restore it from a copy, or ingest again"


def describe_files(filesystem: fs.FileSystem, inside: str) -> dict[str, dict[str, Any]]:
    """Bytes, rows and the SHA-256 of the footer of every file, by its name below ``inside``."""
    result = {}
    for name, size in sorted(_listed(filesystem, inside).items()):
        footer, rows = _footer(filesystem, f"{inside}/{name}"), _metadata(filesystem, f"{inside}/{name}").num_rows
        result[name] = {"bytes": size, "rows": rows, "footer_sha256": hashlib.sha256(footer).hexdigest()}
    return result


def check_files(path: str, manifest: dict[str, Any]) -> None:
    """Refuse a corpus of which a file is missing, added, exchanged or damaged; the message names it."""
    filesystem, inside = resolve(path)
    for part in (DOCUMENTS, VOCABULARY):
        if filesystem.get_file_info(f"{inside}/{part}").type != fs.FileType.Directory:
            raise FormatError(f"corpus '{path}' has no {part}/; it is damaged, ingest it again")
    found = _listed(filesystem, inside)
    if "files" in manifest:
        _compare(filesystem, inside, path, found, manifest["files"])
        rows = sum(file["rows"] for name, file in manifest["files"].items() if name.startswith(f"{DOCUMENTS}/"))
        _check_rows(rows, path, manifest)
    else:
        _check_rows(_count(filesystem, inside, path, found), path, manifest)


def _compare(
    filesystem: fs.FileSystem, inside: str, path: str, found: dict[str, int], expected: dict[str, dict[str, Any]]
) -> None:
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise FormatError(f"corpus '{path}': {name} is missing; {_AGAIN}")
        if name not in expected:
            raise FormatError(f"corpus '{path}': {name} does not belong to it; remove that file, or ingest again")
        if found[name] != expected[name]["bytes"]:
            raise FormatError(
                f"corpus '{path}': {name} has {found[name]:,} bytes instead of {expected[name]['bytes']:,}; it was "
                f"exchanged or damaged: {_AGAIN}"
            )

    def differs(name: str) -> str | None:
        try:
            footer = _footer(filesystem, f"{inside}/{name}")
        except (OSError, ValueError):
            return name
        return None if hashlib.sha256(footer).hexdigest() == expected[name]["footer_sha256"] else name

    with ThreadPoolExecutor(_THREADS) as pool:
        for changed in pool.map(differs, sorted(expected)):
            if changed is not None:
                raise FormatError(
                    f"corpus '{path}': {changed} is not the file that ingest wrote; it was exchanged or damaged: "
                    f"{_AGAIN}"
                )


def _count(filesystem: fs.FileSystem, inside: str, path: str, found: dict[str, int]) -> int:
    """The rows of a corpus of release 0.1.0, which has no list of files, after a look at its columns."""
    rows = 0
    for name in sorted(name for name in found if name.startswith(f"{DOCUMENTS}/")):
        try:
            metadata = _metadata(filesystem, f"{inside}/{name}")
            schema = metadata.schema.to_arrow_schema()
        except (OSError, ValueError):
            raise FormatError(f"corpus '{path}': {name} is not a readable Parquet file; {_AGAIN}") from None
        for column, kind in DOCUMENT_COLUMNS.items():
            at = schema.get_field_index(column)
            if at < 0 or not _same_kind(schema.field(at).type, kind):
                raise FormatError(f"corpus '{path}': {name} has no column '{column}' of type {kind}; {_AGAIN}")
        rows += metadata.num_rows
    return rows


def _check_rows(rows: int, path: str, manifest: dict[str, Any]) -> None:
    expected = sum(manifest["documents"].values())
    if rows != expected:
        raise FormatError(
            f"corpus '{path}': {DOCUMENTS}/ has {rows:,} documents instead of {expected:,}; files are missing or were "
            "added: restore them from a copy, or ingest again"
        )


def _same_kind(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(found) and bool(found.value_type == wanted.value_type)
    return bool(found == wanted)


def _listed(filesystem: fs.FileSystem, inside: str) -> dict[str, int]:
    """Sizes of the files that Spark would read, by name; it passes over names that begin with a dot or underscore."""
    sizes = {}
    for part in (DOCUMENTS, VOCABULARY):
        for info in filesystem.get_file_info(fs.FileSelector(f"{inside}/{part}", recursive=True)):
            if info.type == fs.FileType.File and not info.base_name.startswith((".", "_")):
                sizes[info.path[len(inside) :].lstrip("/")] = info.size
    return sizes


def _metadata(filesystem: fs.FileSystem, inside: str) -> pq.FileMetaData:
    with filesystem.open_input_file(inside) as source:
        return pq.ParquetFile(source).metadata


def _footer(filesystem: fs.FileSystem, inside: str) -> bytes:
    """The last bytes of a Parquet file: its metadata, their length and the magic number."""
    with filesystem.open_input_file(inside) as source:
        size = source.size()
        if size < 12:
            raise ValueError("too short")
        source.seek(size - 8)
        tail = source.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or length > size - 12:
            raise ValueError("no Parquet footer")
        source.seek(size - 8 - length)
        return bytes(source.read(length)) + tail
