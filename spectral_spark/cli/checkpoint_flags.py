"""The flags for checkpoints: where finished passes are kept, so that an interrupted command can be resumed."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from spectral_spark.cli.flags import Flag
from spectral_spark.engine.checkpoints import steps_outlive_runs
from spectral_spark.files import directories as storage

CHECKPOINT_FLAGS = (
    Flag("checkpoint-dir", "where finished passes are kept until the run is done, so that the same command resumes "
         "(default: a hidden directory beside the output)", metavar="DIR"),
    Flag("no-resume", "start from scratch; ignore and remove the finished passes of an earlier run", switch=True),
)


@contextmanager
def resuming(settings: Namespace, output: str) -> Iterator[str]:
    """The directory for finished passes, which are kept until the block has written the output.

    A directory given by the user may hold the passes of other runs; only those of this run are removed.
    """
    place = _place(settings, output)
    with steps_outlive_runs(anew=settings.no_resume):
        yield place
    if not settings.checkpoint_dir:
        storage.remove(place)


def _place(settings: Namespace, output: str) -> str:
    if settings.checkpoint_dir:
        return str(settings.checkpoint_dir)
    parent, _, name = output.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.checkpoints" if parent else f".{name}.checkpoints"
