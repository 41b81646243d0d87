import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.errors import FormatError, InputError
from spectral_spark.ingest.corpus_store import open_corpus

from .conftest import Ingest, fingerprint_of

PART = "documents/part-00000.parquet"


@pytest.fixture
def saved(run_ingest: Ingest, tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(5):
        (folder / f"{i}.txt").write_text(f"shared words number{'abcde'[i]}")
    run_ingest("folders", folder, holdout=1)
    return tmp_path / "corpus"


def test_formats_on_disk(spark: Any, saved: Path) -> None:
    documents = pq.read_table(saved / "documents")
    assert {field.name: str(field.type) for field in documents.schema} == {
        "doc_id": "string", "path": "list<element: string>", "terms": "list<element: int32>",
        "counts": "list<element: int32>", "split": "string"}
    vocabulary = pq.read_table(saved / "vocabulary")
    assert {field.name: str(field.type) for field in vocabulary.schema} == {
        "term_id": "int32", "term": "string", "documents": "int64", "occurrences": "int64"}
    assert vocabulary["term_id"].to_pylist() == list(range(vocabulary.num_rows))
    corpus = open_corpus(spark, str(saved))
    assert corpus.documents("test").count() == 1
    assert corpus.documents("train").count() == 4
    assert all(row["terms"] == sorted(row["terms"]) for row in corpus.documents().collect())
    assert fingerprint_of(corpus) == corpus.fingerprint


def test_damage_is_noticed(spark: Any, saved: Path) -> None:
    path = next((saved / "documents").iterdir())
    table = pq.read_table(path)
    changed = table.set_column(0, "doc_id", pa.array(["x", *table["doc_id"].to_pylist()[1:]]))
    pq.write_table(changed, path)
    with pytest.raises(FormatError, match=r"documents/part-00000\.parquet .*exchanged or damaged: restore it"):
        open_corpus(spark, str(saved))
    manifest = json.loads((saved / "corpus.json").read_text())
    for change, message in (({"version": 99}, "upgrade"), ({"kind": "model"}, "does not describe a corpus")):
        (saved / "corpus.json").write_text(json.dumps({**manifest, **change}))
        with pytest.raises(FormatError, match=message):
            open_corpus(spark, str(saved))
    (saved / "corpus.json").write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        open_corpus(spark, str(saved))
    (saved / "corpus.json").unlink()
    with pytest.raises(FormatError, match=r"no corpus\.json"):
        open_corpus(spark, str(saved))
    with pytest.raises(InputError, match="there is no corpus"):
        open_corpus(spark, str(saved / "absent"))


def change_table(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    table = change(pq.read_table(path))
    path.unlink()
    pq.write_table(table, path)


def other_order(table: pa.Table) -> pa.Table:
    return table.set_column(1, "term", pa.array(table["term"].to_pylist()[::-1]))


DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "deleted": (lambda at: (at / PART).unlink(), f"{PART} is missing; restore it", "0 documents instead of 5"),
    "twice": (lambda at: shutil.copy(at / PART, at / "documents" / "part-00001.parquet"),
              "part-00001.parquet does not belong to it; remove that file", "10 documents instead of 5"),
    "below": (lambda at: shutil.copytree(at / "documents", at / "documents" / "split=test"),
              "split=test/part-00000.parquet does not belong", "10 documents instead of 5"),
    "another's": (lambda at: change_table(at / PART, lambda table: table.slice(1)),
                  "bytes instead of", "4 documents instead of 5"),
    "columns": (lambda at: change_table(at / PART, lambda table: table.drop_columns(["counts"])),
                "bytes instead of", "has no column 'counts'"),
    "kinds": (lambda at: change_table(at / PART, lambda t: t.set_column(2, "terms", t["doc_id"])),
              "bytes instead of", "has no column 'terms'"),
    "cut": (lambda at: (at / PART).write_bytes((at / PART).read_bytes()[:-20]),
            "bytes instead of", "not a readable Parquet file"),
    "same size": (lambda at: (at / PART).write_bytes(bytes((at / PART).stat().st_size)),
                  "is not the file that ingest wrote", "not a readable Parquet file"),
    "15 bytes": (lambda at: (at / PART).write_bytes(b"PAR1 no more PAR1"[:15]),
                 "15 bytes instead of", "not a readable Parquet file"),
    "foreign": (lambda at: (at / "documents" / "notes.txt").write_text("x"),
                "documents/notes.txt does not belong", "notes.txt is not a readable"),
    "other words": (lambda at: change_table(at / "vocabulary" / "part-0.parquet", other_order),
                    r"vocabulary/part-0.parquet .*exchanged or damaged", "not in their order"),
    "fewer words": (lambda at: change_table(at / "vocabulary" / "part-0.parquet", lambda table: table.slice(1)),
                    "bytes instead of", "words in vocabulary/"),
    "no words": (lambda at: shutil.rmtree(at / "vocabulary"), "no vocabulary/", "no vocabulary/"),
    "words cut": (lambda at: (at / "vocabulary" / "part-0.parquet").write_bytes(b"PAR1"),
                  "4 bytes instead of", "vocabulary/ is damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_corpus_is_refused_before_any_pass(spark: Any, saved: Path, kind: str) -> None:
    """With the list of files that ingest writes now, and without it, as release 0.1.0 left a corpus."""
    damage, message, old_message = DAMAGE[kind]
    old = saved.parent / "old"
    shutil.copytree(saved, old)
    manifest = json.loads((old / "corpus.json").read_text())
    del manifest["files"]
    (old / "corpus.json").write_text(json.dumps({**manifest, "version": 1}))
    assert open_corpus(spark, str(old)).vocabulary == open_corpus(spark, str(saved)).vocabulary
    for place, expected in ((saved, message), (old, old_message)):
        damage(place)
        with pytest.raises(FormatError, match=expected):
            open_corpus(spark, str(place))


@pytest.mark.parametrize(("name", "value"), [
    ("documents", [1]), ("documents", {"train": -1}), ("terms", None), ("terms", "406"), ("dropped", {"empty": 1.5}),
    ("files", []), ("files", {"documents/x": {"bytes": 1}}), ("fingerprint", 7), ("settings", []), ("version", True),
    ("unseen", {"recurring_share": -0.5}), ("tokens", 2**80),
])
def test_a_manifest_that_ingest_did_not_write(spark: Any, saved: Path, name: str, value: object) -> None:
    manifest = json.loads((saved / "corpus.json").read_text())
    (saved / "corpus.json").write_text(json.dumps({**manifest, name: value}))
    with pytest.raises(FormatError, match=f"{'format True' if name == 'version' else name}"):
        open_corpus(spark, str(saved))


def test_a_manifest_of_many_brackets(spark: Any, saved: Path) -> None:
    (saved / "corpus.json").write_text("[" * 200_000)
    with pytest.raises(FormatError, match="not JSON"):
        open_corpus(spark, str(saved))


def test_the_files_that_the_manifest_lists(spark: Any, saved: Path) -> None:
    files = json.loads((saved / "corpus.json").read_text())["files"]
    assert set(files) == {PART, "vocabulary/part-0.parquet"}
    for name, said in files.items():
        assert (said["bytes"], said["rows"]) == ((saved / name).stat().st_size, pq.read_metadata(saved / name).num_rows)
    (saved / "documents" / "_SUCCESS").touch()             # Spark passes over these, so they may be there
    (saved / "documents" / ".part-00000.parquet.crc").write_bytes(b"x")
    open_corpus(spark, str(saved))
