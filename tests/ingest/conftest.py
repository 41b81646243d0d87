"""Helpers for the corpus tests: build tiny inputs, ingest them, read them back as Python values."""

import io
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.data.hashing import vocabulary_fingerprint
from spectral_spark.ingest.corpus_fingerprint import contents
from spectral_spark.ingest.corpus_store import Corpus, open_corpus
from spectral_spark.ingest.ingest_settings import IngestSettings
from spectral_spark.ingest.pipeline import ingest

SMALL: dict[str, Any] = {"min_documents": 1, "max_document_share": 1.0, "min_tokens": 1}


def tar_bytes(files: Sequence[tuple[str, bytes]], mode: str = "w:gz") -> bytes:
    """An archive of regular files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:      # type: ignore[call-overload]
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def mail(body: str, sender: str = "ann@enron.com", subject: str = "Re: x", **headers: str) -> bytes:
    """A mail with LF line ends."""
    extra = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
    return f"From: {sender}\nSubject: {subject}\n{extra}\n{body}".encode()


def words_by_document(corpus: Corpus, split: str | None = None) -> dict[str, dict[str, int]]:
    """Document id to word counts."""
    return {
        row["doc_id"]: {corpus.vocabulary[t]: c for t, c in zip(row["terms"], row["counts"], strict=True)}
        for row in corpus.documents(split).collect()
    }


def paths_by_document(corpus: Corpus) -> dict[str, list[str]]:
    return {row["doc_id"]: list(row["path"]) for row in corpus.documents().collect()}


def fingerprint_of(corpus: Corpus) -> str:
    """The fingerprint of the documents that are there now."""
    return contents(corpus.documents(), vocabulary_fingerprint(corpus.vocabulary)).fingerprint


Ingest = Callable[..., Corpus]


@pytest.fixture
def run_ingest(spark: Any, tmp_path: Path) -> Ingest:
    """Ingest with permissive limits and open the result; the books must balance every time."""

    def run(source: str, given: Path, output: str = "corpus", **settings: Any) -> Corpus:
        target = str(tmp_path / output)
        manifest = ingest(spark, IngestSettings(source, str(given), target, **{**SMALL, **settings}))
        assert manifest["read"] == manifest["kept"] + sum(manifest["dropped"].values())
        corpus = open_corpus(spark, target)
        assert corpus.manifest == {key: value for key, value in manifest.items() if key != "seconds"}
        return corpus

    return run
