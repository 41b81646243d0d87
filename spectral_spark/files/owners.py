"""Who writes an output on a remote file system: a small JSON file says so, as there are no locks there."""

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from spectral_spark.files.leftovers import process_gone, process_start


@dataclass(frozen=True)
class Owner:
    """The run that a mark or a lock file belongs to.

    Attributes
    ----------
    host, pid, started : its machine, its process, and when that process was started, in the system's ticks.
    since : when the file was written, in seconds since 1970.
    """

    host: str
    pid: int
    started: int
    since: float

    @property
    def here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def gone(self) -> bool:
        """Whether the run is known to have ended; nothing is known about other machines."""
        return self.here and process_gone(self.pid, self.started)

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.since))
        return f"process {self.pid} on {self.host}, since {when} UTC"


def this_owner() -> dict[str, Any]:
    """What a run writes about itself."""
    process = os.getpid()
    return {"host": socket.gethostname(), "pid": process, "started": process_start(process), "since": time.time()}


def read_owner(filesystem: fs.FileSystem, path: str) -> Owner | None:
    """Whose a mark or a lock file is; None where there is none, or none that says so."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError), filesystem.open_input_stream(path) as source:
        said = json.loads(source.read(1 << 16))
        return Owner(str(said["host"]), int(said["pid"]), int(said["started"]), float(said["since"]))
    return None
