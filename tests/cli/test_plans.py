"""What verbs derive from their settings before any work starts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.cli.run import main
from spectral_spark.cli.verbs.fit import title_of


@pytest.mark.parametrize(("flags", "held_out"), [([], 500), (["--documents", "200"], 20)])
def test_the_demo_holds_out_a_tenth(
    flags: list[str], held_out: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "demo"), "--dry-run", *flags]) == 0
    assert f"--holdout {held_out} " in capsys.readouterr().out


@pytest.mark.parametrize(("path", "title"), [
    ("out/enron/corpus", "enron"), ("/data/mail/", "mail"), ("s3a://bucket/notes/corpus/", "notes"),
    ("file:/data/mail/corpus", "mail"), ("file:///data/corpus", "data"), ("hdfs:///corpus", "corpus"), ("/", "corpus"),
])
def test_a_corpus_is_called_by_the_folder_that_says_something(path: str, title: str) -> None:
    assert title_of(path) == title


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
def test_a_wrong_column_of_a_table_is_refused_before_spark_starts(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = tmp_path / f"notes.{ending}", pa.table({"text": ["a note"], "region": ["coast"]})
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        path.write_text("text\tregion\na note\tcoast\n".replace("\t", "\t" if ending == "tsv" else ","))
    words = ["ingest", "--source", "table", "--input", str(path), "--output", str(tmp_path / "corpus"), "--dry-run"]
    assert main([*words, "--text-col", "text", "--path-cols", "region"]) == 0
    assert main([*words, "--text-col", "text", "--path-cols", "regoin"]) == 2
    assert "has no column 'regoin'; it has text, region; did you mean 'region'?" in capsys.readouterr().err
