"""One writer per output: a second run on the same output is refused while the first is alive."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyarrow import fs

from spectral_spark.errors import InputError
from spectral_spark.storage import resolve


@contextmanager
def only_writer(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the right to write ``path`` for the length of the block.

    A small file ``.NAME.lock`` beside the output says who holds it. A lock whose process is gone (on the same machine)
    is taken over. Object stores have no exclusive creation: there the block runs without a lock.
    """
    filesystem, inside = resolve(path)
    if not isinstance(filesystem, fs.LocalFileSystem):
        yield
        return
    parent, name = inside.rstrip("/").rsplit("/", 1)
    lock = f"{parent}/.{name}.lock"
    os.makedirs(parent or "/", exist_ok=True)
    _take(lock, path)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)


def _take(lock: str, path: str | os.PathLike[str]) -> None:
    owner = {"host": socket.gethostname(), "pid": os.getpid()}
    for attempt in range(2):
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            held = _holder(lock)
            if attempt == 0 and held is not None and _gone(held):
                with suppress(FileNotFoundError):
                    os.unlink(lock)
                continue
            who = f" (process {held['pid']} on {held['host']})" if held else ""
            raise InputError(
                f"another run is writing '{path}'{who}; wait for it, or remove '{lock}' if there is none"
            ) from None
        with os.fdopen(handle, "w") as file:
            json.dump(owner, file)
        return


def _holder(lock: str) -> dict | None:
    try:
        with open(lock) as file:
            held = json.load(file)
    except (OSError, ValueError):
        return None
    return held if isinstance(held, dict) and {"host", "pid"} <= held.keys() else None


def _gone(held: dict) -> bool:
    """Whether the holder was a process of this machine that no longer runs."""
    if held["host"] != socket.gethostname() or not isinstance(held["pid"], int):
        return False
    try:
        os.kill(held["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
