"""Words as people mean them, and columns that come along."""

import datetime
import json
import random
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.errors import InputError, SettingsError
from spectral_spark.ingest import counted_files, counted_words
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.kept_columns import with_kept
from spectral_spark.ingest.readers import amazon, enron
from spectral_spark.ingest.word_statistics import HashCollisionError, added_up, refuse_collisions
from spectral_spark.text.text_recipe import TextCounter, TextRecipe

from .conftest import Ingest, mail, words_by_document
from .test_fuzzing import raw_batch

OTHERS = ("market", "price", "report", "meeting", "friday", "contract", "river", "engine", "window", "garden")
FOOTER = "This message is confidential and may be privileged."


def texts() -> list[str]:
    """Notes in which natural is always followed by gas, and gas also stands alone; every second one has a footer."""
    rng, notes = random.Random(0), []
    for number in range(120):
        words = rng.choices(OTHERS, k=8)
        words.insert(rng.randrange(8), "natural gas" if number % 3 else "gas")
        notes.append(" ".join(words) + (f"\n{FOOTER}" if number % 2 else ""))
    return notes


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, days = tmp_path_factory.mktemp("notes") / "notes.parquet", range(120)
    pq.write_table(pa.table({
        "id": [f"n{day:03d}" for day in days], "text": texts(),
        "place": ["coast" if day % 2 else "hills" for day in days],
        "month": [f"2001-{1 + day % 12:02d}" if day % 7 else None for day in days], "rating": [day / 2 for day in days],
        "day": [datetime.date(2001, 1, 1) + datetime.timedelta(day) for day in days], "tags": [["a"]] * 120,
    }), path)
    return path


TABLE: dict[str, Any] = {"text_col": "text", "id_col": "id", "path_cols": ("place",), "stop_words": "none"}


def test_phrases_columns_and_dropped_lines_in_one_corpus(run_ingest: Ingest, notes: Path, tmp_path: Path) -> None:
    report = tmp_path / "lines.txt"
    plain = run_ingest("table", notes, "plain", find_boilerplate=str(report), boilerplate_documents=50, **TABLE)
    assert "text" not in plain.manifest
    assert [line.split("\t") for line in report.read_text().splitlines() if not line.startswith("#")] == [
        ["60", "1", FOOTER.lower()]]
    assert report.stat().st_mode & 0o077 == 0
    corpus = run_ingest("table", notes, "full", phrases="auto", keep_cols=("month", "rating", "day"), holdout=10,
                        drop_lines=str(report), **TABLE)
    recipe = TextRecipe.from_dict(corpus.manifest["text"], "corpus.json")
    assert recipe.phrases == (("natural", "gas"),)
    assert FOOTER.lower() not in str(corpus.manifest)                  # only its hash
    counter, found = TextCounter(recipe, corpus.vocabulary), words_by_document(corpus)
    assert {"natural_gas", "gas"} <= set(corpus.vocabulary)
    assert not {"natural", "confidential"} & set(corpus.vocabulary)
    assert found == {f"n{number:03d}": counter.words(text) for number, text in enumerate(texts())}
    assert corpus.kept_columns == {"month": "string", "rating": "double", "day": "date"}
    rows = {row["doc_id"]: row for row in corpus.documents(kept=True).collect()}
    given = {row["id"]: row for row in pq.read_table(notes).to_pylist()}
    assert all(rows[key][name] == given[key][name] for key in given for name in corpus.kept_columns)
    # the next day: the vocabulary brings its phrases and dropped lines along
    again = run_ingest("table", notes, "next", vocabulary=corpus.path, **TABLE)
    assert words_by_document(again) == found


