"""``corpus.json``, the description of a corpus on disk: read and validated without Spark.

Version 2 adds ``files`` (every Parquet file with its size, rows and the SHA-256 of its footer) and ``words`` (what
became of the distinct words). Version 1, written by release 0.1.0, has neither and is still read.
"""

import re
from typing import Any

from pyarrow import fs

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files.formats import CORPUS_JSON, CORPUS_KIND, CORPUS_VERSION
from spectral_spark.files.paths import exists, resolve
from spectral_spark.files.safe_reading import parse_json

_LARGEST_MANIFEST = 256 << 20
_COLUMN_TYPE = re.compile(r"[a-z_]{1,20}(\(\d{1,3}(,\d{1,3})?\))?")


def read_manifest(path: str) -> dict[str, Any]:
    """What ``corpus.json`` says; anything missing, malformed, foreign or newer than this package is refused."""
    filesystem, inside = resolve(path)
    if not exists(path):
        raise InputError(f"there is no corpus at '{path}'; 'spectral-spark ingest' makes one")
    manifest = _json(filesystem, f"{inside}/{CORPUS_JSON}", path)
    if not isinstance(manifest, dict) or manifest.get("kind") != CORPUS_KIND:
        raise FormatError(f"'{path}/{CORPUS_JSON}' does not describe a corpus; 'spectral-spark ingest' makes one")
    version: Any = manifest.get("version")
    if not _is_count(version) or version > CORPUS_VERSION:
        raise FormatError(
            f"corpus '{path}' has format {version}; this package reads up to {CORPUS_VERSION}: upgrade spectral_spark"
        )
    _validate(manifest, path)
    return manifest


def kept_types(manifest: dict[str, Any]) -> dict[str, str]:
    """The columns that a corpus carries and their types, from ``corpus.json``; empty if it carries none."""
    listed = manifest.get("kept_columns")
    return dict(listed) if isinstance(listed, dict) else {}


def _json(filesystem: fs.FileSystem, inside: str, path: str) -> Any:
    info = filesystem.get_file_info(inside)
    if info.type != fs.FileType.File:
        raise FormatError(
            f"'{path}' is not a complete corpus: it has no {CORPUS_JSON}; 'spectral-spark ingest' makes one"
        )
    if info.size > _LARGEST_MANIFEST:
        raise FormatError(f"'{path}/{CORPUS_JSON}' has {info.size:,} bytes, more than any corpus needs; ingest again")
    try:
        with filesystem.open_input_stream(inside, compression=None) as source:
            return parse_json(source.read(), f"{path}/{CORPUS_JSON}")
    except OSError as error:
        raise InputError(f"'{path}/{CORPUS_JSON}' cannot be read ({error}); check its permissions") from None


def _validate(manifest: dict[str, Any], path: str) -> None:
    """Every value that this package uses has the type and range that ingest gives it."""
    for name in ("documents", "tokens_by_split"):
        _require(_are_counts(manifest.get(name)) and "train" in manifest[name], name, path)
    for name in ("terms", "tokens", "read", "kept", "entries"):
        _require(_is_count(manifest.get(name)), name, path)
    _require(_are_counts(manifest.get("dropped")), "dropped", path)
    for name in ("fingerprint", "vocabulary_fingerprint"):
        _require(isinstance(manifest.get(name), str), name, path)
    _require(isinstance(manifest.get("settings"), dict), "settings", path)
    unseen = manifest.get("unseen", {"recurring_tokens": 0, "recurring_share": 0})
    _require(isinstance(unseen, dict) and all(_is_number(unseen.get(name)) for name in
                                              ("recurring_tokens", "recurring_share")), "unseen", path)
    carried = manifest.get("kept_columns", {})
    _require(isinstance(carried, dict) and all(isinstance(kind, str) and _COLUMN_TYPE.fullmatch(kind)
                                               for kind in carried.values()), "kept_columns", path)
    if manifest["version"] >= 2:
        files = manifest.get("files")
        _require(isinstance(files, dict) and all(map(_is_file, files.values())), "files", path)


def _require(valid: bool, name: str, path: str) -> None:
    if not valid:
        raise FormatError(
            f"corpus '{path}': {CORPUS_JSON} counts no '{name}', or not as ingest writes it; it is damaged, ingest it "
            "again"
        )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_file(value: Any) -> bool:
    return (isinstance(value, dict) and _is_count(value.get("bytes")) and _is_count(value.get("rows"))
            and isinstance(value.get("footer_sha256"), str))
