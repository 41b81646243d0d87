"""Results of finished passes, kept until the run is done, so that an interrupted run can be resumed."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from spectral_spark.errors import FormatError, SpectralError
from spectral_spark.files import directories as storage
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.files.formats import CHECKPOINT_KIND, CHECKPOINT_VERSION
from spectral_spark.files.leftovers import new_staging
from spectral_spark.files.paths import is_local

_ATTEMPTS = 5
_log = logging.getLogger(__name__)
Arrays = dict[str, np.ndarray]


@dataclass
class _Command:
    """A block that runs are part of: whether they start from scratch, and the steps of those that are done."""

    anew: bool
    over: list[str] = field(default_factory=list)


_command: ContextVar[_Command | None] = ContextVar("command", default=None)


@contextmanager
def steps_outlive_runs(*, anew: bool = False) -> Iterator[None]:
    """Keep the steps of the runs inside the block until the block ends without an error.

    Saving a model may fail after the run itself has succeeded; with this block, its passes need not be repeated.
    Outside of such a block, a run removes its steps when it is done. With ``anew``, the steps that earlier runs of the
    same input and settings have left are removed first, and nothing else.
    """
    command = _Command(anew)
    token = _command.set(command)
    try:
        yield
    finally:
        _command.reset(token)
    for home in command.over:
        _forget(home)


class Checkpoints:
    """Keeps nothing: every step is computed."""

    def remember(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        """The arrays of a step: read from disk if it was finished before, otherwise computed and kept."""
        return compute()

    def clear(self) -> None:
        """Remove all steps; called when the run is done (see :func:`steps_outlive_runs`)."""


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
        command = _command.get()
        if command is not None and command.anew:
            _forget(self._home)

    def remember(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        path = f"{self._home}/{PurePosixPath(step).name}"
        found = self._read(path, step)
        if found is not None:
            self.resumed.append(step)
            return found
        arrays = compute()
        self._write(path, step, arrays)
        return arrays

    def _write(self, path: str, step: str, arrays: Arrays) -> None:
        """Write a step. Another run of the same input and settings may finish meanwhile and remove the directory."""
        about = {"step": step, "key": self._key, "arrays": sorted(arrays)}
        for _ in range(_ATTEMPTS):
            with suppress(FileNotFoundError):
                with storage.new_directory(
                    path, CHECKPOINT_KIND, CHECKPOINT_VERSION, overwrite=True, about=about
                ) as staging:
                    for name, array in arrays.items():
                        staging.write_array(name, np.asarray(array))
                return
        _log.warning("step '%s' was not kept: other runs keep removing '%s'", step, self._home)

    def clear(self) -> None:
        command = _command.get()
        if command is not None:
            command.over.append(self._home)
        else:
            _forget(self._home)

    def _read(self, path: str, step: str) -> Arrays | None:
        if not storage.exists(path):
            return None
        try:
            saved = storage.open_directory(path, CHECKPOINT_KIND, CHECKPOINT_VERSION)
            if saved.manifest.get("key") != self._key or saved.manifest.get("step") != step:
                raise FormatError(f"'{path}' belongs to another run")
            return {name: saved.read_array(name) for name in saved.manifest["arrays"]}
        except (SpectralError, OSError, KeyError, TypeError, ValueError) as error:
            _log.warning("the checkpoint of step '%s' cannot be used (%s); the step is repeated", step, error)
            return None


def _forget(home: str) -> None:
    """Remove the steps of a run atomically, so that other runs that use them find a whole step or none."""
    filesystem, inside = storage.resolve(home)
    if not is_local(filesystem):
        storage.remove(home)
        return
    root, name = os.path.split(inside)
    if os.path.isdir(inside):
        staging = new_staging(root, name)
        with suppress(FileNotFoundError):
            os.rename(inside, os.path.join(staging, "new", name))
        shutil.rmtree(staging, ignore_errors=True)


def run_key(*parts: object) -> str:
    """The key of a run: a hash of everything that its results depend on."""
    return fingerprint(*(json.dumps(part, sort_keys=True, default=str) for part in parts))
