"""One writer per output: a second run on the same output is refused while the first is alive."""

import fcntl
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.files.directories import resolve

_log = logging.getLogger(__name__)


@contextmanager
def only_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the right to write ``path`` for the length of the block.

    The operating system locks a small file ``.NAME.lock`` beside the output for as long as this process holds it open,
    so that a killed run leaves no lock; the file says whose it is. Object stores have no locks: there the block runs
    without one, and on a file system without them after a warning.
    """
    filesystem, inside = resolve(path)
    if not isinstance(filesystem, fs.LocalFileSystem):
        yield
        return
    parent, name = inside.rstrip("/").rsplit("/", 1)
    lock = f"{parent}/.{name}.lock"
    os.makedirs(parent or "/", exist_ok=True)
    handle = _take(lock, path)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)
        os.close(handle)


def _take(lock: str, path: str | os.PathLike[str]) -> int:
    """Open and lock the file. The one that was locked may have been unlinked meanwhile by the run that held it."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o644)
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


def _lock(handle: int, lock: str, path: str | os.PathLike[str]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another run is writing '{path}'{_holder(lock)}; wait for it, or stop it") from None
    except OSError as error:
        _log.warning("'%s' cannot be locked (%s); take care that no other run writes '%s'", lock, error, path)


def _is_at(handle: int, lock: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock))
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
