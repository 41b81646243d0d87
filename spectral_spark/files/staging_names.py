"""Names of outputs under construction, which tell whose they are, so that those of killed processes can be removed."""

import hashlib
import os
import re
import shutil
import socket
import uuid
from contextlib import suppress
from functools import cache


def partial_name(name: str) -> str:
    """A new hidden name beside ``name`` that no other writer has."""
    return f".{name}.partial-{_machine()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def sweep(parent: str, name: str) -> None:
    """Delete what processes of this machine that no longer run left behind beside a local output."""
    pattern = re.compile(re.escape(f".{name}.partial-{_machine()}-") + r"(\d+)-[0-9a-f]{8}")
    with suppress(OSError):
        for entry in os.listdir(parent):
            match = pattern.fullmatch(entry)
            if match and _gone(int(match[1])):
                _delete(os.path.join(parent, entry))


@cache
def _machine() -> str:
    """Eight digits for this host and, in a container, its own numbering of processes."""
    try:
        numbering = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbering = ""
    return hashlib.sha256(f"{socket.gethostname()} {numbering}".encode()).hexdigest()[:8]


def _gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
