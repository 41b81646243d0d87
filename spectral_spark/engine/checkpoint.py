"""Results of finished passes, kept until the run is over, so that a killed run goes on where it was."""

import json
import logging
from collections.abc import Callable
from pathlib import PurePosixPath

import numpy as np

from spectral_spark import storage
from spectral_spark.errors import FormatError
from spectral_spark.storage import fingerprint

KIND, VERSION = "checkpoint", 1
_log = logging.getLogger(__name__)
Arrays = dict[str, np.ndarray]


class Checkpoints:
    """Remembers nothing: every step is computed."""

    def remember(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of a step: read back if it was finished before, computed (and kept) otherwise."""
        return compute()

    def clear(self) -> None:
        """Forget everything; called when the run is complete."""


class DirectoryCheckpoints(Checkpoints):
    """Steps as directories ``<root>/<key of input and settings>/<step>``, each complete or absent, with checksums.

    Parameters
    ----------
    root : where checkpoints live; on a cluster, storage that the next driver can reach.
    key : fingerprint of the input and of every setting that the results depend on. Steps of another key are not seen.
    """

    def __init__(self, root: str, key: str) -> None:
        self._home = f"{root.rstrip('/')}/{key[:32]}"
        self._key = key
        self.resumed: list[str] = []

    def remember(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        path = f"{self._home}/{PurePosixPath(step).name}"
        found = self._read(path, step)
        if found is not None:
            self.resumed.append(step)
            return found
        arrays = compute()
        about = {"step": step, "key": self._key, "arrays": sorted(arrays)}
        with storage.new_directory(path, KIND, VERSION, overwrite=True, about=about) as staging:
            for name, array in arrays.items():
                staging.write_array(name, np.asarray(array))
        return arrays

    def clear(self) -> None:
        storage.remove(self._home)

    def _read(self, path: str, step: str) -> Arrays | None:
        if not storage.exists(path):
            return None
        try:
            saved = storage.open_directory(path, KIND, VERSION)
            if saved.manifest.get("key") != self._key or saved.manifest.get("step") != step:
                raise FormatError(f"'{path}' belongs to another run")
            return {name: saved.read_array(name) for name in saved.manifest["arrays"]}
        except (FormatError, KeyError, ValueError) as error:
            _log.warning("checkpoint of step '%s' cannot be used (%s); the step is done again", step, error)
            return None


def run_key(*parts: object) -> str:
    """A key for a run from everything its results depend on."""
    return fingerprint(*(json.dumps(part, sort_keys=True, default=str) for part in parts))
