"""What the driver decides about documents that it can hold is what the executors decide about all others."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.errors import InputError
from spectral_spark.ingest import counted_files, counted_words, driver_order, pipeline
from spectral_spark.ingest.corpus_store import Corpus
from spectral_spark.ingest.counted_parts import appearing, check_parts
from spectral_spark.ingest.driver_words import DriverWords
from spectral_spark.ingest.executor_holdout import ExecutorDocuments
from spectral_spark.ingest.word_statistics import HashCollisionError, HashSums

from .conftest import Ingest, mail, tar_bytes
from .test_pipeline import COLUMNS, rows, write


@pytest.fixture
def both_ways(run_ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ingest where the driver decides, and where the executors do."""

    def run(source: str, given: Path, **settings: Any) -> tuple[Corpus, Corpus]:
        driver = run_ingest(source, given, "driver", **settings)
        monkeypatch.setattr(counted_files, "MOST_ROWS", 0)
        asked: list[int] = []
        monkeypatch.setattr(counted_words, "ExecutorDocuments",
                            lambda *given: asked.append(1) or ExecutorDocuments(*given))
        executors = run_ingest(source, given, "executors", **settings)
        assert asked
        return driver, executors

    return run


def same(first: Corpus, second: Corpus) -> None:
    """The manifests, and the files byte for byte, which the manifest describes by the hash of their footers."""
    assert first.manifest == second.manifest
    for name in first.manifest["files"]:
        assert Path(first.path, name).read_bytes() == Path(second.path, name).read_bytes()


def tangled() -> list[dict[str, str | None]]:
    """Documents with copies, also of short ones, empty texts, and paths that lack parts."""
    table: list[dict[str, str | None]] = [dict(row) for row in rows()]
    table += [{**row, "id": f"copy-{row['id']}", "group": "D"} for row in table[:60]]
    table += [{**row, "id": f"Copy-{row['id']}", "team": None} for row in table[30:50]]
    texts = ("gas", "", "oil of it") * 3
    table += [{"id": f"short-{number}", "group": "", "team": "t0", "text": text} for number, text in enumerate(texts)]
    return table + [{**row, "id": f"none-{row['id']}", "group": None} for row in table[100:120]]


@pytest.mark.parametrize("settings", [
    {"holdout": "20/group", "drop_duplicates": True, "missing_path": "unknown"},
    {"holdout": 60, "drop_duplicates": True, "missing_path": "drop", "min_tokens": 6, "vocab_size": 12},
    {"holdout": 10_000, "missing_path": "unknown", "max_document_share": 0.2, "min_documents": 30, "path_cols": ()},
    {"missing_path": "drop", "max_document_share": 0.1, "min_documents": 3},
])
def test_driver_and_executors_make_the_same_corpus(both_ways: Any, tmp_path: Path, settings: dict[str, Any]) -> None:
    driver, executors = both_ways("table", write(tmp_path / "in", tangled(), files=3), **{**COLUMNS, **settings})
    same(driver, executors)
    assert bool(driver.manifest["dropped"].get("duplicate")) == bool(settings.get("drop_duplicates"))
    assert bool(driver.manifest["documents"].get("test")) == bool(settings.get("holdout"))


def test_documents_in_many_files_with_columns_of_every_kind(
    both_ways: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_DOCUMENTS_PER_FILE", 4)
    monkeypatch.setattr(driver_order, "_ROWS_OF_A_TASK", 1)
    moment = dt.datetime(2026, 11, 19, 3, 4, 5, 678901)
    whole = pa.Table.from_pylist([{
        **row, "day": None if number % 7 == 0 else dt.date(2000, 1, 1 + number % 28), "plain": moment,
        "moment": moment.replace(tzinfo=dt.timezone.utc), "price": Decimal(number) / 100, "rating": number / 7,
        "good": number % 2 == 0, "who's": None if number % 5 == 0 else f"größe {number}",
    } for number, row in enumerate(rows())])
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(whole.slice(100 * number, 100), tmp_path / "in" / f"{number}.parquet")
    driver, executors = both_ways("table", tmp_path / "in", holdout=30, min_tokens=4, **COLUMNS,
                                  keep_cols=("day", "plain", "moment", "price", "rating", "good", "who's"))
    same(driver, executors)
    assert len(driver.manifest["files"]) > 40
    carried = {row["doc_id"]: row for row in driver.documents(kept=True).collect()}
    given = {row["id"]: row for row in whole.to_pylist()}
    assert carried
    for name, row in carried.items():
        assert (row["day"], row["price"], row["who's"]) == tuple(given[name][column] for column in
                                                                 ("day", "price", "who's"))


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "part.parquet"

    def write_half() -> None:
        with appearing(str(target)) as hidden:
            Path(hidden).write_text("a half")
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write_half()
    assert not list(tmp_path.iterdir())
    with appearing(str(target)) as first, appearing(str(target)) as second:
        assert first != second
        Path(first).write_text("whole")
        Path(second).write_text("whole")
        assert not target.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["part.parquet"]


def test_files_that_the_driver_does_not_see_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"row": [1, 2]}), tmp_path / "part-00000.parquet")
    check_parts(str(tmp_path), pa.table({"part": ["part-00000.parquet"], "rows": [2]}))
    for part, count in (("part-00001.parquet", 2), ("part-00000.parquet", 3)):
        with pytest.raises(InputError, match=f"{part}.*all of its machines see"):
            check_parts(str(tmp_path), pa.table({"part": [part], "rows": [count]}))


