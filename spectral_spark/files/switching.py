"""Overwriting where directories cannot be renamed: the old output stays until the new one is complete.

The new version of ``NAME`` is written beside it, in ``.NAME.version-RANDOM``. When complete, ``.NAME.switch.json`` is
put beside both, in one step that only one run can do where the store has conditional puts: from here on the new
version counts. Its files then take the place of the old ones, and the switch file goes. A run that is killed before the
switch file leaves the old output as it was; after it, the next reader or writer of the output finishes the work. What
killed runs leave beside an output, the next overwrite sweeps.
"""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyarrow import fs

from spectral_spark.errors import InputError, StoreError
from spectral_spark.files.formats import CORPUS_JSON, MANIFEST, TABLE_MANIFEST, UNFINISHED
from spectral_spark.files.hadoop import hadoop_handler, renames_directories
from spectral_spark.files.leftovers import short_name
from spectral_spark.files.owners import read_owner, this_owner
from spectral_spark.files.safe_reading import MOST_JSON

_COMPLETING = (MANIFEST, CORPUS_JSON, TABLE_MANIFEST)
_PATIENCE = 30.0                     # seconds that a reader waits for a living run to put the new files in their place
_LONGEST = 900.0                     # seconds after which a run on another machine counts as killed while it did so
_DAYS = 7                            # after which a version of a run on another machine counts as left behind


@contextmanager
def switched(filesystem: fs.FileSystem, target: str, kind: str | None, shown: str) -> Iterator[str]:
    """A directory beside ``target``, inside its file system, that takes its place when the block ends."""
    sweep_versions(filesystem, target)
    version = f"{_beside(target)}.version-{uuid.uuid4().hex[:12]}"
    mark = f"{version}/{UNFINISHED}"
    put_once(filesystem, mark, {"kind": kind} | this_owner())
    try:
        yield version
        if not put_once(filesystem, switch_file(target), _switch(filesystem, version)):
            raise InputError(f"another run is replacing '{shown}'; wait for it")
    except BaseException:
        with suppress(OSError):
            filesystem.delete_dir(version)
        raise
    _take_place(filesystem, target)


def finish_switch(filesystem: fs.FileSystem, target: str) -> bool:
    """Finish what a killed run has begun with ``target``; a living run is given time to do so itself.

    Returns whether a new version has taken its place here.
    """
    if renames_directories(filesystem) or "/" not in target:
        return False
    deadline = time.monotonic() + _PATIENCE
    while _pending(filesystem, target):
        owner = read_owner(filesystem, switch_file(target))
        if owner is None or owner.gone or (not owner.here and time.time() - owner.since > _LONGEST):
            with suppress(FileNotFoundError):               # another reader was faster
                _take_place(filesystem, target)
                return True
        elif time.monotonic() > deadline:
            raise StoreError(f"a run is just replacing '{target}' ({owner}); try again when it is done")
        else:
            time.sleep(0.2)
    return False


def _pending(filesystem: fs.FileSystem, target: str) -> bool:
    """Whether a switch is under way. Who may read an output, but not look beside it, reads it as it is."""
    with suppress(OSError):
        return _is_file(filesystem, switch_file(target))
    return False


def sweep_versions(filesystem: fs.FileSystem, target: str) -> None:
    """Delete versions of ``target`` that killed runs have left; of a run on another machine, after a week."""
    parent, start = target.rpartition("/")[0], f"{_beside(target)}.version-"
    for info in filesystem.get_file_info(fs.FileSelector(parent, allow_not_found=True)):
        if info.type == fs.FileType.Directory and info.path.rstrip("/").startswith(start):
            owner = read_owner(filesystem, f"{info.path}/{UNFINISHED}")
            if owner is None or owner.gone or time.time() - owner.since > _DAYS * 86_400:
                with suppress(OSError):
                    filesystem.delete_dir(info.path)


def switch_file(target: str) -> str:
    """Where the switch file of an output is."""
    return f"{_beside(target)}.switch.json"


def put_once(filesystem: fs.FileSystem, path: str, value: Any) -> bool:
    """Write a JSON file unless it is there, in one step where the store can do that; whether it was written."""
    data, handler = json.dumps(value).encode(), hadoop_handler(filesystem)
    if handler is not None:
        return handler.create(path, data)
    if _is_file(filesystem, path):
        return False
    filesystem.create_dir(path.rsplit("/", 1)[0], recursive=True)
    with filesystem.open_output_stream(path) as sink:
        sink.write(data)
    return True


def _switch(filesystem: fs.FileSystem, version: str) -> dict[str, Any]:
    return {"version": version.rpartition("/")[2], "files": sorted(_files(filesystem, version))} | this_owner()


def _take_place(filesystem: fs.FileSystem, target: str) -> None:
    """Move the files of the new version to their place. Can be repeated from any point: what is done stays done.

    Two readers may finish the work of a killed run at the same time, so each looks again, before it deletes or moves a
    file, whether the other one has moved it meanwhile.
    """
    version, names = _read_switch(filesystem, target)
    waiting, here = _files(filesystem, version), _files(filesystem, target)
    if not waiting and not set(names) <= here:
        raise StoreError(f"'{switch_file(target)}' names the version '{version}', which is not there; remove that "
                         "file, and make the output again")
    for name in sorted((here - set(names)) | (here & waiting), key=lambda name: name not in _COMPLETING):
        if name not in waiting or _is_file(filesystem, f"{version}/{name}"):
            with suppress(FileNotFoundError):
                filesystem.delete_file(f"{target}/{name}")
    for name in sorted(waiting, key=lambda name: (name in _COMPLETING, name)):
        if _is_file(filesystem, f"{version}/{name}"):
            _make_folder(filesystem, f"{target}/{name}")
            filesystem.move(f"{version}/{name}", f"{target}/{name}")
    with suppress(FileNotFoundError):
        filesystem.delete_file(switch_file(target))
    with suppress(OSError):
        filesystem.delete_dir(version)


def _read_switch(filesystem: fs.FileSystem, target: str) -> tuple[str, list[str]]:
    """The place of the new version, and the names of its files."""
    place = switch_file(target)
    with filesystem.open_input_stream(place) as source:
        data = source.read(MOST_JSON)
    try:
        said = json.loads(data)
        name, names = str(said["version"]), [str(name) for name in said["files"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"'{place}' is damaged; remove it, and make the output again") from None
    if "/" in name or not name.startswith(f".{short_name(target.rpartition('/')[2])}.version-"):
        raise StoreError(f"'{place}' names '{name[:100]}', which is no version of this output; remove that file")
    return f"{target.rpartition('/')[0]}/{name}", names


def _files(filesystem: fs.FileSystem, place: str) -> set[str]:
    found = filesystem.get_file_info(fs.FileSelector(place, recursive=True, allow_not_found=True))
    names = {info.path[len(place) :].lstrip("/") for info in found if info.type == fs.FileType.File}
    return names - {UNFINISHED}


def _is_file(filesystem: fs.FileSystem, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def _make_folder(filesystem: fs.FileSystem, path: str) -> None:
    """Hadoop wants the directory of a file that is renamed to be there, also where directories are only prefixes;
    pyarrow's object stores would show an empty one as a file."""
    if filesystem.type_name not in ("s3", "gcs", "abfs"):
        filesystem.create_dir(path.rpartition("/")[0], recursive=True)


def _beside(target: str) -> str:
    parent, _, name = target.rpartition("/")
    return f"{parent}/.{short_name(name)}"
