import os
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.errors import InputError
from spectral_spark.ingest.archive import Member
from spectral_spark.ingest.input_files import directory_files

from .conftest import Ingest, paths_by_document, words_by_document


def test_the_folders_are_the_tree(run_ingest: Ingest, tmp_path: Path) -> None:
    root = tmp_path / "notes [old] {1}"
    files = {
        "top.txt": b"root words",
        "sales/north/a.txt": b"north words",
        "sales/b.md": "\ufeffsales größe".encode(),
        "sales/utf16.txt": "sales wide".encode("utf-16"),
        "legal/latin.txt": "caf\xe9 words".encode("latin-1"),
        "legal/page.html": b"<html><head><style>hidden</style></head><body>shown &amp; text</body></html>",
        "legal/empty.txt": b"",
        "legal/image.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "legal/large.txt": b"many words " * 1000,
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    os.symlink(root / "top.txt", root / "legal" / "link.txt")
    corpus = run_ingest("folders", root, max_document_bytes=10_000)
    assert words_by_document(corpus) == {
        "top.txt": {"root": 1, "words": 1},
        "sales/north/a.txt": {"north": 1, "words": 1},
        "sales/b.md": {"sales": 1, "größe": 1},
        "sales/utf16.txt": {"sales": 1, "wide": 1},
        "legal/latin.txt": {"café": 1, "words": 1},
        "legal/page.html": {"shown": 1, "text": 1},
    }
    assert paths_by_document(corpus) == {name: name.split("/")[:-1] for name in words_by_document(corpus)}
    assert corpus.manifest["dropped"] == {"empty": 1, "link": 1, "too_large": 1, "unreadable": 1}


def test_an_empty_folder_and_a_file_are_refused(run_ingest: Ingest, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    (empty / "deeper").mkdir(parents=True)
    with pytest.raises(InputError, match="contains no files"):
        run_ingest("folders", empty)
    (tmp_path / "file.txt").write_text("text")
    with pytest.raises(InputError, match="is a file"):
        run_ingest("folders", tmp_path / "file.txt")
    assert not (tmp_path / "corpus").exists()


def test_broken_html_and_closed_folders_are_counted(run_ingest: Ingest, tmp_path: Path) -> None:
    """One bad file of many does not stop the others."""
    root = tmp_path / "in"
    root.mkdir()
    (root / "bad.html").write_text(f"<html><body>word &#{'9' * 5000}; word</body></html>")
    (root / "good.html").write_text("<html><body>other words &#233;t&#233;</body></html>")
    corpus = run_ingest("folders", root, stop_words="none")
    assert set(words_by_document(corpus)) == {"good.html"}
    assert corpus.manifest["dropped"] == {"unreadable": 1}


def test_a_folder_that_cannot_be_listed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "shut").mkdir()
    (tmp_path / "open" / "a.txt").write_text("text")
    scandir = os.scandir

    def refusing(path: Any) -> Any:
        if os.fspath(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert list(directory_files(str(tmp_path), 1000)) == [
        Member("open/a.txt", b"text", None), Member("shut", None, "unreadable_folder")]
