"""infer on the command line: wrong inputs are told in a sentence, and no text of a document leaves with an error."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from spectral_spark.cli import main
from spectral_spark.errors import InputError, SettingsError
from spectral_spark.files.directories import new_directory
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, NodeTable, TopicModelFiles, write_model_files
from spectral_spark.text.language_tokeniser import OwnTokeniser, load_tokeniser, own_words
from spectral_spark.text.text_recipe import TextCounter

TOKENISERS = """
def fails(text): raise ValueError("cannot read: " + text)
def leaves(text): raise SystemExit(text)
def numbers(text): return [1, None]
def whole(text): return text
def halves(text): return ["a\\ud800"]
def split(text): return text.split()
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model of two topics and a tree with one group."""
    topics = np.array([[6, 4, 1, 1], [1, 1, 6, 4]], float).T
    nodes = NodeTable(((), ("coast",)), np.array([9, 4]), np.array([9.0, 4.0]), np.array([[0.5, 0.5], [0.9, 0.1]]))
    summary = {"k": 2, "documents": 9, "terms": 4, "tokens": 90, "document_concentration": 2.0, "spectrum": [1.0, 0.5]}
    files = TopicModelFiles(
        topics / topics.sum(axis=0), np.array([0.5, 0.5]), ("sail", "boat", "bread", "oven"), nodes, summary,
        labels={0: "Küste ☃"},
    )
    with new_directory(tmp_path / "model", MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, files)
        staging.write_json("text.json", {"version": 1, "stop_words": ["the"], "min_word_length": 3})
    return str(tmp_path / "model")


@pytest.fixture
def tokenisers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "somebodys_words.py").write_text(TOKENISERS)
    (tmp_path / "somebodys_mistake.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_what_cannot_be_read_is_told(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["infer", "--model", model, "--input", str(tmp_path)]) == 2
    assert "is a directory; give a file" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["infer", "--model", model]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_node_that_is_not_there_is_answered_with_the_nearest(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["infer", "--model", model, "--path", "coost/ash", "sail"]) == 0
    said = capsys.readouterr()
    assert "no node 'coost/ash'; did you mean 'coast'? The texts are scored as those of the whole corpus." in said.err
    assert "no node" not in said.out
    assert main(["infer", "--model", model, "--path", "coast/ash", "sail"]) == 0
    assert "as those of 'coast'" in capsys.readouterr().err
    assert main(["infer", "--model", model, "--path", "coast", "sail"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("tokenisers")
@pytest.mark.parametrize(("name", "message"), [
    ("somebodys_words:fails", "failed on a text with ValueError"),
    ("somebodys_words:leaves", "failed on a text with SystemExit"),
    ("somebodys_words:numbers", "returns a list with int"),
    ("somebodys_words:whole", "returns a text; it must return the list"),
    ("somebodys_words:halves", "half a character"),
    ("somebodys_words:spilt", "has no function 'spilt'; did you mean 'split'?"),
    ("somebodys_mistake:split", "importing somebodys_mistake fails with ZeroDivisionError"),
    ("builtins:len", "failed on a text with TypeError"),
    (".relative:split", "importing .relative fails"),
])
def test_a_tokeniser_that_fails_is_told_without_the_text(
    model: str, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["infer", "--model", model, "--tokeniser", name, "confidential"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "confidential" not in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("tokenisers")
def test_words_of_a_tokeniser_are_the_same_wherever_it_runs() -> None:
    split = load_tokeniser("somebodys_words:split")
    assert OwnTokeniser(split).split("a sail  b") == own_words(split, "a sail  b") == ["a", "sail", "b"]
    assert TextCounter(split, ("sail",)).words("sail sail") == {"sail": 2}
    for refused in (lambda text: TextCounter(load_tokeniser("somebodys_words:numbers"), ()).words(text),
                    OwnTokeniser(load_tokeniser("somebodys_words:numbers")).split):
        with pytest.raises(InputError, match="returns a list with int"):
            refused("text")
    with pytest.raises(SettingsError, match="cannot be imported"):
        load_tokeniser("nobodys_words:split")


def test_letters_that_the_terminal_lacks_are_escaped(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, expected in (
        (["topics", model], rb"K\xfcste \u2603"), (["infer", "--model", model, "sail"], rb"K\xfcste \u2603"),
        (["fit", "--help"], rb"spark://host:7077, yarn, ...;"),
    ):
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
        assert main(words) == 0
        assert expected in out.getvalue()


def test_a_word_too_many_is_the_one_that_is_named(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", model, "another"]) == 2
    assert "unexpected argument 'another'" in capsys.readouterr().err
    assert main(["topics", "--help"]) == 0
    assert "usage: spectral-spark topics MODEL [flags]" in capsys.readouterr().out
