"""taxonomy, edit and labels on the command line; hostile names show as text."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from spectral_spark import SpectralHDP
from spectral_spark.answers.taxonomy import checked_levels
from spectral_spark.cli import main
from spectral_spark.cli.opened import CORPUS_PARAMETERS, with_columns_of
from spectral_spark.errors import SettingsError
from spectral_spark.files.directories import new_directory
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, NodeTable, TopicModelFiles, write_model_files
from spectral_spark.plain_text import no_formula

HOSTILE = '=cmd|"/c calc"!A1 </script><img src=x onerror=alert(1)> \u202e'


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Six topics in two families; the last one is a background."""
    families = np.kron(np.eye(2), np.ones((20, 3)))
    topics = families + 5.0 * np.eye(40, 6) + 0.01
    topics[:, 5] = 1.0
    topics /= topics.sum(axis=0)
    weights = np.full(6, 1 / 6)
    summary = {"k": 6, "terms": 40, "documents": 10, "spectrum": [1.0] * 6, "seeds": {"topics": [], "background": 5}}
    files = TopicModelFiles(
        topics, weights, tuple(f"w{number}" for number in range(40)),
        NodeTable(((),), np.array([10]), np.array([10.0]), weights[None]), summary, labels={0: HOSTILE},
    )
    with new_directory(tmp_path / "model", MODEL_KIND, MODEL_VERSION) as staging:
        write_model_files(staging, files)
    return str(tmp_path / "model")


def test_a_taxonomy_is_made_stored_and_printed(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["taxonomy", model]) == 2
    assert "--levels 10,30" in capsys.readouterr().err
    assert main(["taxonomy", model, "--levels", "3,5"]) == 0
    tree = capsys.readouterr().out
    assert "background" in tree
    assert "\u202e" not in tree
    stored = json.loads((Path(model) / "taxonomy.json").read_text())
    assert stored["levels"] == [3, 5]
    assert [node["topics"] for node in stored["nodes"] if node["level"] == 0].count([5]) == 1
    stored["nodes"][0]["label"] = HOSTILE
    (Path(model) / "taxonomy.json").write_text(json.dumps(stored))
    assert main(["taxonomy", model, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0]["label"].startswith("'=cmd")
    assert len(rows) == 8
    assert main(["taxonomy", model, "--levels", "7"]) == 2
    assert "fewer than the 6 topics" in capsys.readouterr().err
    assert main(["taxonomy", model, "--levels", "many"]) == 2


def test_hostile_names_cannot_break_page_terminal_or_table(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["taxonomy", model, "--levels", "3"]) == 0
    stored = json.loads((Path(model) / "taxonomy.json").read_text())
    stored["nodes"][0]["label"] = HOSTILE
    (Path(model) / "taxonomy.json").write_text(json.dumps(stored))
    assert main(["report", "--model", model, "--output", f"{model}.html"]) == 0
    page = Path(f"{model}.html").read_text()
    assert "</script><img" not in page
    assert "<img src=x" not in page
    for verb in (["topics", model], ["topics", model, "--format", "csv"], ["topics", model, "--format", "json"]):
        capsys.readouterr()
        assert main(verb) == 0
        assert "\u202e" not in capsys.readouterr().out


def test_the_background_has_a_name_and_no_line_in_the_labels(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", model, "--format", "json"]) == 0
    named = {row["topic"]: row["label"] for row in json.loads(capsys.readouterr().out)}
    assert named[5] == "background"
    assert main(["labels", model]) == 0
    assert "\n5 = " not in (Path(model) / "labels.toml").read_text()
    assert "\n4 = " in (Path(model) / "labels.toml").read_text()


def test_nothing_to_edit_and_wrong_topics_are_told(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "edited")
    assert main(["edit", "--model", model, "--output", out]) == 2
    assert "nothing to do" in capsys.readouterr().err
    assert main(["edit", "--model", model, "--merge", "1,2", "--output", model]) == 2
    assert main(["edit", "--model", model, "--merge", "1,2", "--split", "4", "--output", out, "--dry-run"]) == 0
    assert "merge 1 and 2 into one topic" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "cell"), [
    ("=1+1", "'=1+1"), ("@x", "'@x"), ("+a", "'+a"), (" -a", "' -a"), ("-1.5", "-1.5"), ("gas", "gas"), ("", ""),
])
def test_cells_are_no_formulas(text: str, cell: str) -> None:
    assert no_formula(text) == cell


