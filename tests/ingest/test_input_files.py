from collections.abc import Iterator

import pytest
from pyarrow import fs

from spectral_spark.ingest import input_files
from spectral_spark.ingest.archive import Member
from spectral_spark.ingest.input_files import _unique, directory_files


@pytest.mark.parametrize(("given", "names"), [
    (["a", "a", "a#2"], ["a", "a#2", "a#2#2"]), (["a#2", "a", "a", "a"], ["a#2", "a", "a#3", "a#4"]),
])
def test_names_are_unique_even_if_they_look_numbered(given: list[str], names: list[str]) -> None:
    assert [member.name for member in _unique(Member(name, None, None) for name in given)] == names


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.FileSystem]:
    """A file system that is not the local one."""
    filesystem = fs._MockFileSystem()
    monkeypatch.setattr(input_files, "resolve", lambda path: (filesystem, path))
    return filesystem


def test_packed_files_of_a_remote_directory_are_not_unpacked(remote: fs.FileSystem) -> None:
    remote.create_dir("notes")
    with remote.open_output_stream("notes/a.txt.gz", compression=None) as sink:
        sink.write(b"\x1f\x8b as it is")
    assert list(directory_files("notes", 100)) == [Member("a.txt.gz", b"\x1f\x8b as it is", None)]