def test_with_the_vocabulary_of_another_corpus(
    both_ways: Any, run_ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = run_ingest("table", write(tmp_path / "one", rows(150)), "first", max_document_share=0.2, vocab_size=20,
                       **COLUMNS)
    driver, executors = both_ways("table", write(tmp_path / "two", tangled()), vocabulary=known.path, holdout=15,
                                  missing_path="unknown", drop_duplicates=True, min_documents=2, **COLUMNS)
    same(driver, executors)
    assert driver.manifest["unseen"]["cut_tokens"] > 0
    assert driver.manifest["unseen"]["recurring_tokens"] > 0


def test_mails_that_differ_only_in_what_they_quote(both_ways: Any, tmp_path: Path) -> None:
    bodies = ["the gas price rises", "oil and sun", "the gas price rises\n\n-----Original Message-----\nolder words",
              "the gas price rises", "a text of its own about oil"]
    archive = tmp_path / "mail.tar.gz"
    archive.write_bytes(tar_bytes([(f"maildir/{name}-x/sent/{number}.", mail(body)) for name in ("ann", "bob")
                                   for number, body in enumerate(bodies)]))
    driver, executors = both_ways("enron", archive, holdout=1)
    same(driver, executors)
    assert set(driver.manifest["dropped"]) == {"duplicate", "duplicate_text"}


@pytest.mark.parametrize("most", [counted_files.MOST_ROWS, 0])
def test_ids_that_stand_for_several_rows_are_refused(
    run_ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(counted_files, "MOST_ROWS", most)
    table = [*rows(20), *rows(3), *rows(2)]
    with pytest.raises(InputError, match="3 ids stand for 8 rows"):
        run_ingest("table", write(tmp_path / "in", table), **COLUMNS)


def test_words_are_added_up_and_two_with_one_hash_are_noticed() -> None:
    parts = pa.table({"hash": [7, -3, 7, 7], "term": ["gas", "oil", "gas", "gas"], "documents": [2, 1, 4, 0],
                      "occurrences": [3, 1, 9, 0]})
    without = HashSums(np.array([-3, 7]), np.array([1, 2]), np.array([1, 5]))
    words = DriverWords.of(parts, ("sun",), 0).less(without)
    found = {row["term"]: (row["documents"], row["occurrences"]) for row in words.table.to_pylist()}
    assert found == {"oil": (0, 0), "gas": (4, 7), "sun": (0, 0)}
    assert words.hashes.tolist() == sorted(words.hashes.tolist())
    other = pa.table({"hash": [7], "term": ["wind"], "documents": [1], "occurrences": [1]})
    with pytest.raises(HashCollisionError):
        DriverWords.of(pa.concat_tables([parts, other]), (), 0)


def test_the_first_part_of_a_path(tmp_path: Path) -> None:
    paths = [["a", "b"], [], None, [None, "b"], ["", "c"], ["d"]]
    table = pa.table({"row": range(6), "doc_id": list("uvwxyz"), "path": pa.array(paths, pa.list_(pa.string())),
                      **{name: pa.nulls(6, pa.string()) for name in ("whole_key", "text_key", "problem", "short")},
                      "term": pa.array([None] * 5 + ["word"])})
    pq.write_table(table, tmp_path / "part.parquet")
    files = counted_files.CountedFiles((str(tmp_path / "part.parquet"),))
    assert files.documents("unknown")["group"].to_pylist() == ["a", "", "", "unknown", "unknown"]
    assert files.documents(None)["group"].to_pylist() == ["a", "", "", "", ""]
