"""Overwriting, links, kills and damage: what is not ours is never touched, and only our errors come out of a load."""

import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from spectral_spark.cli.run import main
from spectral_spark.engine.checkpoints import DirectoryCheckpoints, run_key
from spectral_spark.errors import FormatError, InputError, SpectralError
from spectral_spark.files import staging
from spectral_spark.files.directories import new_directory, open_directory, staged, write_file
from spectral_spark.files.formats import CORPUS_KIND, MODEL_KIND, MODEL_VERSION, SCORES_KIND
from spectral_spark.files.leftovers import recover
from spectral_spark.files.locking import only_writer
from spectral_spark.files.model_files import NodeTable, TopicModelFiles, read_model_files, write_model_files
from spectral_spark.files.overwriting import check_apart, check_output
from spectral_spark.files.paths import exists, resolve
from spectral_spark.files.safe_reading import parse_array, parse_json, parse_table


def write_model(path: Path, overwrite: bool = False) -> None:
    topics = np.array([[0.5, 0.0], [0.25, 0.75], [0.25, 0.25]])
    nodes = NodeTable(((), ("a",)), np.array([5, 3]), np.array([5.0, 3.0]), np.array([[0.6, 0.4], [0.1, 0.9]]))
    files = TopicModelFiles(topics, np.array([0.6, 0.4]), ("x", "y", "z"), nodes, {"k": 2}, {"class": "test"})
    with new_directory(path, MODEL_KIND, MODEL_VERSION, overwrite=overwrite) as place:
        write_model_files(place, files)


def test_only_an_earlier_output_of_the_same_kind_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match=r"a directory of other things \('letter.txt'\); overwriting replaces only"):
        write_model(tmp_path / "home", overwrite=True)
    write_model(tmp_path / "model")
    for kind in (CORPUS_KIND, SCORES_KIND):
        with pytest.raises(InputError, match="is a topic model; overwriting replaces only"):
            check_output(tmp_path / "model", kind, True)
    write_model(tmp_path / "model", overwrite=True)
    assert (tmp_path / "home" / "letter.txt").read_text() == "mine"


