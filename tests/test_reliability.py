"""Nothing lost, nothing half-finished: damaged checkpoints, a full disk, two writers, one night after the other."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.cli.checkpoint_flags import resuming
from spectral_spark.cli.run import main
from spectral_spark.engine.checkpoints import DirectoryCheckpoints, run_key, steps_outlive_runs
from spectral_spark.errors import InputError
from spectral_spark.files import directories as storage
from spectral_spark.files.locking import only_writer
from spectral_spark.files.model_files import read_model_files

REPOSITORY = Path(__file__).parents[1]
INGEST = "--source folders --min-documents 2 --holdout 10"
FIT = "--k 2 --refine-passes 0 --concentrations 0.5"


def test_a_finished_step_is_read_back_and_a_damaged_one_done_again(tmp_path: Path) -> None:
    key, calls = run_key("input", {"k": 3}), []

    def compute() -> dict[str, np.ndarray]:
        calls.append(1)
        return {"x": np.arange(5.0)}

    root = str(tmp_path / "steps")
    DirectoryCheckpoints(root, key).remember("moments", compute)
    again = DirectoryCheckpoints(root, key)
    np.testing.assert_array_equal(again.remember("moments", compute)["x"], np.arange(5.0))
    assert (len(calls), again.resumed) == (1, ["moments"])
    file = next((tmp_path / "steps").rglob("x.npy"))
    file.write_bytes(file.read_bytes()[:-8])
    np.testing.assert_array_equal(DirectoryCheckpoints(root, key).remember("moments", compute)["x"], np.arange(5.0))
    assert len(calls) == 2


def test_checkpoints_of_another_input_or_setting_are_not_used(tmp_path: Path) -> None:
    root = str(tmp_path / "steps")
    DirectoryCheckpoints(root, run_key("monday", {"k": 3})).remember("moments", lambda: {"x": np.zeros(1)})
    for other in (run_key("tuesday", {"k": 3}), run_key("monday", {"k": 4})):
        found = DirectoryCheckpoints(root, other).remember("moments", lambda: {"x": np.ones(1)})
        assert found["x"][0] == 1
    ours = DirectoryCheckpoints(root, run_key("monday", {"k": 3}))
    foreign = next(path for path in (tmp_path / "steps").iterdir() if path.name != run_key("monday", {"k": 3})[:32])
    mine = tmp_path / "steps" / run_key("monday", {"k": 3})[:32] / "moments"
    (mine / "manifest.json").write_bytes((foreign / "moments" / "manifest.json").read_bytes())
    assert ours.remember("moments", lambda: {"x": np.full(1, 7.0)})["x"][0] == 7


def test_a_second_writer_is_refused_and_a_dead_one_replaced(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with only_writer(target):
        code = (
            "import sys; from spectral_spark.files.locking import only_writer\n"
            f"try:\n    with only_writer({str(target)!r}): pass\nexcept ValueError as error: sys.exit(str(error))"
        )
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert other.returncode == 1
        assert f"another run is writing '{target}' (process {os.getpid()}" in other.stderr
    assert not (tmp_path / ".model.lock").exists()
    for left_by_a_killed_run in (json.dumps({"host": "here", "pid": 1}), ""):
        (tmp_path / ".model.lock").write_text(left_by_a_killed_run)
        with only_writer(target), pytest.raises(InputError, match=f"process {os.getpid()} on"), only_writer(target):
            pass


def test_a_lock_is_not_taken_on_a_file_that_is_gone_and_not_at_all_where_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flock, calls, target = fcntl.flock, [], tmp_path / "model"

    def late(handle: int, how: int) -> None:
        if not calls:
            (tmp_path / ".model.lock").unlink()             # the run before this one ends in between
        calls.append(how)
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with only_writer(target), pytest.raises(InputError, match="another run is writing"), only_writer(target):
        pass
    assert len(calls) == 3

    def unsupported(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with only_writer(target):
        assert "No locks available" in caplog.text


def test_steps_outlive_a_run_until_its_output_is_saved(tmp_path: Path) -> None:
    root, ours, others = str(tmp_path / "steps"), run_key("monday"), run_key("tuesday")
    DirectoryCheckpoints(root, others).remember("moments", lambda: {"x": np.zeros(1)})

    def run(value: float) -> float:
        steps = DirectoryCheckpoints(root, ours)
        found = steps.remember("moments", lambda: {"x": np.full(1, value)})["x"][0]
        steps.clear()
        return float(found)

    def fail_to_save(value: float) -> None:
        with steps_outlive_runs():
            assert run(value) == value
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        fail_to_save(1.0)
    with steps_outlive_runs():
        assert run(2.0) == 1
    with steps_outlive_runs():
        assert run(3.0) == 3
        assert run(4.0) == 3
    assert run(5.0) == 5
    with pytest.raises(OSError, match="disk"):
        fail_to_save(6.0)
    given = Namespace(checkpoint_dir=root, no_resume=True)
    with resuming(given, str(tmp_path / "model")) as place:
        assert (place, run(7.0)) == (root, 7)
    assert [path.name for path in (tmp_path / "steps").iterdir()] == [others[:32]]


def test_the_hidden_directory_of_steps_goes_with_the_run(tmp_path: Path) -> None:
    with resuming(Namespace(checkpoint_dir=None, no_resume=False), str(tmp_path / "model")) as place:
        assert place == str(tmp_path / ".model.checkpoints")
        DirectoryCheckpoints(place, run_key("settings changed since")).remember("moments", lambda: {"x": np.zeros(1)})
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_leaves_the_old_model_and_nothing_else(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not allow mounting a tmpfs")
    try:
        with storage.new_directory(small / "state", "thing", 1) as staging:
            staging.write_array("x", np.arange(100.0))
        with pytest.raises(OSError, match="No space left"):
            write_too_much(small / "state")
        saved = storage.open_directory(small / "state", "thing", 1)
        np.testing.assert_array_equal(saved.read_array("x"), np.arange(100.0))
        assert [path.name for path in small.iterdir()] == ["state"]
    finally:
        subprocess.run(["umount", str(small)], check=False)


def write_too_much(path: Path) -> None:
    with storage.new_directory(path, "thing", 1, overwrite=True) as staging:
        staging.write_array("x", np.zeros(10))
        staging.write_array("big", np.ones(1_000_000))


def night(
    run_date: str, store: Path, source: Path, place: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    settings = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "RETRY_SECONDS": "0",
        "INGEST_FLAGS": INGEST, "FIT_FLAGS": FIT,
    }
    return subprocess.run(
        [str(REPOSITORY / "conf" / "pipeline" / "nightly.sh"), run_date, str(store), str(source)], cwd=place,
        env={**os.environ, **settings, **environment}, capture_output=True, text=True, check=False, timeout=800,
    )


def write_day(folder: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    words = {"sea": ["sail", "boat", "wind", "rope", "deck"], "kitchen": ["oven", "flour", "salt", "dough", "spoon"]}
    for group, kind in words.items():
        (folder / group).mkdir(parents=True)
        for number in range(40):
            (folder / group / f"{seed}-{number}.txt").write_text(" ".join(rng.choice(kind, 15)))
    return folder


def undisturbed(store: Path, days: dict[str, Path], spark: Any) -> Path:
    """The same nights without a failure, verb by verb in one session; returns the last model."""
    before: Path | None = None
    for day, source in days.items():
        corpus, model = store / day / "corpus", store / day / "model"
        known = ["--vocabulary", str(before)] if before else []
        assert main(["ingest", "--input", str(source), "--output", str(corpus), *INGEST.split(), *known], spark) == 0
        verb = ["update", "--model", str(before), "--output"] if before else ["fit", *FIT.split(), "--model"]
        assert main([*verb, str(model), "--corpus", str(corpus)], spark) == 0
        before = model
    assert before is not None
    return before


def test_a_failed_save_repeats_no_pass_and_drift_can_fail_an_update(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        source = write_day(tmp_path / "in" / str(number), number)
        for at, file in enumerate(sorted(source.rglob("*.txt")) if number == 2 else ()):
            file.write_text(file.read_text() + (" zeppelin", " balloon", " glider", " kite")[at % 4] * 6)
        words = ["ingest", "--source", "folders", "--input", source, "--output", tmp_path / f"day{number}"]
        assert main([str(word) for word in [*words, "--min-documents", "2"]], spark) == 0
    steps, model, update = tmp_path / "steps", tmp_path / "model", tmp_path / "update"
    (steps / "of others").mkdir(parents=True)
    command = ["fit", "--corpus", tmp_path / "day1", "--model", model, "--k", 2, "--refine-passes", 0,
               "--concentrations", 0.5, "--checkpoint-dir", steps, "--overwrite"]
    done: list[list[str]] = []

    def full_disk(model: Any, *_: object) -> None:
        done.append([step["name"] for step in model.summary.passes])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("spectral_spark.cli.verbs.fit.save", full_disk)
        for flags in ([], ["--no-resume"]):
            assert main([str(word) for word in [*command, *flags]], spark) == 1
            assert len(list(steps.iterdir())) == 2
    assert main([str(word) for word in command], spark) == 0
    done.append([step["name"] for step in json.loads((model / "summary.json").read_text())["passes"]])
    assert ["moments" in passes for passes in done] == [True, True, False]
    assert [path.name for path in steps.iterdir()] == ["of others"]
    words = ["update", "--corpus", tmp_path / "day2", "--model", model, "--output", update, "--fail-on-drift"]
    assert main([str(word) for word in words], spark) == 2
    drift = json.loads((update / "changes.json").read_text())["drift"]
    assert (drift["drifted"], round(drift["unseen_share"], 2)) == (True, 0.29)
    days = [json.loads((tmp_path / name / "corpus.json").read_text())["dropped"] for name in ("day1", "day2")]
    corpus = json.loads((update / "summary.json").read_text())["extra"]["corpus"]
    assert corpus["name"] == "day1"
    assert corpus["dropped"] == {reason: days[0][reason] + days[1][reason] for reason in days[0]}


@pytest.mark.cluster
def test_a_night_that_fails_is_run_late(tmp_path: Path, spark: Any) -> None:
    """With a process of its own for every verb; ``tests/jobs/test_nightly.py`` has many more nights."""
    store, steps = tmp_path / "store", {"STEPS": "ingest model"}
    days = {f"2026-03-0{n}": write_day(tmp_path / "in" / str(n), n) for n in (1, 2)}
    first = night("2026-03-01", store, days["2026-03-01"], tmp_path, **steps)
    assert first.returncode == 0, first.stderr
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\n[ \"$1\" = update ] && exit 1\nexec spectral-spark \"$@\"\n")
    broken.chmod(0o755)
    failed = night("2026-03-02", store, days["2026-03-02"], tmp_path, SPECTRAL_SPARK=str(broken), **steps)
    assert failed.returncode == 1
    assert not (store / "run_date=2026-03-02" / "model").exists()
    late = night("2026-03-02", store, days["2026-03-02"], tmp_path)
    assert late.returncode == 0, late.stderr
    assert "corpus is there, skipped" in late.stdout
    again = night("2026-03-02", store / "", days["2026-03-02"], tmp_path)
    assert again.returncode == 0, again.stderr                                    # all done, nothing to do
    assert (store / "run_date=2026-03-02" / "report.html").exists()
    model = store / "run_date=2026-03-02" / "model"
    summary = json.loads((model / "summary.json").read_text())
    assert len(summary["sources"]) == 2
    manifests = [json.loads((store / f"run_date={day}" / "corpus" / "corpus.json").read_text()) for day in days]
    counted = summary["documents"] + sum(summary["dropped"].values())
    assert counted == sum(manifest["documents"]["train"] for manifest in manifests)
    assert len({manifest["vocabulary_fingerprint"] for manifest in manifests}) == 1
    assert ["unseen" in manifest for manifest in manifests] == [False, True]
    expected = read_model_files(str(undisturbed(tmp_path / "other", days, spark)))
    np.testing.assert_array_equal(read_model_files(str(model)).topics, expected.topics)
