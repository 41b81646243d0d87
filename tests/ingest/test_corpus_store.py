import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spectral_spark.errors import FormatError, InputError
from spectral_spark.ingest.corpus_store import open_corpus

from .conftest import Ingest


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
    corpus.verify()


def test_damage_is_noticed(spark: Any, saved: Path) -> None:
    path = next((saved / "documents").iterdir())
    table = pq.read_table(path)
    changed = table.set_column(0, "doc_id", pa.array(["x", *table["doc_id"].to_pylist()[1:]]))
    pq.write_table(changed, path)
    with pytest.raises(FormatError, match="differs from its fingerprint"):
        open_corpus(spark, str(saved)).verify()
    pq.write_table(pq.read_table(saved / "vocabulary").slice(1), next((saved / "vocabulary").iterdir()))
    with pytest.raises(FormatError, match="words in vocabulary/"):
        _ = open_corpus(spark, str(saved)).vocabulary
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
