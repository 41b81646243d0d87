"""Inputs of the job tests: the demo's notes, and a slice of the Enron archive."""

import tarfile
from pathlib import Path

from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo


def demo_notes(directory: Path, documents: int = 1500) -> Path:
    """The built-in corpus as a table of JSON lines."""
    path = directory / "notes.jsonl"
    write_demo(simulate_demo(documents), path)
    return path


def enron_slice(archive: Path, directory: Path, mails: int = 5000) -> Path:
    """Every so many-th mail of the archive, so that all mailboxes are in it."""
    path = directory / "enron_slice.tar.gz"
    with tarfile.open(archive, "r|gz") as source, tarfile.open(path, "w:gz", compresslevel=1) as target:
        number = 0
        for member in source:
            if not member.isfile():
                continue
            if number % (130_000 // mails) == 0 and number // (130_000 // mails) < mails:
                target.addfile(member, source.extractfile(member))
            number += 1
    return path
