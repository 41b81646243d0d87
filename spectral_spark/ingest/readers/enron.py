"""Enron mail: the public tar.gz as a stream, or the maildir it unpacks to.

A document is a mail; its path is [internal or external sender, mailbox owner]; its text is what the sender wrote, with
the subject when the mail starts a thread.
"""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.archive import Limits, Member, members
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.input_files import compact, directory_files, open_input
from spectral_spark.ingest.kept_columns import kept_schema, with_kept
from spectral_spark.ingest.mail import Mail, read_mail
from spectral_spark.ingest.quoting import own_words
from spectral_spark.ingest.readers.source import Source, documents

COMPANY = "enron.com"
ROOT = "maildir"


def read(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Compact the mails into ``raw/``; they are parsed by the executors."""
    say(f"reading mail from {settings.input}")
    rows, total = compact(spark, _mails(settings), work)
    if not total:
        raise InputError(f"'{settings.input}' contains no files; give the Enron tar.gz or its maildir")
    say(f"compacted {total:,} mails")
    parse = partial(parse_batch, keep=settings.keep_cols)
    return Source(rows, parse, kept=kept_schema(settings.keep_cols), two_keys=True)


def _mails(settings: IngestSettings) -> Iterator[Member]:
    filesystem, inside, kind = open_input(settings.input)
    if kind == fs.FileType.Directory:
        found: Iterator[Member] = directory_files(settings.input, settings.max_document_bytes)
        yield from map(_renamed, found)
        return
    with filesystem.open_input_file(inside) as raw:
        limits = Limits(settings.max_document_bytes, settings.max_input_bytes)
        yield from map(_renamed, members(raw, settings.input, limits))


def _renamed(member: Member) -> Member:
    """Name a mail by mailbox and folder, wherever the maildir sits in the archive."""
    parts = [part for part in member.name.split("/") if part not in ("", ".")]
    if ROOT in parts[:-1]:
        parts = parts[parts.index(ROOT) + 1 :]
    problem = member.problem
    if ".." in parts or member.name.startswith("/"):
        problem = problem or "unsafe_name"
    elif len(parts) < 2:
        problem = problem or "unreadable"             # not in any mailbox
    return Member("/".join(parts), None if problem else member.content, problem)


def parse_batch(batch: pa.RecordBatch, keep: tuple[str, ...] = ()) -> pa.RecordBatch:
    """Raw mails to documents, with the columns to keep: ``date``, ``month`` and ``sender``."""
    names: list[str] = batch.column("name").to_pylist()
    problems: list[str | None] = batch.column("problem").to_pylist()
    parsed = [
        None if problem else _readable(name, content.as_py())
        for name, content, problem in zip(names, batch.column("content"), problems, strict=True)
    ]
    found = documents(
        doc_id=names,
        path=[mail and mail.path for mail in parsed],
        text=[mail and mail.text for mail in parsed],
        whole_key=[mail and mail.whole_key for mail in parsed],
        text_key=[mail and mail.text_key for mail in parsed],
        problem=[problem or (None if mail else "unreadable") for problem, mail in zip(problems, parsed, strict=True)],
    )
    return with_kept(found, keep, (mail.kept if mail else {} for mail in parsed))


class _Document(NamedTuple):
    path: list[str | None]
    text: str
    whole_key: bytes
    text_key: bytes
    kept: dict[str, Any]


def _readable(name: str, content: bytes) -> _Document | None:
    try:
        mail = read_mail(content)
        if mail is None:
            return None
        words = own_words(mail.body)
        text = f"{mail.subject}\n{words}" if mail.starts_a_thread else words
        whole_key = body_key(mail.body)
        text_key = whole_key if len(words) == len(mail.body) else body_key(words)
        month = f"{mail.day:%Y-%m}" if mail.day else None
        kept = {"date": mail.day, "month": month, "sender": mail.sender}
        return _Document(_path(name, mail), text, whole_key, text_key, kept)
    except Exception:                                 # the archive is untrusted: one bad mail must not stop the run
        return None


def _path(name: str, mail: Mail) -> list[str | None]:
    if mail.sender is None:
        return [None, name.split("/", 1)[0]]
    domain = mail.sender.rsplit("@", 1)[1]
    internal = domain == COMPANY or domain.endswith(f".{COMPANY}")
    return ["internal" if internal else "external", name.split("/", 1)[0]]


def body_key(body: str) -> bytes:
    """Equal for bodies that differ only in case and white space."""
    return hashlib.blake2b(" ".join(body.lower().split()).encode("utf-8", "replace"), digest_size=16).digest()
