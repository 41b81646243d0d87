"""Multi-Domain Sentiment reviews: ``<domain>/{positive,negative}.review``, raw or processed. Path: [domain, polarity].

``sorted_data_acl`` is pseudo-XML that no XML parser takes: it is read by the lines its tags stand on.
``processed_acl`` has one review per line, ``word:count … #label#:positive``; only its single words are taken.
Bytes are latin-1 in both.
"""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

from spectral_spark.errors import InputError
from spectral_spark.files.spark_paths import Workplace
from spectral_spark.ingest.archive import Member
from spectral_spark.ingest.ingest_settings import IngestSettings, ShowProgress
from spectral_spark.ingest.input_files import compact, open_input
from spectral_spark.ingest.kept_columns import kept_schema, with_kept
from spectral_spark.ingest.readers.source import LARGEST_COUNT, Source, documents
from spectral_spark.text.tokeniser import Tokeniser, load_stop_words

RAW, PROCESSED = "sorted_data_acl", "processed_acl"
POLARITIES = ("negative", "positive")
_FIELD = re.compile(r"^<(title|review_text)>[ \t]*\n(.*?)(?:^</\1>|\Z)", re.MULTILINE | re.DOTALL)

_DETAIL = re.compile(r"^<(rating|date|reviewer|asin)>[ \t]*\n(.*?)(?:^</\1>|\Z)", re.MULTILINE | re.DOTALL)


def read(spark: SparkSession, settings: IngestSettings, work: Workplace, say: ShowProgress) -> Source:
    """Cut the review files into reviews; they are parsed by the executors."""
    root = _root(settings.input)
    files, left_aside = _review_files(root)
    if not files:
        raise InputError(
            f"'{settings.input}' has no <domain>/positive.review or negative.review; give {RAW} or {PROCESSED}"
        )
    layout = _layout(root, next(iter(files.values())))
    say(f"reading {len(files)} review files, {layout}")
    reviews = _raw_reviews if layout == RAW else _processed_reviews
    rows, total = compact(spark, _members(root, files, reviews, settings.max_document_bytes), work)
    say(f"found {total:,} reviews")
    if layout == PROCESSED and settings.keep_cols:
        raise InputError(f"{PROCESSED} has words only, and no '{settings.keep_cols[0]}' to keep; give {RAW}")
    parse = partial(parse_raw, keep=settings.keep_cols) if layout == RAW else _WordParser(
        Tokeniser(load_stop_words(settings.stop_word_lists), settings.min_word_length)
    )
    notes = {"layout": layout, "files_left_aside": left_aside}
    return Source(rows, parse, notes, kept=kept_schema(settings.keep_cols))


def _root(path: str) -> str:
    """The directory of domains: the path itself, or one of the two releases inside it."""
    filesystem, inside, kind = open_input(path)
    if kind != fs.FileType.Directory:
        raise InputError(f"'{path}' is a file; give the directory {RAW} or {PROCESSED}")
    for release in (RAW, PROCESSED):
        if filesystem.get_file_info(f"{inside}/{release}").type == fs.FileType.Directory:
            return f"{path.rstrip('/')}/{release}"
    return path


