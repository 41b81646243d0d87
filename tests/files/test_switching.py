"""Overwriting where directories cannot be renamed: the old output is readable until the new one counts."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from spectral_spark.errors import InputError, StoreError
from spectral_spark.files import staging, switching
from spectral_spark.files.directories import exists, new_directory, open_directory
from spectral_spark.files.owners import this_owner

NOBODY = 2**22 + 1                  # larger than any process number


class Killed(BaseException):
    """Stands for the end of the process: nothing tidies up after it."""


@pytest.fixture(autouse=True)
def like_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (staging, switching):
        monkeypatch.setattr(module, "renames_directories", lambda filesystem: False)


def write(path: Path, value: int, *names: str) -> None:
    with new_directory(path, "example", 1, overwrite=True) as made:
        made.write_array("numbers", np.full(3, value))
        for name in names:
            made.write_table(name, pa.table({"value": [value]}))


def read(path: Path) -> int:
    return int(open_directory(path, "example", 1).read_array("numbers")[0])


def killed_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """The process ends in its step-th change of the file system from now on; returns how many there were."""
    seen = [0]

    def counted(change: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **named: object) -> object:
            seen[0] += 1
            if seen[0] >= step:
                raise Killed
            return change(*arguments, **named)

        return run

    class Counted:
        def __init__(self, inner: fs.FileSystem) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> object:
            found = getattr(self._inner, name)
            changes = ("create_dir", "delete_dir", "delete_file", "move", "open_output_stream")
            return counted(found) if name in changes else found

    inner = switching.switched.__wrapped__              # type: ignore[attr-defined]

    def dying(filesystem: fs.FileSystem, *rest: object) -> object:
        return staging.contextmanager(inner)(Counted(filesystem), *rest)

    monkeypatch.setattr(staging, "switched", dying)
    return lambda: seen[0]


def test_a_run_killed_anywhere_leaves_the_old_output_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes, steps = [], 0
    while True:
        steps += 1
        path = tmp_path / str(steps) / "x"
        write(path, 1, "old", "both")
        with monkeypatch.context() as patched:
            owner = this_owner() | {"pid": NOBODY}
            patched.setattr(switching, "this_owner", lambda: owner)         # noqa: B023
            killed_at(patched, steps)
            try:
                write(path, 2, "both", "new")
            except Killed:
                pass
            else:
                break
        outcomes.append(read(path))
        files = {f"{name}/part-0.parquet" for name in (("old", "both"), ("both", "new"))[outcomes[-1] - 1]}
        assert set(open_directory(path, "example", 1).names()) == files | {"numbers.npy"}
        write(path, 3)
        assert os.listdir(path.parent) == ["x"]         # what was left is swept
        assert read(path) == 3
    assert outcomes == sorted(outcomes)                 # first the old one, and from the switch on the new one
    assert set(outcomes) == {1, 2}


def test_two_readers_may_finish_the_work_of_a_killed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, target = fs.LocalFileSystem(), str(tmp_path / "x")

    class Slow:
        """A reader that another one overtakes, as soon as it has looked at what is there."""

        def get_file_info(self, what: object) -> object:
            found = files.get_file_info(what)
            if isinstance(what, fs.FileSelector) and what.base_dir == target:
                switching._take_place(files, target)
            return found

        def __getattr__(self, name: str) -> object:
            return getattr(files, name)

    write(tmp_path / "x", 1, "old", "both")
    with monkeypatch.context() as patched:
        patched.setattr(switching, "_take_place", lambda *_: None)
        write(tmp_path / "x", 2, "both", "new")
    switching._take_place(Slow(), target)                       # type: ignore[arg-type]
    assert read(tmp_path / "x") == 2
    assert set(open_directory(tmp_path / "x", "example", 1).names()) == {
        "both/part-0.parquet", "new/part-0.parquet", "numbers.npy"}
    assert os.listdir(tmp_path) == ["x"]


def test_a_reader_waits_for_a_living_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switching, "_PATIENCE", 0.3)
    write(tmp_path / "x", 1)
    switch = {"version": ".x.version-0", "files": ["manifest.json"]}
    (tmp_path / ".x.switch.json").write_text(json.dumps(switch | this_owner()))
    with pytest.raises(StoreError, match=r"just replacing .*process"):
        read(tmp_path / "x")
    with pytest.raises(StoreError, match="just replacing"):
        write(tmp_path / "x", 2)


@pytest.mark.parametrize("switch", [
    "{", "[]", json.dumps({"version": "../elsewhere", "files": []}),
    json.dumps({"version": ".y.version-1", "files": []}),
    json.dumps({"version": ".x.version-1", "files": ["gone"]}),
])
def test_a_switch_file_that_leads_nowhere_is_refused_and_changes_nothing(tmp_path: Path, switch: str) -> None:
    write(tmp_path / "x", 1)
    before = sorted(os.listdir(tmp_path / "x"))
    (tmp_path / ".x.switch.json").write_text(switch)
    with pytest.raises(StoreError, match=r"remove"):
        exists(tmp_path / "x")
    assert sorted(os.listdir(tmp_path / "x")) == before


def test_versions_of_other_machines_are_swept_after_a_week(tmp_path: Path) -> None:
    write(tmp_path / "x", 1)
    for name, days in (("young", 1), ("old", 8)):
        place = tmp_path / f".x.version-{name}"
        place.mkdir()
        owner = {"host": "elsewhere", "pid": 1, "started": 1, "since": time.time() - days * 86_400}
        (place / "_unfinished.json").write_text(json.dumps(owner))
    write(tmp_path / "x", 2)
    assert sorted(os.listdir(tmp_path)) == [".x.version-young", "x"]


def test_only_one_of_two_runs_switches(tmp_path: Path) -> None:
    write(tmp_path / "x", 1)
    files, target = fs.LocalFileSystem(), str(tmp_path / "x")

    def replace_it() -> None:
        with switching.switched(files, target, "example", "x") as version:
            (Path(version) / "numbers").write_text("2")
            switching.put_once(files, switching.switch_file(target), this_owner())

    with pytest.raises(InputError, match="another run is replacing"):
        replace_it()
    assert sorted(os.listdir(tmp_path)) == [".x.switch.json", "x"]
    (tmp_path / ".x.switch.json").unlink()
    assert read(tmp_path / "x") == 1
