"""What the files of a table say about its columns, before Spark starts."""

import csv
import re
from difflib import get_close_matches

import pyarrow as pa
from pyarrow import fs
from pyarrow.dataset import dataset

from spectral_spark.errors import InputError
from spectral_spark.files.directories import resolve
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.json_columns import first_json_columns
from spectral_spark.ingest.table_names import LAKES, table_in_catalog, table_kind

_ENDINGS = {"parquet": "parquet", "json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "tsv": "csv"}
_HEADER_BYTES = 1 << 20


def table_format(settings: IngestSettings) -> tuple[str, str]:
    """The format, and the separator if it is CSV."""
    names = table_files(settings.input)
    endings = re.findall(r"\.([A-Za-z]+)", names[0].rsplit("/", 1)[-1].lower())
    ending = next((e for e in reversed(endings) if e in _ENDINGS), None)
    if settings.format is None and ending is None:
        raise InputError(f"'{settings.input}': its name does not say what it is; give the format (parquet, json, csv)")
    return settings.format or _ENDINGS[str(ending)], "\t" if ending == "tsv" else ","


def wanted_columns(settings: IngestSettings) -> list[str]:
    """The columns that the settings name."""
    columns = [settings.text_col, settings.tokens_col, settings.id_col, *settings.path_cols, *settings.keep_cols]
    return [name for name in columns if name is not None]


def table_files(path: str) -> list[str]:
    """The files of a table, inside their file system and in order; refuses a directory without any."""
    filesystem, inside = resolve(path)
    kind = filesystem.get_file_info(inside).type
    if kind == fs.FileType.NotFound:
        raise InputError(f"there is nothing at '{path}'")
    if kind != fs.FileType.Directory:
        return [inside]
    listed = filesystem.get_file_info(fs.FileSelector(inside, recursive=True))
    names = sorted(info.path for info in listed
                   if info.type == fs.FileType.File and not info.base_name.startswith((".", "_")))
    if not names:
        raise InputError(f"'{path}' is an empty directory; give a Parquet, JSON lines or CSV table")
    return names


def check_columns(present: list[str], settings: IngestSettings) -> None:
    """Refuse the first column that the settings name and the table does not have."""
    for name in wanted_columns(settings):
        if name not in present:
            near = get_close_matches(name, present, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise InputError(f"'{settings.input}' has no column '{name}'; it has {', '.join(present) or 'none'}{hint}")


def check_table(settings: IngestSettings) -> None:
    """Refuse wrong column names of files as far as their beginning tells. Only Spark knows the columns of a table of a
    catalogue, and of Delta and Iceberg tables."""
    if table_in_catalog(settings.input, settings.format) or table_kind(settings.input, settings.format) in LAKES:
        return
    kind, separator = table_format(settings)
    present = None
    if kind == "parquet":
        present = _parquet_columns(settings.input)
    elif kind == "csv":
        present = _header(settings.input, separator)
    elif kind == "json":
        present = first_json_columns(settings.input, table_files(settings.input))
    if present is not None:
        check_columns(present, settings)


def _parquet_columns(path: str) -> list[str] | None:
    filesystem, inside = resolve(path)
    try:
        return list(dataset(inside, filesystem=filesystem, format="parquet", partitioning="hive").schema.names)
    except (pa.ArrowException, OSError):
        return None                                 # Spark says what is wrong with the files


def _header(path: str, separator: str) -> list[str] | None:
    """The names in the first line of a file; None for a directory, whose folders may name columns, too."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type != fs.FileType.File:
        return None
    try:
        with filesystem.open_input_stream(inside) as source:
            text = source.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return None
    return next(csv.reader(text.splitlines(), delimiter=separator), None)
