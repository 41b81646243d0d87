"""Staging directories: their names tell whose they are, so that those of killed processes are cleared away.

An output ``NAME`` is made inside ``.NAME.partial-MACHINE-PROCESS-START-RANDOM`` beside its final place::

    new/NAME    what is being written; its last step is a rename to its place
    old/NAME    what was there before, from the rename that takes it away until the new one is in its place

The staging directory can be entered by its owner only (mode 0700), so that nobody else reads unfinished output,
whatever the modes inside it; what is moved out has the modes that the umask gives. A process that is killed leaves its
staging directory behind. The next write to the same parent directory deletes it, whatever output it was for; if the
process was killed between the two renames, the next look at the output puts the old one back.
"""

import hashlib
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from spectral_spark.files.formats import CORPUS_JSON, MANIFEST

_LONGEST = 150                       # bytes of a name that are repeated in the names of its staging directory and lock
_STAGING = re.compile(r"\..*\.partial-([0-9a-f]{8})-(\d+)(?:-(\d+))?-[0-9a-f]{8}", re.DOTALL)
_REPLACED = re.compile(r"\.(.+)\.replaced-[0-9a-f]{8}", re.DOTALL)      # how release 0.1.0 called old/NAME
PATIENCE = 1.0                       # seconds that a living process may need between its two renames


def new_staging(parent: str, name: str) -> str:
    """Make a staging directory for the output ``parent/name``, after clearing away what killed processes left."""
    sweep(parent)
    staging = os.path.join(parent, staging_name(name))
    os.mkdir(staging, 0o700)
    for part in ("new", "old"):
        os.mkdir(os.path.join(staging, part))
    return staging


def staging_name(name: str) -> str:
    """A name for a staging directory of this process."""
    process = os.getpid()
    owner = f"{_machine()}-{process}-{process_start(process)}-{uuid.uuid4().hex[:8]}"
    return f".{short_name(name)}.partial-{owner}"


def is_staging(entry: str) -> bool:
    """Whether this is the name of a staging directory of any process."""
    return _STAGING.fullmatch(entry) is not None


def short_name(name: str) -> str:
    """The name itself, or a short one in its place where a longer name could not be made from it."""
    data = name.encode()
    if len(data) <= _LONGEST:
        return name
    return f"{data[:100].decode(errors='ignore')}-{hashlib.sha256(data).hexdigest()[:16]}"


def sweep(parent: str) -> None:
    """Clear away the staging directories in a local directory whose processes no longer run on this machine."""
    with suppress(OSError):
        for entry in list(os.scandir(parent)):
            if not entry.name.startswith(".") or not _is_mine(entry):
                continue
            if abandoned(entry.name):
                _put_back_all(parent, entry.path)
                _delete(entry.path)
            elif replaced := _REPLACED.fullmatch(entry.name):
                _clear_replaced(entry.path, os.path.join(parent, replaced[1]))


def recover(target: str) -> bool:
    """Put back what an interrupted overwrite of a local path moved aside; whether there is something now.

    A process that lives is given a moment to finish its overwrite.
    """
    parent, name = os.path.split(target)
    deadline = time.monotonic() + PATIENCE
    while not os.path.lexists(target):
        aside = list(_moved_aside(parent, name))
        if not aside:
            return os.path.lexists(target)
        if all(living for _, living in aside) and time.monotonic() < deadline:
            time.sleep(0.02)
            continue
        place = min(aside, key=lambda found: found[1])[0]
        try:
            os.rename(place, target)
        except FileNotFoundError:
            continue                                        # another process was faster
        except OSError:
            return os.path.lexists(target)
    return True


def _moved_aside(parent: str, name: str) -> Iterator[tuple[str, bool]]:
    """Places of what was at ``parent/name``, each with whether the process that moved it there still runs."""
    try:
        entries = os.listdir(parent)
    except OSError:
        return
    for entry in entries:
        if not entry.startswith(f".{short_name(name)}."):
            continue
        place = os.path.join(parent, entry)
        if _STAGING.fullmatch(entry) and os.path.lexists(os.path.join(place, "old", name)):
            yield os.path.join(place, "old", name), not abandoned(entry)
        elif (replaced := _REPLACED.fullmatch(entry)) and replaced[1] == name:
            yield place, False


def _put_back_all(parent: str, staging: str) -> None:
    old = os.path.join(staging, "old")
    with suppress(OSError):
        for name in os.listdir(old):
            if not os.path.lexists(os.path.join(parent, name)):
                os.rename(os.path.join(old, name), os.path.join(parent, name))


def _clear_replaced(place: str, target: str) -> None:
    """What release 0.1.0 moved aside: put it back, or delete it where a new output has taken its place."""
    if not any(os.path.lexists(os.path.join(place, name)) for name in (MANIFEST, CORPUS_JSON, "_SUCCESS")):
        return
    if os.path.lexists(target):
        _delete(place)
    else:
        os.rename(place, target)


def abandoned(entry: str) -> bool:
    """Whether this is the name of a staging directory whose process ran on this machine and is gone."""
    match = _STAGING.fullmatch(entry)
    return match is not None and match[1] == _machine() and process_gone(int(match[2]), int(match[3] or 0))


def _is_mine(entry: os.DirEntry[str]) -> bool:
    return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()


@cache
def _machine() -> str:
    """Eight digits for this host and, in a container, its own numbering of processes."""
    try:
        numbering = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbering = ""
    return hashlib.sha256(f"{socket.gethostname()} {numbering}".encode()).hexdigest()[:8]


def process_start(process: int) -> int:
    """When a process started, in the system's ticks, so that a number used again is told apart; 0 if unknown."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def process_gone(process: int, started: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    now = process_start(process)
    return bool(started and now and now != started)


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
