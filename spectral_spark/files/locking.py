"""One writer per output: a second run on the same output is refused while the first is alive.

The package ``filelock`` does much of this, but it leaves its lock file beside the output, does not say which process
holds the lock, and fails on a file system without locks, where we go on after a warning. So these few lines stay ours;
on a system without ``fcntl`` (Windows) there is no lock, only the warning.
"""

import errno
import json
import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.hadoop import hadoop_handler
from spectral_spark.files.leftovers import short_name
from spectral_spark.files.owners import read_owner, this_owner
from spectral_spark.files.paths import AnyPath, is_local, output_target

try:
    import fcntl
except ImportError:                                         # Windows
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)     # no links, no waiting for a pipe
_NOT_A_LOCK = "'{lock}' is a link or not a plain file, so it cannot be the lock of '{path}'; remove it"


@contextmanager
def only_writer(path: AnyPath) -> Iterator[None]:
    """Hold the right to write ``path`` for the length of the block.

    The operating system locks a small file ``.NAME.lock`` beside the output for as long as this process holds it open,
    so that a killed run leaves no lock; the file says whose it is. An output that is a symbolic link is locked where
    the link points to; a lock file that is a symbolic link is refused. On a remote file system that is reached through
    Hadoop, the file itself is the lock (see ``_remote_writer``); pyarrow's object stores have none: there the block
    runs without one, and on a file system without locks after a warning.
    """
    filesystem, inside = output_target(path)
    if not is_local(filesystem):
        with _remote_writer(filesystem, inside, path):
            yield
        return
    parent, name = os.path.split(inside)
    lock = os.path.join(parent, f".{short_name(name)}.lock")
    os.makedirs(parent, exist_ok=True)
    handle = _take(lock, path)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)
        os.close(handle)


@contextmanager
def _remote_writer(filesystem: fs.FileSystem, inside: str, path: AnyPath) -> Iterator[None]:
    """The same by a file that only one run can create. What a killed run left, the next on its machine clears."""
    handler = hadoop_handler(filesystem)
    if handler is None:
        yield
        return
    parent, _, name = inside.rpartition("/")
    lock = f"{parent}/.{short_name(name)}.lock"
    owner = read_owner(filesystem, lock)
    if owner is not None and owner.gone:
        with suppress(FileNotFoundError):
            filesystem.delete_file(lock)
    if not handler.create(lock, json.dumps(this_owner()).encode()):
        who = read_owner(filesystem, lock)
        raise InputError(f"another run is writing '{path}'{f' ({who})' if who else ''}; wait for it, or, if it was "
                         f"killed, remove '{handler.scheme}://{lock}'")
    try:
        yield
    finally:
        with suppress(OSError):
            filesystem.delete_file(lock)


def _take(lock: str, path: AnyPath) -> int:
    """Open and lock the file. The one that was locked may have been unlinked meanwhile by the run that held it."""
    while True:
        handle = _open(lock, path)
        try:
            _lock(handle, lock, path)
            if _is_at(handle, lock):
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _open(lock: str, path: AnyPath) -> int:
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | _CAREFULLY, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise InputError(_NOT_A_LOCK.format(lock=lock, path=path)) from None
        if isinstance(error, PermissionError):
            raise InputError(f"'{lock}', the lock of '{path}', cannot be written; another account made it, or the "
                             "directory is not yours: write somewhere else, or ask its owner") from None
        raise
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise InputError(_NOT_A_LOCK.format(lock=lock, path=path))
    return handle


def _lock(handle: int, lock: str, path: AnyPath) -> None:
    if fcntl is None:
        _log.warning("this system has no file locks; take care that no other run writes '%s'", path)
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another run is writing '{path}'{_holder(lock)}; wait for it, or stop it") from None
    except OSError as error:
        _log.warning("'%s' cannot be locked (%s); take care that no other run writes '%s'", lock, error, path)


def _is_at(handle: int, lock: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(lock))
    except FileNotFoundError:
        return False


def _holder(lock: str) -> str:
    """Who holds the lock, if it has been written yet."""
    try:
        with open(lock) as file:
            held = json.load(file)
        return f" (process {held['pid']} on {held['host']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