def _review_files(root: str) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Paths by (domain, polarity), and the files that are neither."""
    filesystem, inside, _ = open_input(root)
    files: dict[tuple[str, str], str] = {}
    left_aside: list[str] = []
    for info in filesystem.get_file_info(fs.FileSelector(inside, recursive=True)):
        if info.type != fs.FileType.File:
            continue
        parts = info.path[len(inside) :].strip("/").split("/")
        polarity = parts[-1].removesuffix(".review")
        if len(parts) == 2 and polarity in POLARITIES and parts[-1].endswith(".review"):
            files[parts[0], polarity] = info.path
        else:
            left_aside.append("/".join(parts))
    return dict(sorted(files.items())), sorted(left_aside)


def _layout(root: str, path: str) -> str:
    filesystem, _, _ = open_input(root)
    with filesystem.open_input_stream(path) as source:
        return RAW if source.read(64).lstrip().startswith(b"<") else PROCESSED


def _members(
    root: str,
    files: dict[tuple[str, str], str],
    reviews: Callable[[bytes], Iterator[bytes]],
    max_bytes: int,
) -> Iterator[Member]:
    filesystem, _, _ = open_input(root)
    for (domain, polarity), path in files.items():
        try:
            with filesystem.open_input_stream(path, compression=None) as source:
                content = source.read()
        except OSError:
            yield Member(f"{domain}/{polarity}", None, "unreadable")
            continue
        for number, review in enumerate(reviews(content), 1):
            name = f"{domain}/{polarity}/{number:06d}"
            large = len(review) > max_bytes
            yield Member(name, None if large else review, "too_large" if large else None)


def _raw_reviews(content: bytes) -> Iterator[bytes]:
    """What stands between <review> and </review>; a missing end tag ends at the next start tag."""
    lines: list[bytes] | None = None
    for line in content.replace(b"\r\n", b"\n").split(b"\n"):
        tag = line.strip()
        if tag == b"<review>":
            if lines is not None:
                yield b"\n".join(lines)
            lines = []
        elif tag == b"</review>":
            if lines is not None:
                yield b"\n".join(lines)
            lines = None
        elif lines is not None:
            lines.append(line)
    if lines is not None:
        yield b"\n".join(lines)


def _processed_reviews(content: bytes) -> Iterator[bytes]:
    for line in content.split(b"\n"):
        if line.strip():
            yield line


def parse_raw(batch: pa.RecordBatch, keep: tuple[str, ...] = ()) -> pa.RecordBatch:
    """Raw reviews to documents: title and text, with the columns to keep."""
    names, problems = batch.column("name").to_pylist(), batch.column("problem").to_pylist()
    contents = batch.column("content").to_pylist()
    texts = [None if content is None else _raw_text(content) for content in contents]
    found = documents(
        doc_id=names,
        path=[name.split("/")[:2] for name in names],
        text=texts,
        problem=[
            problem or ("unreadable" if text is None else None) for problem, text in zip(problems, texts, strict=True)
        ],
    )
    return with_kept(found, keep, map(_details, contents)) if keep else found


def _details(content: bytes | None) -> dict[str, Any]:
    """What a review says about itself; what cannot be read is null."""
    fields = {name: value.strip() for name, value in _DETAIL.findall((content or b"").decode("latin-1"))}
    details: dict[str, Any] = {"reviewer": fields.get("reviewer") or None, "product": fields.get("asin") or None}
    with suppress(ValueError):
        details["rating"] = float(fields.get("rating", ""))
    with suppress(ValueError):
        details["date"] = datetime.strptime(fields.get("date", ""), "%B %d, %Y").date()
        details["month"] = f"{details['date']:%Y-%m}"
    return details


def _raw_text(content: bytes) -> str | None:
    fields = dict(_FIELD.findall(content.decode("latin-1")))
    if "review_text" not in fields:
        return None
    try:
        return html.unescape(f"{fields.get('title', '')}\n{fields['review_text']}")
    except ValueError:                                # an entity with more digits than Python converts
        return None


class _WordParser:
    """Processed reviews to word counts."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names, problems = batch.column("name").to_pylist(), batch.column("problem").to_pylist()
        counted = [None if line is None else self._counts(line) for line in batch.column("content").to_pylist()]
        return documents(
            doc_id=names,
            path=[name.split("/")[:2] for name in names],
            words=[None if counts is None else list(counts) for counts in counted],
            counts=[None if counts is None else list(counts.values()) for counts in counted],
            problem=[
                problem or ("unreadable" if counts is None else None)
                for problem, counts in zip(problems, counted, strict=True)
            ],
        )

    def _counts(self, line: bytes) -> dict[str, int] | None:
        """Occurrences of each word; None for a line that is not made of ``word:count``, or with too large a count."""
        result: dict[str, int] = {}
        for item in line.decode("latin-1").split():
            word, colon, count = item.rpartition(":")
            if word == "#label#":
                continue
            if not colon or not count.isdecimal() or len(count) > 9:
                return None
            if "_" in word or word.startswith("<"):   # a pair of words, or a placeholder such as <num>
                continue
            for part, times in self._tokeniser.counts(word).items():
                result[part] = result.get(part, 0) + times * int(count)
        return result if max(result.values(), default=0) <= LARGEST_COUNT else None
