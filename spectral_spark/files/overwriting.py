"""What may be overwritten: an earlier output of the same kind that this package made, and nothing else."""

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from spectral_spark.errors import InputError, SpectralError
from spectral_spark.files.formats import (
    ANSWERS_KIND,
    CORPUS_JSON,
    DEMO_FOLDER_KIND,
    DEMO_NOTES_KIND,
    EVALUATION_KIND,
    MANIFEST,
    MODEL_KIND,
    NAMES,
    REPORT_KIND,
    SCORES_KIND,
    TABLE_MANIFEST,
    UNFINISHED,
    name_of,
)
from spectral_spark.files.paths import AnyPath, dangling_link, exists, is_local, relation, resolve
from spectral_spark.files.safe_reading import MOST_JSON, parse_json

_FOREIGN = "foreign"                      # what has no kind of ours
_ATTEMPTS = 100
_START = 1 << 16                          # bytes of a file that are enough to recognise it
_DEMO_NOTE = re.compile(r"note-\d{5}\.txt")
_PART = re.compile(r"((documents|vocabulary)/)?part-[^/]*")        # of scores, codes, and a corpus of any release
_MANIFESTS = (MANIFEST, CORPUS_JSON, TABLE_MANIFEST)
_EDITED = re.compile(r"labels\.toml(\.bak\d{0,3})?|taxonomy\.json")  # people's; the next model keeps them
_OLD_SCORES = {"doc_id", "topicDistribution"}


def check_output(path: AnyPath, kind: str | None, overwrite: bool, flag: str = "") -> None:
    """Refuse an output that exists, unless ``overwrite`` is given and it is an earlier output of the same kind.

    Parameters
    ----------
    kind : what will be written; None allows any kind of ours to be replaced.
    flag : the flag that named the path, for the message; "" for a call from Python.
    """
    shown = f"{flag} '{path}'".strip()
    if missing := dangling_link(path):
        raise InputError(f"{shown} is a symbolic link to '{missing}', where there is nothing; remove the link, or give "
                         "the path itself")
    if around := output_around(path):
        raise InputError(f"{shown} lies inside {around}, which is complete and is not written into; choose another "
                         "path")
    if not exists(path):
        return
    if not overwrite:
        allow = "pass --overwrite" if flag else "allow overwriting"
        raise InputError(f"{shown} exists; choose another path, remove it, or {allow}")
    found = kind_of(path)
    if found is None or found == kind or (kind is None and found != _FOREIGN):
        if found != DEMO_FOLDER_KIND and (stranger := _stranger_in(path)):
            raise InputError(f"{shown} also holds '{stranger}', which is not part of it and would be deleted; move it "
                             "away, or choose another path")
        return
    wanted = name_of(kind) if kind else "an output of this package"
    what = name_of(found) if found != _FOREIGN else _describe(path)
    raise InputError(f"{shown} is {what}; overwriting replaces only {wanted} that this package made: choose another "
                     "path, or remove it yourself")


def check_apart(output: AnyPath, inputs: Mapping[str, AnyPath | None], flag: str = "--output") -> None:
    """Refuse to replace an output that is an input, contains one, or lies inside one.

    Parameters
    ----------
    inputs : what the run reads, by the name that messages should use; None for what was not given.
    """
    for name, source in inputs.items():
        if source is not None and (how := relation(output, source)):
            raise InputError(f"{flag} '{output}' {how} the input {name} '{source}', which overwriting would delete or "
                             "change; choose another path")


def kind_of(path: AnyPath) -> str | None:
    """The kind of output at a path: one of ``files.formats``, "foreign", or None where there is nothing to lose."""
    filesystem, inside = resolve(path)
    for _ in range(_ATTEMPTS):
        with suppress(FileNotFoundError):                   # another run replaces or removes it while we look
            return _kind_at(filesystem, inside)
    return _FOREIGN


def _kind_at(filesystem: fs.FileSystem, inside: str) -> str | None:
    found = filesystem.get_file_info(inside).type
    if found == fs.FileType.NotFound:
        return None
    if found != fs.FileType.Directory:
        return _kind_of_file(filesystem, inside)
    names = {info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside))}
    if not names:
        return None
    for manifest in (*_MANIFESTS, UNFINISHED):
        if manifest in names:
            return _stated_kind(filesystem, f"{inside}/{manifest}")
    if _are_old_scores(filesystem, inside, names):
        return SCORES_KIND
    return DEMO_FOLDER_KIND if is_local(filesystem) and _is_demo_folder(inside) else _FOREIGN


def output_around(path: AnyPath) -> str | None:
    """The output of ours that a local path lies inside of, as messages call it; None if there is none."""
    filesystem, inside = resolve(path)
    if not is_local(filesystem):
        return None
    place = os.path.dirname(os.path.realpath(inside))
    while True:
        for manifest in _MANIFESTS:
            if os.path.isfile(os.path.join(place, manifest)):
                kind = _stated_kind(filesystem, os.path.join(place, manifest))
                if kind in NAMES:
                    return f"{name_of(kind)}, '{place}'"
        if os.path.dirname(place) == place:
            return None
        place = os.path.dirname(place)


