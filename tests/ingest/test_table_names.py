"""What an input of ``--source table`` is, and which columns it has, before Spark starts."""

import gzip
import json
from pathlib import Path

import pytest

from spectral_spark.errors import InputError
from spectral_spark.ingest import json_columns
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.json_columns import first_json_columns
from spectral_spark.ingest.table_names import table_in_catalog, table_kind
from spectral_spark.ingest.table_schema import check_table, table_files


def columns(path: Path) -> list[str] | None:
    return first_json_columns(str(path), table_files(str(path)))


def check(path: Path | str, **settings: str) -> None:
    check_table(IngestSettings(source="table", input=str(path), output="unused", **{"text_col": "text"} | settings))


@pytest.mark.parametrize(("name", "given", "expected"), [
    ("main.mail.letters", None, True), ("mail.letters", None, True), ("mail.letters", "delta", True),
    ("mail.letters", "csv", False), ("letters", None, False), ("letters.csv", None, False), ("a/b.c", None, False),
    ("s3a://a/b.c", None, False), ("../mail.letters", None, False), ("letters.jsonl.gz", None, False),
    ("mail.letters; drop", None, False), ("mail.`letters`", None, False),
])
def test_names_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: str | None, expected: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    assert table_in_catalog(name, given) is expected


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mail.letters").write_text("")
    assert not table_in_catalog("mail.letters", None)


def test_delta_and_iceberg_are_recognised_by_what_they_keep(tmp_path: Path) -> None:
    for place, file in (("delta", "_delta_log/0.json"), ("ice", "metadata/v1.metadata.json"), ("other", "metadata/x")):
        (tmp_path / place / file).parent.mkdir(parents=True)
        (tmp_path / place / file).write_text("{}")
    found = [table_kind(str(tmp_path / place), None) for place in ("delta", "ice", "other")]
    assert found == ["delta", "iceberg", None]
    assert table_kind(str(tmp_path / "other"), "delta") == "delta"
    check(tmp_path / "delta")                               # only Spark knows its columns


def test_wrong_columns_of_json_lines_are_refused(tmp_path: Path) -> None:
    lines = ['\ufeff{"texts": "a", "id": 1}', "no json", "[1]", '{"id": 2, "town": "x"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert columns(tmp_path / "t.jsonl") == ["texts", "id", "town"]
    with pytest.raises(InputError, match=r"no column 'text'; it has texts, id, town; did you mean 'texts'"):
        check(tmp_path / "t.jsonl")
    check(tmp_path / "t.jsonl", text_col="texts", id_col="town")
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(b'{"other": 1}\n'))
    with pytest.raises(InputError, match="it has other"):
        check(tmp_path / "t.jsonl.gz")


def test_a_column_that_comes_late_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = json_columns._LINES + 5
    late = "".join(json.dumps({"id": i, **({"text": "a"} if i == many - 1 else {})}) + "\n" for i in range(many))
    (tmp_path / "late.jsonl").write_text(late)
    check(tmp_path / "late.jsonl")                          # below a megabyte, all lines are looked at
    monkeypatch.setattr(json_columns, "_BYTES", 100)
    with pytest.raises(InputError, match="no column 'text'"):
        check(tmp_path / "late.jsonl")


def test_what_does_not_decide_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts" / "town=x").mkdir(parents=True)
    (tmp_path / "parts" / "town=x" / "a.json").write_text('{"id": 1}\n')
    assert columns(tmp_path / "parts") is None
    (tmp_path / "none.json").write_text("{\n")
    assert columns(tmp_path / "none.json") is None
    monkeypatch.setattr(json_columns, "_MOST_BYTES", 1000)
    (tmp_path / "long.json").write_text(json.dumps({"id": "x" * 5000}))
    assert columns(tmp_path / "long.json") is None
