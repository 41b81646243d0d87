"""All topics on the terminal, in CSV and in JSON, from the model's files alone."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark.cli import main
from spectral_spark.files.directories import new_directory
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, NodeTable, TopicModelFiles, write_model_files

WORDS = tuple(f"w{number}" for number in range(40))


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., str]:
    """A saved model of 13 topics; topic t prefers word t, and topic 12 is the largest."""

    def save(words: tuple[str, ...] = WORDS) -> str:
        topics = np.ones((40, 13)) + 50.0 * np.eye(40, 13)
        topics /= topics.sum(axis=0)
        weights = np.arange(1.0, 14.0) / np.arange(1.0, 14.0).sum()
        nodes = NodeTable(((),), np.array([10]), np.array([10.0]), weights[None])
        summary = {"k": 13, "terms": 40, "documents": 10, "spectrum": [1.0] * 13}
        files = TopicModelFiles(topics, weights, words, nodes, summary)
        with new_directory(tmp_path / "model", MODEL_KIND, MODEL_VERSION, overwrite=True) as staging:
            write_model_files(staging, files)
        return str(tmp_path / "model")

    return save


def test_all_topics_are_listed_the_largest_first(model: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", model(), "--words", "3"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert "share of words" in heading
    assert [int(line.split()[0]) for line in lines] == list(range(12, -1, -1))
    assert lines[0].split()[:3] == ["12", "14.3%", "w12"]
    assert len(lines[0].split()) == 5


def test_csv_and_json_can_be_read_back(model: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    path = model()
    assert main(["topics", "--model", path, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert main(["topics", "--model", path, "--format", "json", "--words", "4"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [int(row["topic"]) for row in rows] == [row["topic"] for row in found] == list(range(12, -1, -1))
    assert sum(row["share"] for row in found) == pytest.approx(1.0)
    assert all(row["words"][0] == row["distinctive"][0] == f"w{row['topic']}" for row in found)
    assert found[0]["probabilities"][0] == pytest.approx(51 / 90)
    assert all(len(row["words"]) == 4 for row in found)


def test_words_cannot_drive_the_terminal(model: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    path = model(("\x1b[2J", "a\u202eb", "c\x9b1m", *WORDS[3:]))
    for kind in ("table", "csv", "json"):
        assert main(["topics", path, "--format", kind]) == 0
        said = capsys.readouterr().out
        assert not {"\x1b", "\u202e", "\x9b"} & set(said)
    assert json.loads(said)[-1]["words"][0] == "\x1b[2J"


def test_nothing_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", str(tmp_path / "none")]) == 2
    assert "there is nothing at" in capsys.readouterr().err
    assert main(["topics"]) == 2
    assert "topics needs --model" in capsys.readouterr().err


def test_a_closed_pipe_is_no_failure(model: Callable[..., str]) -> None:
    command = [sys.executable, "-m", "spectral_spark.cli", "topics", model(), "--format", "json", "--words", "40"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()                                  # as head does
    errors = process.stderr.read()
    assert process.wait(timeout=120) == 0, errors
    assert errors == b""
    process.stderr.close()


def test_no_spark_is_imported(model: Callable[..., str]) -> None:
    code = ("import sys; from spectral_spark.cli import main; "
            f"assert main(['topics', {model()!r}]) == 0; assert 'pyspark' not in sys.modules")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