def test_columns_of_a_corpus_are_not_left_in_a_model() -> None:
    own = SpectralHDP(featuresCol="counted", idCol="number")
    read = own.copy({own.getParam(name): value for name, value in CORPUS_PARAMETERS.items()})
    assert read.getTermsCol() == "terms"
    restored = with_columns_of(own, read, CORPUS_PARAMETERS)            # type: ignore[arg-type]
    assert {param.name: value for param, value in restored._paramMap.items()} == {
        "featuresCol": "counted", "idCol": "number"}


def test_folding_again_keeps_the_names_that_people_gave(model: str) -> None:
    assert main(["taxonomy", model, "--levels", "3", "--quiet"]) == 0
    place = Path(model) / "taxonomy.json"
    stored = json.loads(place.read_text())
    family = next(node for node in stored["nodes"] if len(node["topics"]) > 1)
    alone = next(node for node in stored["nodes"] if node["topics"] == [5])
    family["label"], alone["label"] = "my family", "my background"
    place.write_text(json.dumps(stored))
    for levels in ("3", "3,5"):
        assert main(["taxonomy", model, "--levels", levels, "--quiet"]) == 0
        again = {tuple(node["topics"]): node["label"] for node in json.loads(place.read_text())["nodes"]}
        assert again[tuple(family["topics"])] == "my family"
        assert again[(5,)] == "my background"
    (Path(model) / "labels.toml").write_text('[topics]\n0 = "newly named"\n')      # names of topics are labels
    assert main(["taxonomy", model, "--levels", "5", "--quiet"]) == 0
    again = {tuple(node["topics"]): node["label"] for node in json.loads(place.read_text())["nodes"]}
    assert again.get((0,), "newly named") == "newly named"


def test_a_damaged_taxonomy_says_what_to_do_and_that_works(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = Path(model) / "taxonomy.json"
    for content in ("{", "[" * 100_000, '{"version": 1, "levels": [' + "9" * 5000 + "]}"):
        place.write_text(content)
        assert main(["taxonomy", model, "--levels", "3"]) == 2
        said = capsys.readouterr().err
        assert f"'{place}' is not the taxonomy of this model: it is not JSON; correct it, or remove the file" in said
    place.unlink()
    assert main(["taxonomy", model, "--levels", "3"]) == 0


def test_files_that_people_edit_are_replaced_at_once(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(model) / "labels.toml"
    place.write_text('[topics]\n1 = "mine"\n')

    def full(made: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        assert main(["labels", model]) == 1
    assert place.read_text() == '[topics]\n1 = "mine"\n'
    assert main(["labels", model]) == 0
    assert '1 = "mine"' in place.read_text()
    assert sorted(path.name for path in Path(model).iterdir() if path.name.startswith(".")) == []
    assert main(["labels", model, "--input", model]) == 2
    assert "is a directory; give a file" in capsys.readouterr().err


@pytest.mark.parametrize(("k", "apart", "message"), [
    (1, False, "a model with 1 topic cannot be folded"), (2, False, "a model with 2 topics cannot"),
    (3, True, "2 topics beside the background"),
])
def test_too_few_topics_are_told(k: int, apart: bool, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        checked_levels([2], k, apart)
    with pytest.raises(SettingsError, match="from 2 to 5, fewer than the 6 topics"):
        checked_levels([10, 100], 6)


@pytest.mark.parametrize(("words", "message"), [
    (["--merge", "2,2"], "--merge 2,2 names one topic; give at least two"),
    (["--merge", "2,9"], "there is no topic '9'; the model has topics 0 to 5"),
    (["--merge", "0,1", "--merge", "1,2"], "topic 1 is to be merged twice"),
    (["--merge", "0,1", "--split", "1"], "topic 1 is to be both split and merged"),
    (["--merge", "0,1,2,3,4,5"], "a model of a single topic says nothing"),
    (["--split", "backgruond"], "did you mean 'background'?"),
])
def test_an_edit_is_checked_before_anything_starts(
    model: str, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["edit", "--model", model, *words, "--output", str(tmp_path / "edited"), "--dry-run"]) == 2
    assert message in capsys.readouterr().err