def test_an_output_with_a_strange_file_in_it_is_not_overwritten(tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    (tmp_path / "model" / ".DS_Store").touch()
    (tmp_path / "model" / "notes").mkdir()
    write_model(tmp_path / "model", overwrite=True)
    for name in ("thesis.txt", "topics/thesis.txt"):
        (tmp_path / "model" / name).write_text("mine")
        with pytest.raises(InputError, match=f"also holds '{name}', which is not part of it"):
            write_model(tmp_path / "model", overwrite=True)
        (tmp_path / "model" / name).unlink()
    with staged(tmp_path / "corpus", CORPUS_KIND) as place:
        (Path(place) / "documents").mkdir()
        (Path(place) / "corpus.json").write_text(json.dumps({"kind": CORPUS_KIND, "files": {}}))
    (tmp_path / "corpus" / "documents" / "part-9.parquet").touch()      # damaged: overwriting it is the remedy
    check_output(tmp_path / "corpus", CORPUS_KIND, True)
    (tmp_path / "corpus" / "raw").mkdir()
    (tmp_path / "corpus" / "raw" / "letter.txt").touch()
    with pytest.raises(InputError, match=r"also holds 'raw/letter\.txt'"):
        check_output(tmp_path / "corpus", CORPUS_KIND, True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_written_into_a_complete_output(tmp_path: Path, overwrite: bool) -> None:
    write_model(tmp_path / "model")
    before = sorted(path for path in tmp_path.rglob("*"))
    for inside in (tmp_path / "model" / "scores", tmp_path / "model" / "topics" / "a" / "b"):
        with pytest.raises(InputError, match=r"lies inside a topic model, '.*/model'"):
            check_output(inside, SCORES_KIND, overwrite)
        assert main(["demo", "--output", str(inside), *(["--overwrite"] if overwrite else [])]) == 2
    assert main(["demo", "--output", "/"]) == 2
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_remote_file_appears_complete_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = fs._MockFileSystem()                           # Arrow's file system in memory, which can move files
    monkeypatch.setattr(staging, "output_target", lambda path: (remote, path))
    monkeypatch.setattr(staging, "check_output", lambda *_: None)
    write_file("reports/r.html", b"old")
    with pytest.raises(TypeError):
        write_file("reports/r.html", object())              # type: ignore[arg-type]
    listed = [info.path for info in remote.get_file_info(fs.FileSelector("reports"))]
    assert listed == ["reports/r.html"]
    with remote.open_input_stream("reports/r.html") as source:
        assert source.read() == b"old"
    write_file("reports/r.html", b"new", overwrite=True)
    with remote.open_input_stream("reports/r.html") as source:
        assert source.read() == b"new"


def test_an_output_is_kept_apart_from_its_inputs(tmp_path: Path) -> None:
    write_model(tmp_path / "all" / "model")
    (tmp_path / "link").symlink_to(tmp_path / "all")
    for output, how in ((tmp_path / "all", "contains"), (tmp_path / "link", "contains"),
                        (tmp_path / "link" / "model", "is"), (tmp_path / "all" / "model" / "topics", "lies inside")):
        with pytest.raises(InputError, match=f"{how} the input --model"):
            check_apart(output, {"--corpus": None, "--model": tmp_path / "all" / "model"})
    check_apart(tmp_path / "all" / "model2", {"--model": tmp_path / "all" / "model"})


def test_links_are_followed_by_outputs_and_never_by_locks(tmp_path: Path) -> None:
    write_model(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    write_model(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(InputError, match=r"is a symbolic link to .*nowhere"):
        write_model(tmp_path / "dangling")
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".out.lock").symlink_to("victim")
    with pytest.raises(InputError, match="cannot be the lock"), only_writer(tmp_path / "out"):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


def test_staging_is_private_and_the_result_is_not(tmp_path: Path) -> None:
    with staged(tmp_path / "x") as place:
        hidden = Path(place).parents[1]
        assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    usual = tmp_path / "usual"
    usual.mkdir()
    assert (tmp_path / "x").stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_kill_at_any_rename_leaves_a_model_under_its_name(tmp_path: Path, renames: int) -> None:
    write_model(tmp_path / "m")
    code = (
        "import os, signal, sys; from spectral_spark.files.directories import new_directory\n"
        "rename, left = os.rename, [int(sys.argv[2])]\n"
        "def counted(a, b):\n"
        "    try:\n        rename(a, b)\n    except OSError:\n        raise\n"
        "    left[0] -= 1\n"
        "    if left[0] == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.rename = counted\n"
        "with new_directory(sys.argv[1], 'spectral-hdp-model', 1, overwrite=True) as staging:\n"
        "    staging.write_json('new.json', {})\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m"), str(renames)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert exists(tmp_path / "m")
    assert open_directory(tmp_path / "m", MODEL_KIND, 1).has("new.json") == (renames == 2)
    write_model(tmp_path / "other")
    assert sorted(os.listdir(tmp_path)) == ["m", "other"]


def test_what_release_0_1_0_moved_aside_is_put_back(tmp_path: Path) -> None:
    write_model(tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / ".x.replaced-0123abcd")
    assert recover(str(tmp_path / "x"))
    assert os.listdir(tmp_path) == ["x"]


def test_many_runs_share_a_checkpoint_directory(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def fit() -> None:
        try:
            for _ in range(5):
                steps = DirectoryCheckpoints(str(tmp_path / "steps"), run_key("same"))
                for step in ("basis", "moments"):
                    found = steps.remember(step, lambda: {"x": np.arange(50.0), "y": np.ones(3)})
                    assert found["x"].sum() == 1225
                steps.clear()
        except BaseException as error:
            errors.append(error)

    runs = [threading.Thread(target=fit) for _ in range(24)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert errors == []


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "", "\udcff"])
def test_impossible_paths_are_refused(path: str) -> None:
    with pytest.raises(InputError, match="path"):
        resolve(path)


@pytest.mark.parametrize(("path", "message"), [
    ("S3A://bucket/model", "'S3A://bucket/model': write its scheme in lower case, 's3a:'"),
    ("File:///tmp/model", "write its scheme in lower case, 'file:'"),
    ("s3a:/bucket/model", "'s3a:/bucket/model' names no bucket; write s3a://BUCKET/PATH"),
    ("gs:///model", "names no bucket; write gs://BUCKET/PATH"),
    ("s3://", "names no bucket; write s3://BUCKET/PATH"),
])
def test_misspelt_addresses_are_refused_before_anything_is_asked(path: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        resolve(path)


def test_sizes_are_bounded_before_anything_is_allocated() -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }"
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    with pytest.raises(FormatError, match="promises 1152921504606846976"):
        parse_array(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header, "a.npy")
    open_ended = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, ".ljust(117) + b"\n"
    with pytest.raises(FormatError, match="not an array that this package writes"):
        parse_array(b"\x93NUMPY\x01\x00" + len(open_ended).to_bytes(2, "little") + open_ended, "a.npy")
    with pytest.raises(FormatError, match="not a complete Parquet"):
        parse_table(b"PAR1" + b"x" * 7 + b"PAR1", "a.parquet")
    for text in (b"[" * 200_000, b"NaN", b"1e999", b"\xff"):
        with pytest.raises(FormatError, match="not JSON"):
            parse_json(text, "a.json")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_only_our_errors_come_out_of_a_damaged_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Files are changed and the manifest made to agree, so that the checksums do not catch it."""
    path = tmp_path_factory.mktemp("fuzz") / "m"
    write_model(path)
    manifest = json.loads((path / "manifest.json").read_text())
    name = data.draw(st.sampled_from(sorted(manifest["files"])))
    content = bytearray((path / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.sampled_from([len(content), len(content) // 2, 15]))]
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (path / name).write_bytes(content)
    (path / "manifest.json").write_text(json.dumps(manifest))
    with suppress(SpectralError):
        read_model_files(str(path))