@pytest.mark.parametrize("where", ["driver", "executors"])
def test_two_words_with_one_hash_are_counted_again_with_other_hashes(
    spark: Any, run_ingest: Ingest, notes: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    schema = "hash long, term string, documents long, occurrences long"
    parts = spark.createDataFrame([(1, "gas", 2, 3), (1, None, 1, 1), (2, "oil", 1, 1)], schema)
    refuse_collisions(added_up(parts))
    with pytest.raises(HashCollisionError):
        refuse_collisions(added_up(parts.union(spark.createDataFrame([(1, "oil", 1, 1)], schema))))
    refusals = [HashCollisionError()]
    name = "_on_driver" if where == "driver" else "refuse_collisions"
    follow = getattr(counted_words, name)

    def once(*given: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return follow(*given)

    monkeypatch.setattr(counted_words, name, once)
    monkeypatch.setattr(counted_files, "MOST_ROWS", 0 if where == "executors" else counted_files.MOST_ROWS)
    corpus = run_ingest("table", notes, **TABLE)
    assert not refusals
    counter = TextCounter(TextRecipe(()), corpus.vocabulary)
    assert words_by_document(corpus) == {f"n{at:03d}": counter.words(text) for at, text in enumerate(texts())}


def test_a_tokeniser_of_ones_own_must_be_named_every_time(run_ingest: Ingest, notes: Path) -> None:
    settings = {**TABLE, "stop_words": None, "tokeniser": "shlex:split"}
    corpus = run_ingest("table", notes, "own", **settings)
    assert words_by_document(corpus)["n000"] == {word: shlex.split(texts()[0]).count(word)
                                                 for word in shlex.split(texts()[0])}
    with pytest.raises(SettingsError, match="--tokeniser shlex:split"):
        run_ingest("table", notes, "next", **{**settings, "tokeniser": None, "vocabulary": corpus.path})


def test_columns_of_lists_are_not_kept(run_ingest: Ingest, notes: Path) -> None:
    with pytest.raises(InputError, match="only single values"):
        run_ingest("table", notes, keep_cols=("tags",), **TABLE)


@pytest.mark.parametrize(("changes", "message"), [
    ({"keep_cols": ("Split",)}, "a column 'split' of its own"),
    ({"keep_cols": ("sendr",)}, "did you mean 'sender'"),
    ({"keep_cols": ("date", "date")}, "named twice"),
    ({"source": "table", "text_col": "body", "keep_cols": ("month", "body")}, "'body' is the text"),
    ({"source": "uci", "phrases": 5}, "only with text"),
    ({"tokeniser": "a:b", "lemmas": True}, "makes words by itself"),
    ({"phrases": "auto", "vocabulary": "model"}, "cannot be found anew"),
    ({"language": ("deutsch",)}, "language 'deutsch' is not known"),
    ({"phrases": "many"}, "`phrases`"),
])
def test_settings_that_contradict_themselves(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        IngestSettings(**{"source": "enron", "input": "in", "output": "out", **changes})


def test_what_mails_and_reviews_say_about_themselves() -> None:
    keep = ("date", "month", "sender")
    mails = [mail("words", Date="Mon, 14 May 2001 16:39:00 -0700 (PDT)"), mail("words", Date="yesterday"), b"\x00"]
    assert enron.parse_batch(raw_batch(mails), keep).column("kept").to_pylist() == [
        {"date": datetime.date(2001, 5, 14), "month": "2001-05", "sender": "ann@enron.com"},
        {"date": None, "month": None, "sender": "ann@enron.com"}, {"date": None, "month": None, "sender": None}]
    review = (b"<asin>\nB0\n</asin>\n<rating>\n4.0\n</rating>\n<date>\nMarch 12, 2006\n</date>\n<reviewer>\nJo\n"
              b"</reviewer>\n<review_text>\ngood\n</review_text>\n")
    kept = amazon.parse_raw(raw_batch([review, b"<rating>\nfine\n"]), ("rating", "month", "reviewer", "product"))
    assert kept.column("kept").to_pylist() == [
        {"rating": 4.0, "month": "2006-03", "reviewer": "Jo", "product": "B0"},
        {"rating": None, "month": None, "reviewer": None, "product": None}]
    assert with_kept(raw_batch([b""]), (), []).schema.names == raw_batch([b""]).schema.names


def test_equal_texts_without_ids_keep_the_same_columns_in_any_order(run_ingest: Ingest, tmp_path: Path) -> None:
    rows = [{"text": "the same few words again", "day": day} for day in ("monday", "tuesday", "wednesday")]
    found = []
    for name, given in (("forwards", rows), ("backwards", rows[::-1])):
        table = tmp_path / f"{name}.jsonl"
        table.write_text("".join(json.dumps(row) + "\n" for row in given))
        corpus = run_ingest("table", table, name, text_col="text", keep_cols=("day",), stop_words="none",
                            min_documents=1, max_document_share=1.0)
        found.append({row["doc_id"]: row["day"] for row in corpus.documents(kept=True).collect()})
    assert sorted(found[0].values()) == ["monday", "tuesday", "wednesday"]
    assert found[0] == found[1]
