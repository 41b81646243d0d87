import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ingest.ingest_settings import IngestSettings

from .conftest import Ingest, paths_by_document, words_by_document

ROWS: list[dict[str, Any]] = [
    {"id": "a", "division": "gas", "team": "north", "text": "Pipeline, \"pressure\"\nvalve",
     "tokens": ["Big", "the", "x_y"]},
    {"id": "b", "division": "gas", "team": None, "text": "valve again", "tokens": ["Big"]},
    {"id": "c", "division": "power", "team": "south", "text": None, "tokens": None},
    {"id": "d", "division": "power", "team": "south", "text": "turbine", "tokens": ["x_y", None, ""]},
]
KEPT = {"a": {"pipeline": 1, "pressure": 1, "valve": 1}, "d": {"turbine": 1}}


def write_csv(path: Path, extra: str = "") -> Path:
    lines = ['id,division,team,text', 'a,gas,north,"Pipeline, ""pressure""\nvalve"', 'b,gas,,valve again',
             'c,power,south,', 'd,power,south,turbine']
    path.write_text("\n".join(lines) + "\n" + extra)
    return path


def write_json(path: Path, extra: str = "") -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + extra)
    return path


def write_parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def test_the_three_formats_agree(run_ingest: Ingest, tmp_path: Path) -> None:
    given = [write_csv(tmp_path / "t.csv"), write_json(tmp_path / "t.jsonl"), write_parquet(tmp_path / "t.parquet")]
    fingerprints = set()
    for number, path in enumerate(given):
        corpus = run_ingest("table", path, str(number), text_col="text", path_cols=["division", "team"], id_col="id")
        assert words_by_document(corpus) == KEPT
        assert paths_by_document(corpus) == {"a": ["gas", "north"], "d": ["power", "south"]}
        assert corpus.manifest["dropped"] == {"empty": 1, "null_path": 1}
        fingerprints.add(corpus.fingerprint)
    assert len(fingerprints) == 1


def test_rows_that_cannot_be_used_are_counted_and_share_no_id_with_others(run_ingest: Ingest, tmp_path: Path) -> None:
    columns = {"text_col": "text", "path_cols": ["division"], "id_col": "id"}
    nameless = '{"id": null, "division": "gas", "text": "valve"}\n'
    broken = '{"id": "e", "text": broken\n' * 2 + "{nothing\n" + nameless * 2
    lines = run_ingest("table", write_json(tmp_path / "t.json", broken), "one", **columns)
    assert lines.manifest["dropped"] == {"empty": 1, "null_id": 2, "unreadable": 3}
    wrong = "a,gas,north,fine,one too many\n" * 2
    fields = run_ingest("table", write_csv(tmp_path / "t.csv", wrong), "two", drop_duplicates=True, **columns)
    assert fields.manifest["dropped"] == {"empty": 1, "unreadable": 2}
    assert words_by_document(lines) == words_by_document(fields)
    assert set(words_by_document(fields)) == {"a", "b", "d"}


def test_ready_made_tokens_are_taken_as_they_are(run_ingest: Ingest, tmp_path: Path) -> None:
    corpus = run_ingest("table", write_parquet(tmp_path / "t.parquet"), tokens_col="tokens", id_col="id")
    assert words_by_document(corpus) == {"a": {"Big": 1, "the": 1, "x_y": 1}, "b": {"Big": 1}, "d": {"x_y": 1}}
    assert paths_by_document(corpus)["a"] == []


def test_without_ids_a_row_is_named_by_its_content(run_ingest: Ingest, tmp_path: Path) -> None:
    rows = [{"text": text} for text in ("first words", "second words", "first words")]
    names = []
    for number, order in enumerate(((0, 1, 2), (2, 1, 0))):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist([rows[i] for i in order]), path, row_group_size=1)
        names.append(words_by_document(run_ingest("table", path, str(number), text_col="text", stop_words="none")))
    assert names[0] == names[1]
    assert sorted(map(sorted, names[0].values())) == [["first", "words"]] * 2 + [["second", "words"]]


def test_missing_paths(run_ingest: Ingest, tmp_path: Path) -> None:
    given = write_parquet(tmp_path / "t.parquet")
    columns = {"text_col": "text", "path_cols": ["division", "team"], "id_col": "id"}
    named = run_ingest("table", given, missing_path="unknown", **columns)
    assert paths_by_document(named)["b"] == ["gas", "unknown"]
    with pytest.raises(InputError, match="1 documents have a null in their path"):
        run_ingest("table", given, "other", missing_path="error", **columns)


