"""Where a run keeps its finished passes, so that the same command goes on after it was killed."""

from argparse import Namespace

from spectral_spark import storage
from spectral_spark.cli.flags import Flag

CHECKPOINT_FLAGS = (
    Flag("checkpoint-dir", "where finished passes are kept until the run is done, so that the same command resumes "
         "(default: a hidden directory beside the output)", metavar="DIR"),
    Flag("no-resume", "start anew, whatever an earlier run has left", switch=True),
)


def checkpoint_dir(settings: Namespace, output: str) -> str:
    """The directory for this run; emptied first when the run must not resume."""
    place = _place(settings, output)
    if settings.no_resume:
        storage.remove(place)
    return place


def forget(settings: Namespace, output: str) -> None:
    """Remove what is left of the checkpoints once the output is complete."""
    if not settings.checkpoint_dir:
        storage.remove(_place(settings, output))


def _place(settings: Namespace, output: str) -> str:
    if settings.checkpoint_dir:
        return str(settings.checkpoint_dir)
    parent, _, name = output.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.checkpoints" if parent else f".{name}.checkpoints"
