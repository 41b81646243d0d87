"""Directories that are complete or not there, and what their readers refuse."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from spectral_spark.errors import FormatError, InputError
from spectral_spark.files import staging as staging_module
from spectral_spark.files import switching
from spectral_spark.files.directories import (
    Staging,
    exists,
    new_directory,
    open_directory,
    remove,
    replace_file,
    resolve,
    staged,
    write_file,
)
from spectral_spark.files.fingerprint import fingerprint
from spectral_spark.files.formats import EVALUATION_KIND
from spectral_spark.files.model_files import (
    MODEL_KIND,
    MODEL_VERSION,
    NodeTable,
    TopicModelFiles,
    read_model_files,
    write_model_files,
)


def write_example(path: Path, content: int = 1, **settings: bool) -> None:
    with new_directory(path, "example", 2, about={"made": "by a test"}, **settings) as staging:
        staging.write_json("about/numbers.json", {"ä": [1, 2.5, None]})
        staging.write_array("sums/first", np.arange(6.0).reshape(2, 3) * content)
        staging.write_table("table", pa.table({"path": [["a"], []]}))


@pytest.fixture(params=["renamed", "in place"])
def kind_of_store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Local file systems rename a finished directory; object stores cannot, and get the manifest last."""
    if request.param == "in place":
        for module in (staging_module, switching):
            monkeypatch.setattr(module, "renames_directories", lambda filesystem: False)
    return str(request.param)


def test_everything_comes_back(tmp_path: Path, kind_of_store: str) -> None:
    write_example(tmp_path / "x")
    saved = open_directory(tmp_path / "x", "example", 2)
    assert saved.manifest["made"] == "by a test"
    assert saved.names() == ["about/numbers.json", "sums/first.npy", "table/part-0.parquet"]
    assert saved.read_json("about/numbers.json") == {"ä": [1, 2.5, None]}
    assert np.array_equal(saved.read_array("sums/first"), np.arange(6.0).reshape(2, 3))
    assert saved.read_table("table")["path"].to_pylist() == [["a"], []]
    assert saved.has("sums/first.npy")
    assert not saved.has("sums/second.npy")
    assert os.listdir(tmp_path) == ["x"]


def test_a_failed_write_leaves_nothing(tmp_path: Path, kind_of_store: str) -> None:
    def write(error: type[BaseException]) -> None:
        with new_directory(tmp_path / "x", "example", 2) as staging:
            staging.write_json("part.json", {})
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            write(error)
        assert os.listdir(tmp_path) == []


def test_nothing_is_visible_as_complete_before_the_end(tmp_path: Path, kind_of_store: str) -> None:
    with new_directory(tmp_path / "x", "example", 2) as staging:
        staging.write_json("part.json", {})
        with pytest.raises((InputError, FormatError)):
            open_directory(tmp_path / "x", "example", 2)
    open_directory(tmp_path / "x", "example", 2)


def test_an_existing_path_is_kept_or_replaced_whole(tmp_path: Path, kind_of_store: str) -> None:
    write_example(tmp_path / "x")
    with pytest.raises(InputError, match="exists; choose another path"):
        write_example(tmp_path / "x")
    with new_directory(tmp_path / "x", "example", 2, overwrite=True) as staging:
        staging.write_json("left over.json", "from before")
    write_example(tmp_path / "x", 2, overwrite=True)
    assert not (tmp_path / "x" / "left over.json").exists()
    assert open_directory(tmp_path / "x", "example", 2).read_array("sums/first")[1, 2] == 10.0
    assert os.listdir(tmp_path) == ["x"]


def test_a_failed_overwrite_keeps_what_was_there(tmp_path: Path) -> None:
    write_example(tmp_path / "x")
    with pytest.raises(RuntimeError), new_directory(tmp_path / "x", "example", 2, overwrite=True):
        raise RuntimeError
    assert open_directory(tmp_path / "x", "example", 2).read_array("sums/first")[1, 2] == 5.0
    assert os.listdir(tmp_path) == ["x"]


