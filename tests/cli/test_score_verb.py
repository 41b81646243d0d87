"""Scores name the largest topic and say how much of a document the model knows."""

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
import pytest

from spectral_spark.cli import main
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo


def ingest(spark: Any, notes: Path, corpus: Path) -> None:
    words = ["ingest", "--source", "table", "--input", str(notes), "--text-col", "text", "--path-cols", "region,town",
             "--id-col", "id", "--keep-cols", "town", "--min-documents", "1", "--max-document-share", "1",
             "--output", str(corpus), "--quiet"]
    assert main(words, spark) == 0


def test_scores_have_the_largest_topic_its_label_and_the_unknown_share(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_demo(simulate_demo(300), tmp_path / "notes.jsonl")
    ingest(spark, tmp_path / "notes.jsonl", tmp_path / "corpus")
    fit = ["fit", "--corpus", str(tmp_path / "corpus"), "--model", str(tmp_path / "model"), "--k", "6",
           "--explore-sweeps", "0", "--refine-passes", "1", "--quiet"]
    assert main(fit, spark) == 0
    notes = [json.loads(line) for line in (tmp_path / "notes.jsonl").read_text().splitlines()]
    foreign = [note | {"text": f"{' '.join(note['text'].split()[:5])} {'zyzzyva quixotry ' * 10}"} for note in notes]
    (tmp_path / "foreign.jsonl").write_text("".join(json.dumps(note) + "\n" for note in foreign))
    ingest(spark, tmp_path / "foreign.jsonl", tmp_path / "other")
    capsys.readouterr()
    said = {}
    for name in ("corpus", "other"):
        score = ["score", "--corpus", str(tmp_path / name), "--model", str(tmp_path / "model"), "--output",
                 str(tmp_path / f"scores-{name}"), "--kept"]
        assert main(score, spark) == 0
        said[name] = capsys.readouterr().out
    rows = dataset.dataset(tmp_path / "scores-corpus").to_table().to_pylist()
    assert all(row["topicDistribution"][row["topic"]] == max(row["topicDistribution"]) for row in rows)
    assert all(len(row["path"]) == 2 and len(row["label"].split()) == 5 for row in rows)
    assert all(row["town"] == row["path"][1] for row in rows)
    assert {row["unknownShare"] for row in rows} == {0.0}
    assert "knows 100.0% of their words" in said["corpus"]
    assert "warning" not in said["corpus"]
    strange = dataset.dataset(tmp_path / "scores-other").to_table().to_pylist()
    assert all(0.5 < row["unknownShare"] < 1 for row in strange)
    assert "of the words are unknown to" in said["other"]
    (tmp_path / "notes.jsonl").unlink()                          # columns come from the corpus, not from the table
    asked = ["--corpus", str(tmp_path / "corpus"), "--model", str(tmp_path / "model"), "--format", "json"]
    assert main(["explain", *asked, "--by", "town"], spark) == 0
    towns = {json.loads(line)["value"] for line in capsys.readouterr().out.splitlines()}
    assert towns == {row["town"] for row in rows}
    first, second = sorted(towns)[:2]
    assert main(["compare", *asked, "--a", f"town={first}", "--b", f"town={second}"], spark) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert main(["compare", *asked, "--a", f"town={first}", "--b", "coast"], spark) == 2
    assert "two selections" in capsys.readouterr().err
