"""Outputs that appear complete, at once, or not at all.

Locally, and on HDFS, an output is made in a staging directory beside its place (see ``files.leftovers``) and renamed.
Object stores cannot rename a directory: there a new output is written in place, the file that makes it complete comes
last, and ``_unfinished.json`` says until then whose it is. One that replaces another is written beside it first (see
``files.switching``).
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.formats import UNFINISHED
from spectral_spark.files.hadoop import renames_directories
from spectral_spark.files.leftovers import new_staging
from spectral_spark.files.overwriting import check_output
from spectral_spark.files.owners import read_owner, this_owner
from spectral_spark.files.paths import AnyPath, is_local, output_target, resolve
from spectral_spark.files.remote_staging import remote_staging, take_the_place
from spectral_spark.files.switching import put_once, switched

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
_ATTEMPTS = 1000


@contextmanager
def staged(path: AnyPath, kind: str | None = None, *, overwrite: bool = False) -> Iterator[str]:
    """An empty directory that takes the place of ``path`` when the block ends, and goes when the block raises.

    For directories that Spark fills. The name is spelt as ``path`` is, scheme included.

    Parameters
    ----------
    path : where the directory goes. A symbolic link is followed, and stays.
    kind : what it is (see ``files.formats``).
    overwrite : replace an earlier output of the same kind; anything else that exists is refused all the same.
    """
    filesystem, target = output_target(path)
    check_output(path, kind, overwrite)
    if not renames_directories(filesystem):
        write = _written_beside if _is_complete(filesystem, target) else _written_in_place
        place = write(path, kind, overwrite)
    elif is_local(filesystem):
        place = _renamed(path, target, kind, overwrite)
    else:
        place = _moved(path, kind, overwrite)
    with place as directory:
        yield directory


def write_file(path: AnyPath, data: bytes, kind: str | None = None, *, overwrite: bool = False) -> None:
    """Write a single file that appears complete or not at all; the parameters are those of :func:`staged`."""
    check_output(path, kind, overwrite)
    replace_file(path, data)


def replace_file(path: AnyPath, data: bytes, *, private: bool = False) -> None:
    """Write a file in the place of what is there, whatever it is, at once: a reader sees the old or the new one.

    ``private`` files can be read by their owner only, where the file system can do that.
    """
    filesystem, target = output_target(path)
    if not is_local(filesystem):
        _write_remote(filesystem, target, data)
        return
    parent, name = os.path.split(target)
    with _staging(parent, name) as staging:
        made = os.path.join(staging, "new", name)
        with open(made, "wb") as sink:
            sink.write(data)
        if private:
            os.chmod(made, 0o600)
        os.replace(made, target)


def _write_remote(filesystem: fs.FileSystem, target: str, data: bytes) -> None:
    """Write a file and move it into place; object stores, which copy to move, show a file when it is closed anyway."""
    if not renames_directories(filesystem):
        with filesystem.open_output_stream(target) as sink:
            sink.write(data)
        return
    with remote_staging(filesystem, target) as staging:
        made = f"{staging}/new/{target.rpartition('/')[2]}"
        with filesystem.open_output_stream(made) as sink:
            sink.write(data)
        filesystem.move(made, target)


@contextmanager
def _staging(parent: str, name: str) -> Iterator[str]:
    """A staging directory for the length of the block; parents that were made for it go when the block raises."""
    made: list[str] = []
    try:
        _make_parents(parent, made)
        staging = new_staging(parent, name)
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException:
        for directory in reversed(made):
            with suppress(OSError):
                os.rmdir(directory)
        raise


def _make_parents(parent: str, made: list[str]) -> None:
    missing = []
    while not os.path.isdir(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    for directory in reversed(missing):
        with suppress(FileExistsError):                     # another run has the same idea
            os.mkdir(directory)
            made.append(directory)


@contextmanager
def _renamed(path: AnyPath, target: str, kind: str | None, overwrite: bool) -> Iterator[str]:
    parent, name = os.path.split(target)
    with _staging(parent, name) as staging:
        new, old = (os.path.join(staging, part, name) for part in ("new", "old"))
        os.mkdir(new)
        yield new
        for _ in range(_ATTEMPTS):
            try:
                os.rename(new, target)
                return
            except OSError as error:
                if error.errno not in _IN_THE_WAY:
                    _put_back(old, target)
                    raise
            check_output(path, kind, overwrite)             # another run may have written something since
            shutil.rmtree(old, ignore_errors=True)
            with suppress(FileNotFoundError):               # another run has just taken it away
                os.rename(target, old)
        raise InputError(f"other runs keep writing '{path}'; give every run an output of its own")


def _put_back(old: str, target: str) -> None:
    with suppress(OSError):
        os.rename(old, target)


@contextmanager
def _moved(path: AnyPath, kind: str | None, overwrite: bool) -> Iterator[str]:
    """The same with the operations that HDFS has."""
    text = os.fspath(path).rstrip("/")
    filesystem, target = resolve(text)
    parent, name = text.rsplit("/", 1)
    with remote_staging(filesystem, target) as staging:
        new = f"{staging.rpartition('/')[2]}/new/{name}"
        filesystem.create_dir(f"{target.rpartition('/')[0]}/{new}", recursive=True)
        yield f"{parent}/{new}"
        take_the_place(filesystem, staging, target, lambda: check_output(path, kind, overwrite))


@contextmanager
def _written_in_place(path: AnyPath, kind: str | None, overwrite: bool) -> Iterator[str]:
    """Where directories cannot be renamed: a mark that only one writer can make comes first and goes last."""
    filesystem, target = resolve(path)
    mark = f"{target}/{UNFINISHED}"
    _claim(filesystem, mark, path, kind, overwrite)
    try:
        _clear(filesystem, target)
        yield target if is_local(filesystem) else os.fspath(path).rstrip("/")
        filesystem.delete_file(mark)
    except BaseException:
        with suppress(OSError):
            filesystem.delete_dir(target)
        raise


def _is_complete(filesystem: fs.FileSystem, target: str) -> bool:
    """Whether there is something that must stay until the new output is complete."""
    kinds = [info.type for info in filesystem.get_file_info([target, f"{target}/{UNFINISHED}"])]
    return "/" in target and kinds[0] == fs.FileType.Directory and kinds[1] != fs.FileType.File


@contextmanager
def _written_beside(path: AnyPath, kind: str | None, overwrite: bool) -> Iterator[str]:
    """Where directories cannot be renamed, and there is an earlier output."""
    filesystem, target = resolve(path)
    text = os.fspath(path).rstrip("/")
    with switched(filesystem, target, kind, text) as version:
        yield version if is_local(filesystem) else f"{text.rpartition('/')[0]}/{version.rpartition('/')[2]}"
        check_output(path, kind, overwrite)


def _claim(filesystem: fs.FileSystem, mark: str, path: AnyPath, kind: str | None, overwrite: bool) -> None:
    """Write the mark, in one step where the store can refuse a second one; another run's mark is respected."""
    if (owner := read_owner(filesystem, mark)) and not owner.gone and (owner.here or not overwrite):
        allow = "" if owner.here else ", or, if it was killed, allow overwriting"
        raise InputError(f"another run is writing '{path}' ({owner}); wait for it{allow}")
    if owner:
        filesystem.delete_file(mark)
    if not put_once(filesystem, mark, {"kind": kind} | this_owner()):
        raise InputError(f"another run is writing '{path}'; wait for it")


def _clear(filesystem: fs.FileSystem, target: str) -> None:
    """Delete what was there before, or what a killed run has left, except the mark; what makes it complete first."""
    found = [info for info in filesystem.get_file_info(fs.FileSelector(target)) if info.base_name != UNFINISHED]
    for info in sorted(found, key=lambda info: info.type == fs.FileType.Directory):
        (filesystem.delete_dir if info.type == fs.FileType.Directory else filesystem.delete_file)(info.path)
