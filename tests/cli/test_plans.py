"""What verbs derive from their settings before any work starts."""

from pathlib import Path

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
