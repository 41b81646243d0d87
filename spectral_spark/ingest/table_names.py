"""What the input of ``--source table`` is, before Spark starts: files, a Delta or Iceberg table, or a name."""

import re

from pyarrow import fs

from spectral_spark.files.directories import resolve
from spectral_spark.files.paths import exists

LAKES = ("delta", "iceberg")
_NAME = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*){1,3}", re.ASCII)
_FILES = {"parquet", "json", "jsonl", "ndjson", "csv", "tsv", "txt", "gz", "bz2", "zst", "zip", "xz"}


def table_in_catalog(name: str, given_format: str | None) -> bool:
    """Whether this names a table of the catalogue: ``catalog.schema.table``, where there is no such file."""
    if given_format not in (None, *LAKES) or not _NAME.fullmatch(name):
        return False
    return name.rpartition(".")[2].lower() not in _FILES and not exists(name)


def table_kind(path: str, given_format: str | None) -> str | None:
    """The format, if it is given or a directory shows it; "delta" by its log, "iceberg" by its metadata."""
    if given_format is not None:
        return given_format
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type != fs.FileType.Directory:
        return None
    names = {info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside))
             if info.type == fs.FileType.Directory}
    if "_delta_log" in names:
        return "delta"
    if "metadata" not in names:
        return None
    inner = filesystem.get_file_info(fs.FileSelector(f"{inside}/metadata"))
    return "iceberg" if any(info.base_name.endswith(".metadata.json") for info in inner) else None