def test_of_two_writers_at_once_the_second_is_refused(tmp_path: Path) -> None:
    def write_slowly() -> None:
        with new_directory(tmp_path / "x", "example", 2):
            other = threading.Thread(target=write_example, args=(tmp_path / "x",))
            other.start()
            other.join()

    with pytest.raises(InputError, match="exists"):
        write_slowly()
    assert open_directory(tmp_path / "x", "example", 2).has("sums/first.npy")
    assert os.listdir(tmp_path) == ["x"]


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_makes_is_not(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from spectral_spark.files.directories import staged\n"
        "with staged(sys.argv[1]) as place:\n"
        "    open(f'{place}/mail', 'w').close(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    for name in ("x", "other"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], check=False)
    (tmp_path / ".x.partial-0123abcd").mkdir()                   # nobody knows whose
    assert len(os.listdir(tmp_path)) == 2                        # the second has cleared away what the first left
    with staged(tmp_path / "x") as living:
        write_example(tmp_path / "x.json")
        with pytest.raises(RuntimeError), staged(tmp_path / "x"):
            raise RuntimeError
        assert Path(living).is_dir()
    assert sorted(os.listdir(tmp_path)) == [".x.partial-0123abcd", "x", "x.json"]


@pytest.mark.parametrize("name", ["about/numbers.json", "sums/first.npy", "table/part-0.parquet"])
def test_damage_is_noticed(tmp_path: Path, name: str) -> None:
    write_example(tmp_path / "x")
    file = tmp_path / "x" / name
    data = file.read_bytes()
    saved = open_directory(tmp_path / "x", "example", 2)
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        with pytest.raises(FormatError, match="differs from its manifest"):
            saved.read_bytes(name)
    file.unlink()
    with pytest.raises(FormatError, match="is missing"):
        saved.read_bytes(name)
    with pytest.raises(FormatError, match="has no 'other'"):
        saved.read_bytes("other")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (None, "not a complete example"),
        ("not json", "not JSON"),
        ("[]", "foreign directory"),
        ('{"kind": "other", "version": 1, "files": {}}', "is an other, not an example"),
        ('{"kind": "example", "version": 1}', "not an example"),
        ('{"kind": "example", "version": 3, "files": {}}', "format 3; this package reads up to 2"),
        ('{"kind": "example", "version": "1", "files": {}}', "format 1"),
    ],
)
def test_foreign_and_newer_directories_are_refused(tmp_path: Path, manifest: str | None, message: str) -> None:
    (tmp_path / "x").mkdir()
    if manifest is not None:
        (tmp_path / "x" / "manifest.json").write_text(manifest)
    with pytest.raises(FormatError, match=message):
        open_directory(tmp_path / "x", "example", 2)


def test_a_manifest_with_odd_entries_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    manifest = {"kind": "example", "version": 2, "files": {"a": 5, "b": {"bytes": 3}}}
    (tmp_path / "x" / "manifest.json").write_text(json.dumps(manifest))
    saved = open_directory(tmp_path / "x", "example", 2)
    for name in ("a", "b"):
        with pytest.raises(FormatError, match="damaged"):
            saved.read_bytes(name)


def test_older_formats_are_read(tmp_path: Path) -> None:
    write_example(tmp_path / "x")
    assert open_directory(tmp_path / "x", "example", 7).manifest["version"] == 2


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays"), new_directory(tmp_path / "x", "example", 2) as staging:
        staging.write_array("objects", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="JSON"), new_directory(tmp_path / "x", "example", 2) as staging:
        staging.write_json("number.json", float("nan"))
    with new_directory(tmp_path / "x", "example", 2) as staging:
        np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
        staging.write_bytes("objects.npy", (tmp_path / "objects.npy").read_bytes())
    with pytest.raises(ValueError, match="allow_pickle"):
        open_directory(tmp_path / "x", "example", 2).read_array("objects")


def test_paths_with_and_without_schemes(tmp_path: Path) -> None:
    for spelling in (f"{tmp_path}/m", f"file:{tmp_path}/m", f"file://{tmp_path}/m", tmp_path / "m", f"{tmp_path}/m/"):
        filesystem, inside = resolve(spelling)
        assert filesystem.type_name == "local"
        assert inside == f"{tmp_path}/m"
    assert resolve("models:v2/x")[1] == os.path.abspath("models:v2/x")
    with pytest.raises(InputError, match="cannot reach 'nothing://"):
        resolve("nothing://host/x")
    write_example(Path(f"{tmp_path}/run:1"))
    assert exists(f"{tmp_path}/run:1")
    remove(f"{tmp_path}/run:1")
    remove(f"{tmp_path}/run:1")
    assert os.listdir(tmp_path) == []


