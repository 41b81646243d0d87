"""Who writes an output on a remote file system: a small JSON file says so, as there are no locks there."""

import json
import os
import re
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
    application, attempt : on YARN, which application's driver it is, and how often that has been started; "" elsewhere.
    """

    host: str
    pid: int
    started: int
    since: float
    application: str = ""
    attempt: str = ""

    @property
    def here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def gone(self) -> bool:
        """Whether the run is known to have ended; of other machines, only what YARN has started again is known."""
        application, attempt = _yarn()
        if application and self.application == application:
            return self.attempt != attempt                  # YARN starts a driver again when the one before is gone
        return self.here and process_gone(self.pid, self.started)

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.since))
        return f"process {self.pid} on {self.host}, since {when} UTC"


def this_owner() -> dict[str, Any]:
    """What a run writes about itself."""
    process, (application, attempt) = os.getpid(), _yarn()
    return {"host": socket.gethostname(), "pid": process, "started": process_start(process), "since": time.time(),
            "application": application, "attempt": attempt}


def read_owner(filesystem: fs.FileSystem, path: str) -> Owner | None:
    """Whose a mark or a lock file is; None where there is none, or none that says so."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError), filesystem.open_input_stream(path) as source:
        said = json.loads(source.read(1 << 16))
        return Owner(str(said["host"]), int(said["pid"]), int(said["started"]), float(said["since"]),
                     str(said.get("application", "")), str(said.get("attempt", "")))
    return None


def _yarn() -> tuple[str, str]:
    """The application and the attempt whose container of YARN this process runs in; empty outside of YARN."""
    found = re.fullmatch(r"container_(?:e\d+_)?(\d+_\d+)_(\d+)_\d+", os.environ.get("CONTAINER_ID", ""))
    return (found[1], found[2]) if found else ("", "")
