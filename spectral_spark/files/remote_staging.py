"""Staging directories on remote file systems that rename a directory in one step, such as HDFS.

They have the names and the parts of the local ones (see ``files.leftovers``): the next write to the same parent clears
away what a killed process of this machine left, and the next look at an output puts back what was moved aside. About
the processes of other machines nothing is known; what they left is cleared away after a week.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.hadoop import hadoop_handler
from spectral_spark.files.leftovers import PATIENCE, abandoned, is_staging, short_name, staging_name

_FORGOTTEN = 7 * 24 * 3600           # seconds after which a staging directory of another machine belongs to nobody
_ATTEMPTS = 100


@contextmanager
def remote_staging(filesystem: fs.FileSystem, target: str) -> Iterator[str]:
    """A staging directory beside ``target`` for the length of the block.

    If the block ends between the two renames of :func:`take_the_place`, what was moved aside is put back.
    """
    parent, _, name = target.rpartition("/")
    sweep(filesystem, parent)
    staging = f"{parent}/{staging_name(name)}"
    try:
        filesystem.create_dir(f"{staging}/old", recursive=True)
        if handler := hadoop_handler(filesystem):
            handler.close_to_others(staging)
        filesystem.create_dir(f"{staging}/new", recursive=True)
        yield staging
    finally:
        with suppress(OSError):
            _put_back_all(filesystem, parent, staging)
            filesystem.delete_dir(staging)


def take_the_place(filesystem: fs.FileSystem, staging: str, target: str, check: Callable[[], None]) -> None:
    """Rename ``new/NAME`` of a staging directory to its place; what is there goes to ``old/NAME`` first.

    Parameters
    ----------
    check : raises if what has appeared at the target since must not be replaced.
    """
    name = target.rpartition("/")[2]
    new, old = f"{staging}/new/{name}", f"{staging}/old/{name}"
    for _ in range(_ATTEMPTS):
        if _is_there(filesystem, target):
            check()
            if _is_there(filesystem, old):
                filesystem.delete_dir(old)
            with suppress(FileNotFoundError):               # another run has just taken it away
                filesystem.move(target, old)
        try:
            filesystem.move(new, target)
            return
        except OSError:
            if not _is_there(filesystem, target):           # nothing is in the way: this is another trouble
                with suppress(OSError):
                    filesystem.move(old, target)
                raise
    raise InputError(f"other runs keep writing '{target}'; give every run an output of its own")


def sweep(filesystem: fs.FileSystem, parent: str) -> None:
    """Clear away the staging directories of processes that are gone."""
    with suppress(OSError):
        for info in filesystem.get_file_info(fs.FileSelector(parent, allow_not_found=True)):
            if _is_abandoned(info):
                _put_back_all(filesystem, parent, info.path)
                with suppress(OSError):
                    filesystem.delete_dir(info.path)


def recover(filesystem: fs.FileSystem, target: str) -> bool:
    """Put back what an interrupted overwrite moved aside; whether there is something at ``target`` now."""
    parent, _, name = target.rpartition("/")
    deadline = time.monotonic() + PATIENCE
    while not _is_there(filesystem, target):
        aside = [(f"{info.path}/old/{name}", _is_abandoned(info)) for info in _staging_of(filesystem, parent, name)]
        aside = [found for found in aside if _is_there(filesystem, found[0])]
        if not aside:
            return _is_there(filesystem, target)
        if not any(gone for _, gone in aside) and time.monotonic() < deadline:
            time.sleep(0.02)                                # a process that lives may be between its two renames
            continue
        with suppress(OSError):
            filesystem.move(max(aside, key=lambda found: found[1])[0], target)
        if time.monotonic() > deadline:
            return _is_there(filesystem, target)
    return True


def _staging_of(filesystem: fs.FileSystem, parent: str, name: str) -> list[fs.FileInfo]:
    found = filesystem.get_file_info(fs.FileSelector(parent, allow_not_found=True))
    start = f".{short_name(name)}."
    return [info for info in found if info.base_name.startswith(start) and is_staging(info.base_name)]


def _is_abandoned(info: fs.FileInfo) -> bool:
    if abandoned(info.base_name):
        return True
    changed = info.mtime_ns
    return is_staging(info.base_name) and bool(changed) and time.time() - changed / 1e9 > _FORGOTTEN


def _put_back_all(filesystem: fs.FileSystem, parent: str, staging: str) -> None:
    for info in filesystem.get_file_info(fs.FileSelector(f"{staging}/old", allow_not_found=True)):
        if not _is_there(filesystem, f"{parent}/{info.base_name}"):
            filesystem.move(info.path, f"{parent}/{info.base_name}")


def _is_there(filesystem: fs.FileSystem, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type != fs.FileType.NotFound)