@pytest.mark.parametrize(("settings", "message"), [
    ({"text_col": "txt"}, "no column 'txt'.*did you mean 'text'"),
    ({"text_col": "text", "path_cols": ["divisions"]}, "no column 'divisions'.*did you mean 'division'"),
    ({"text_col": "text", "id_col": "division"}, "column 'division': 2 ids stand for 4 rows"),
    ({"text_col": "tokens"}, "holds lists"),
    ({"tokens_col": "number"}, "tokens are lists of words"),
])
def test_wrong_columns(run_ingest: Ingest, tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, "number": 1} for row in ROWS]), path)
    with pytest.raises(InputError, match=message):
        run_ingest("table", path, **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_wrong_files(run_ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more PAR1")
    (tmp_path / "bad.xyz").write_text("x")
    (tmp_path / "empty").mkdir()
    for name, message in (("bad.parquet", "reading '.*bad.parquet' failed"), ("bad.xyz", "give the format"),
                          ("empty", "empty directory"), ("absent.csv", "nothing at")):
        with pytest.raises(InputError, match=message):
            run_ingest("table", tmp_path / name, text_col="text")
    with pytest.raises(SettingsError, match="either `text_col` or `tokens_col`"):
        IngestSettings("table", "in", "out")


def test_keys_that_occur_twice_do_not_refuse_the_file(run_ingest: Ingest, tmp_path: Path) -> None:
    """Twice in one line (the last counts), in other letters, in a nested object; the columns go by exact names."""
    lines = ['{"id": "a", "text": "first words", "text": "second words"}',
             '{"id": "b", "TEXT": "shouted loudly", "text": "spoken softly"}',
             '{"id": "c", "Text": "only here"}',
             '{"id": "d", "text": "nested keys", "meta": {"x": 1, "x": 2, "X": 3}}', "no json"]
    given = tmp_path / "t.jsonl"
    given.write_text("\n".join(lines))
    corpus = run_ingest("table", given, text_col="text", id_col="id", stop_words="none")
    assert words_by_document(corpus) == {"a": {"second": 1, "words": 1}, "b": {"spoken": 1, "softly": 1},
                                         "d": {"nested": 1, "keys": 1}}
    assert corpus.manifest["dropped"] == {"empty": 1, "unreadable": 1}
    loud = run_ingest("table", given, "loud", text_col="TEXT", id_col="id", stop_words="none")
    assert words_by_document(loud) == {"b": {"shouted": 1, "loudly": 1}}
    with pytest.raises(InputError, match=r"no column 'txt'.*did you mean 'text'"):
        run_ingest("table", given, "none", text_col="txt")


def test_lists_are_still_lists_when_a_key_occurs_twice(run_ingest: Ingest, tmp_path: Path) -> None:
    given = tmp_path / "t.jsonl"
    given.write_text('{"tokens": ["Big", "x_y"], "tokens": ["x_y"], "at": ["gas", "north"]}\n{"tokens": ["Big"]}\n')
    corpus = run_ingest("table", given, tokens_col="tokens", path_cols=["at"], missing_path="unknown")
    assert sorted(map(sorted, words_by_document(corpus).values())) == [["Big"], ["x_y"]]
    assert sorted(paths_by_document(corpus).values()) == [["gas", "north"], ["unknown"]]


@pytest.mark.parametrize(("content", "message"), [
    ("", "is empty: it has no rows"), (" \n\n", "is empty"),
    (json.dumps({"text": "a b c"}, indent=2), r"pretty-printed.*one object per line.*jq -c"),
    (json.dumps([["text"]], indent=2), "pretty-printed"),
    ('"text"\n"more"\n', "no objects with named columns"), ("hello\nthere\n", "does not hold JSON lines"),
])
def test_json_that_is_no_json_lines(run_ingest: Ingest, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(InputError, match=message):
        run_ingest("table", tmp_path / "t.json", text_col="text")


def test_two_gzips_in_one_file_are_both_read(run_ingest: Ingest, tmp_path: Path) -> None:
    given = tmp_path / "t.jsonl.gz"
    given.write_bytes(b"".join(gzip.compress(f'{{"id": "{name}", "text": "some words"}}\n'.encode()) for name in "ab"))
    corpus = run_ingest("table", given, text_col="text", id_col="id", stop_words="none")
    assert set(words_by_document(corpus)) == {"a", "b"}
