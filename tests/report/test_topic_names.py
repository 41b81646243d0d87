"""Names of topics: distinctive words, labels that people gave, hostile ones included."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spectral_spark.cli import main
from spectral_spark.errors import InputError
from spectral_spark.files.directories import new_directory
from spectral_spark.files.labels_file import LABELS_TOML, checked_labels, labels_text, parse_labels
from spectral_spark.files.model_files import (
    MODEL_KIND,
    MODEL_VERSION,
    NodeTable,
    TopicModelFiles,
    read_model_files,
    write_model_files,
)
from spectral_spark.report.page import render
from spectral_spark.report.topic_names import find_topic, measured_words, naming_prompt, suggested_names, topic_names

WORDS = ("the", "contract", "contracts", "gas", "pipe", "wind", "sail", "boat", "harbour", "rare")
HOSTILE = '</script><script>alert("x")</script>\x1b[2J\u202e & "quoted" \\'


@pytest.fixture
def files() -> TopicModelFiles:
    first = np.array([30, 20, 18, 15, 10, 1, 1, 1, 1, 0.001])
    second = np.array([30, 1, 1, 1, 1, 20, 18, 15, 10, 0.001])
    third = np.array([40, 5, 5, 5, 5, 5, 5, 5, 5, 0.5])
    topics = np.stack([column / column.sum() for column in (first, second, third)], axis=1)
    weights = np.array([0.5, 0.3, 0.2])
    nodes = NodeTable(((),), np.array([10]), np.array([10.0]), weights[None])
    summary = {"k": 3, "terms": 10, "documents": 10, "spectrum": [1.0] * 3}
    return TopicModelFiles(topics, weights, WORDS, nodes, summary)


def saved(files: TopicModelFiles, path: Path) -> str:
    with new_directory(path, MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, files)
    return str(path)


def test_names_are_distinctive_short_and_different(files: TopicModelFiles) -> None:
    names = suggested_names(files, 2)
    assert names[0] == "contract gas"                      # neither 'the', nor 'contracts' beside 'contract'
    assert names[1] == "wind sail"
    assert len(set(names)) == 3


def test_measures_order_the_words_differently(files: TopicModelFiles) -> None:
    assert measured_words(files, 0, "probability", 1) == ["the"]
    assert measured_words(files, 0, "frex", 1) == ["contract"]
    assert "the" not in measured_words(files, 1, "lift", 3)
    assert measured_words(files, 2, "lift", 1) == ["rare"]
    assert measured_words(files, 1, "relevance", 2) == ["wind", "sail"]


def test_topics_are_found_by_number_and_label(files: TopicModelFiles) -> None:
    named = replace(files, labels={1: "Sailing"})
    assert [find_topic(text, named) for text in ("2", "sailing", "Sailing ")] == [2, 1, 1]
    with pytest.raises(InputError, match="did you mean 'Sailing'"):
        find_topic("Sailling", named)
    with pytest.raises(InputError, match="topics 0 to 2"):
        find_topic("7", named)


@pytest.mark.parametrize("label", [HOSTILE, "ünïcode ✓", 'a "b" \\n', "\t tabs \n lines"])
def test_labels_survive_the_file(label: str) -> None:
    text = labels_text({1: label}, {0: "x\n[topics]", 1: "y", 2: "z"})
    assert parse_labels(text.encode(), "labels.toml", 3) == {1: " ".join(label.split())}


@pytest.mark.parametrize(("content", "message"), [
    ("[topics]\n3 = 'x'", "no topic '3'"), ("[topics]\nx = 'y'", "no topic 'x'"), ("[topics]\n0 = 5", "is 5"),
    ("0 = 'x'", "may only have a table"), ("[topics", "not valid TOML"), (f"[topics]\n0 = '{'x' * 201}'", "201"),
])
def test_wrong_files_of_labels_are_refused(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_labels(content.encode(), "labels.toml", 3)


def test_empty_labels_are_none() -> None:
    assert checked_labels({0: " ", "2": "two"}, 3) == {2: "two"}


def test_labels_are_written_edited_and_shown(
    files: TopicModelFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(files, tmp_path / "model")
    assert main(["labels", path, "--prompt", str(tmp_path / "prompt.txt")]) == 0
    text = Path(path, LABELS_TOML).read_text()
    assert '0 = "contract gas pipe"' in text
    assert "topic 1 (30.0%): frequent: the wind" in (tmp_path / "prompt.txt").read_text()
    (tmp_path / "prompt.txt").write_text("mine")
    assert main(["labels", path, "--prompt", str(tmp_path / "prompt.txt")]) == 2
    assert (tmp_path / "prompt.txt").read_text() == "mine"
    Path(path, LABELS_TOML).write_text(text.replace("contract gas pipe", "Gas \\u001b[2J contracts"))
    assert topic_names(read_model_files(path))[0] == "Gas \x1b[2J contracts"
    capsys.readouterr()
    assert main(["topics", path]) == 0
    said = capsys.readouterr().out
    assert "Gas \\x1b[2J contracts" in said
    assert "\x1b" not in said
    Path(path, LABELS_TOML).write_text("[topics]\n9 = 'x'\n")
    assert main(["topics", path]) == 2
    assert "there is no topic '9'" in capsys.readouterr().err


def test_hostile_labels_cannot_leave_the_page(files: TopicModelFiles) -> None:
    page = render(replace(files, labels={0: HOSTILE}), "title")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "\\u003cscript\\u003ealert" in page


def test_the_prompt_has_every_topic(files: TopicModelFiles) -> None:
    assert all(f"topic {topic} (" in naming_prompt(files) for topic in range(3))