def _stranger_in(path: AnyPath) -> str | None:
    """A file in an output of ours that this package did not put there; hidden files and Spark's marks do not count."""
    filesystem, inside = resolve(path)
    for _ in range(_ATTEMPTS):
        before = _identity(filesystem, inside)
        found = _unlisted_file(filesystem, inside)
        if found is None or (before is not None and _identity(filesystem, inside) == before):
            return found                                    # else another run replaced the directory while we looked
    return None


def _identity(filesystem: fs.FileSystem, inside: str) -> object:
    """What tells a local path from one that takes its place, and changes with a directory's files; None if gone."""
    if not is_local(filesystem):
        return inside
    try:
        status = os.stat(inside)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _unlisted_file(filesystem: fs.FileSystem, inside: str) -> str | None:
    kinds = [info.type for info in filesystem.get_file_info([inside, f"{inside}/{UNFINISHED}"])]
    if kinds[0] != fs.FileType.Directory or kinds[1] == fs.FileType.File:
        return None
    listed, edited = set[str](), False
    for manifest in (MANIFEST, CORPUS_JSON):
        with suppress(OSError, SpectralError), filesystem.open_input_stream(f"{inside}/{manifest}") as source:
            stated = parse_json(source.read(MOST_JSON), manifest)
            files = stated.get("files") if isinstance(stated, dict) else None
            listed |= {manifest, *(files if isinstance(files, dict) else ())}
            edited = edited or (isinstance(stated, dict) and stated.get("kind") == MODEL_KIND)
    with suppress(FileNotFoundError):                       # another run replaces it meanwhile
        for info in filesystem.get_file_info(fs.FileSelector(inside, recursive=True)):
            name = info.path[len(inside) :].lstrip("/")
            ours = name in listed or _PART.fullmatch(name) or info.base_name.startswith((".", "_"))
            ours = ours or bool(edited and _EDITED.fullmatch(name))
            if info.type != fs.FileType.Directory and not ours:
                return str(name)
    return None


def _stated_kind(filesystem: fs.FileSystem, file: str) -> str:
    try:
        with filesystem.open_input_stream(file) as source:
            manifest = parse_json(source.read(MOST_JSON), file)
    except FileNotFoundError:
        raise
    except (OSError, SpectralError):
        return _FOREIGN
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    return kind if isinstance(kind, str) and kind else _FOREIGN


def _are_old_scores(filesystem: fs.FileSystem, inside: str, names: set[str]) -> bool:
    """Whether this is what ``score`` of release 0.1.0 wrote: Spark's Parquet files with the two columns of scores."""
    parts = [name for name in names if name.startswith("part-") and name.endswith(".parquet")]
    if "_SUCCESS" not in names or not parts:
        return False
    if any(name != "_SUCCESS" and name not in parts and not name.endswith(".crc") for name in names):
        return False
    try:
        schema = pq.read_schema(f"{inside}/{parts[0]}", filesystem=filesystem)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, pa.ArrowException):
        return False
    return set(schema.names) == _OLD_SCORES


def _is_demo_folder(inside: str) -> bool:
    files = [name for _, _, names in os.walk(inside) for name in names]
    return bool(files) and all(_DEMO_NOTE.fullmatch(name) for name in files)


def _kind_of_file(filesystem: fs.FileSystem, inside: str) -> str:
    try:
        with filesystem.open_input_stream(inside) as source:
            start = source.read(_START)
    except FileNotFoundError:
        raise
    except OSError:
        return _FOREIGN
    return next((kind for kind, recognises in _FILES.items() if recognises(start)), _FOREIGN)


def _is_report(start: bytes) -> bool:
    return b"<!doctype html>" in start[:100] and b" \xc2\xb7 topics</title>" in start and b"no-referrer" in start


def _is_evaluation(start: bytes) -> bool:
    """Written by ``evaluate``: a JSON object whose first keys are those of the whole corpus."""
    keys = (b'"loss"', b'"unigram_loss"', b'"tokens"')
    return start.lstrip()[:1] == b"{" and all(key in start for key in keys)


def _is_answers(start: bytes) -> bool:
    return start.startswith(f'{{"kind": "{ANSWERS_KIND}"'.encode())


def _is_demo_notes(start: bytes) -> bool:
    note = _first_line(start)
    return isinstance(note, dict) and set(note) == {"id", "text", "region", "town"}


def _first_line(start: bytes) -> Any:
    try:
        return json.loads(start.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None


_FILES: dict[str, Callable[[bytes], bool]] = {
    ANSWERS_KIND: _is_answers, DEMO_NOTES_KIND: _is_demo_notes, EVALUATION_KIND: _is_evaluation,
    REPORT_KIND: _is_report,
}


def _describe(path: AnyPath) -> str:
    """What a foreign path is, with a few of its names so that people recognise it."""
    filesystem, inside = resolve(path)
    if filesystem.get_file_info(inside).type != fs.FileType.Directory:
        return "a file of another kind"
    names = sorted(info.base_name for info in filesystem.get_file_info(fs.FileSelector(inside)))
    shown = ", ".join(repr(os.fspath(name)) for name in names[:3]) + (", …" if len(names) > 3 else "")
    return f"a directory of other things ({shown})"
