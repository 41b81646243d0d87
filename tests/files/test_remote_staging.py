"""Overwriting on a remote file system that renames directories: an interrupted run leaves what was there before."""

import os
from pathlib import Path

import pytest
from pyarrow import fs

from spectral_spark.files.remote_staging import recover, remote_staging, take_the_place


class Interrupted(fs.LocalFileSystem):
    """Ctrl-C arrives between the two renames of an overwrite."""

    def move(self, src: str, dest: str) -> None:
        if "/new/" in src:
            raise KeyboardInterrupt
        super().move(src, dest)


def overwrite(filesystem: fs.FileSystem, target: Path, text: str) -> None:
    with remote_staging(filesystem, str(target)) as staging:
        made = Path(staging) / "new" / target.name
        made.mkdir()
        (made / "text").write_text(text)
        take_the_place(filesystem, staging, str(target), lambda: None)


def test_an_overwrite_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    for text in ("first", "second"):
        overwrite(fs.LocalFileSystem(), tmp_path / "x", text)
        assert (tmp_path / "x" / "text").read_text() == text
        assert os.listdir(tmp_path) == ["x"]


def test_an_interrupted_overwrite_puts_the_old_output_back(tmp_path: Path) -> None:
    overwrite(fs.LocalFileSystem(), tmp_path / "x", "first")
    with pytest.raises(KeyboardInterrupt):
        overwrite(Interrupted(), tmp_path / "x", "second")
    assert recover(fs.LocalFileSystem(), str(tmp_path / "x"))
    assert (tmp_path / "x" / "text").read_text() == "first"
    assert os.listdir(tmp_path) == ["x"]