def test_a_single_file_appears_whole(tmp_path: Path) -> None:
    one, two = (json.dumps({"loss": loss, "unigram_loss": 3, "tokens": 5}).encode() for loss in (1, 2))
    write_file(tmp_path / "deep" / "x.json", one, EVALUATION_KIND)
    with pytest.raises(InputError, match="exists"):
        write_file(tmp_path / "deep" / "x.json", two, EVALUATION_KIND)
    write_file(tmp_path / "deep" / "x.json", two, EVALUATION_KIND, overwrite=True)
    assert (tmp_path / "deep" / "x.json").read_bytes() == two
    assert os.listdir(tmp_path / "deep") == ["x.json"]


def test_a_place_for_others_to_fill(tmp_path: Path) -> None:
    with staged(f"file:{tmp_path}/x") as place:
        Path(place, "part").write_text("by Spark")
        assert not (tmp_path / "x").exists()
    assert (tmp_path / "x" / "part").read_text() == "by Spark"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example(tmp_path / "x")

    def full(self: Staging, name: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Staging, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_example(tmp_path / "y")
    with pytest.raises(OSError, match="No space left"):
        write_example(tmp_path / "x", overwrite=True)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["x"]
    assert open_directory(tmp_path / "x", "example", 2).read_json("about/numbers.json")


def test_fingerprints_tell_things_apart() -> None:
    parts = [
        ("ab", "c"), ("a", "bc"), (b"ab", "c"), (np.array([1.0, 2.0]),), (np.array([1, 2]),),
        (np.array([[1.0, 2.0]]),), (np.array([1.0]), np.array([2.0])),
    ]
    assert len({fingerprint(*part) for part in parts}) == len(parts)
    strided = np.arange(10.0)[::2]
    assert fingerprint(strided) == fingerprint(strided.copy())
    with pytest.raises(TypeError, match="stable bytes"):
        fingerprint(np.array(["a"], dtype=object))


def model_files() -> TopicModelFiles:
    topics = np.array([[0.5, 0.0], [0.25, 0.75], [0.25, 0.25]])
    nodes = NodeTable(((), ("a",)), np.array([5, 3]), np.array([5.0, 3.0]), np.array([[0.6, 0.4], [0.1, 0.9]]))
    return TopicModelFiles(topics, np.array([0.6, 0.4]), ("x", "y", "ß"), nodes, {"k": 2}, {"class": "test"})


def save_model(path: Path, files: TopicModelFiles, **tables: pa.Table) -> None:
    with new_directory(path, MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, files)
        for name, table in tables.items():
            staging.write_table(name, table)


def test_a_model_comes_back(tmp_path: Path) -> None:
    files = model_files()
    save_model(tmp_path / "model", files)
    again = read_model_files(str(tmp_path / "model"))
    assert np.array_equal(again.topics, files.topics)
    assert np.array_equal(again.nodes.proportions, files.nodes.proportions)
    assert again.nodes.paths == files.nodes.paths
    assert again.nodes.levels == [0, 1]
    assert again.vocabulary == files.vocabulary
    assert (again.summary, again.metadata) == (files.summary, files.metadata)
    assert again.evaluation is None
    assert again.changes is None


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("vocabulary", pa.table({"term": ["x", "y"]}), "2 words in vocabulary/, 3 in topics/"),
        ("topics", pa.table({"weight": [0.6, 0.4], "terms": [[1.0], [0.3, 0.3, 0.4]]}), "unequal length"),
        ("topics", pa.table({"weight": [0.6, 0.4], "terms": [[1.0, 0.0, 0.0], None]}), "unequal length"),
        ("topics", pa.table({"weight": [1.0], "terms": [[0.5, None, 0.5]]}), "not finite"),
        ("topics", pa.table({"weight": [1.0], "terms": [[0.5, 0.0, 0.0]]}), "does not sum to one"),
        ("topics", pa.table({"weight": [1.0], "terms": [[1.5, -0.5, 0.0]]}), "negative"),
        ("topics", pa.table({"terms": [[1.0, 0.0, 0.0]]}), "no column 'weight'"),
        ("topics", pa.table({"weight": [1.0], "terms": [[1.0, 0.0, 0.0]]}), "nodes/ has 2 topics, topics/ 1"),
    ],
)
def test_models_whose_parts_do_not_fit_are_refused(tmp_path: Path, name: str, table: pa.Table, message: str) -> None:
    save_model(tmp_path / "model", model_files(), **{name: table})
    with pytest.raises(FormatError, match=message):
        read_model_files(str(tmp_path / "model"))


def test_a_file_that_people_edit_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "labels.toml"
    for text in (b"first", b"second"):
        replace_file(path, text)
        assert path.read_bytes() == text

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        replace_file(path, b"third")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["labels.toml"]
