"""Documents to word counts, on the executors, in the same pass that parses them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from spectral_spark.ingest.readers.source import DOCUMENT_SCHEMA, LARGEST_COUNT, BatchParser, Source
from spectral_spark.text.tokeniser import Tokeniser

COUNTED = (
    "doc_id string, path array<string>, words array<string>, counts array<int>, length long, "
    "whole_key binary, text_key binary, problem string"
)
_SCHEMA = pa.schema([
    ("doc_id", pa.string()), ("path", pa.list_(pa.string())), ("words", pa.list_(pa.string())),
    ("counts", pa.list_(pa.int32())), ("length", pa.int64()), ("whole_key", pa.binary()), ("text_key", pa.binary()),
    ("problem", pa.string()),
])
_SLICE = 512          # rows in memory as Python strings at a time


@dataclass(frozen=True)
class WordCounter:
    """A batch of raw rows to a batch of counted documents."""

    parse: BatchParser | None
    tokeniser: Tokeniser
    keys: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, _SLICE):
                piece = batch.slice(start, _SLICE)
                yield self._counted(piece if self.parse is None else self.parse(piece))

    def _counted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        column = {name: batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, kind)
                  for name, kind in zip(DOCUMENT_SCHEMA.names, DOCUMENT_SCHEMA.types, strict=True)}
        words, counts, lengths, keys, problems = [], [], [], [], []
        given = (column[name].to_pylist() for name in ("text", "words", "counts", "text_key", "problem"))
        for text, ready, times, key, problem in zip(*given, strict=True):
            counted, problem = ({}, problem) if problem else self._counted_or_problem(text, ready, times)
            problems.append(problem)
            words.append(list(counted))
            counts.append(list(counted.values()))
            lengths.append(sum(counted.values()))
            keys.append(key if key is not None or not self.keys else _content_key(text, counted))
        whole = column["whole_key"].to_pylist() if self.keys else [None] * batch.num_rows
        arrays = [
            column["doc_id"].cast(pa.string()), column["path"].cast(pa.list_(pa.string())),
            pa.array(words, pa.list_(pa.string())), pa.array(counts, pa.list_(pa.int32())),
            pa.array(lengths, pa.int64()),
            pa.array([key if first is None else first for first, key in zip(whole, keys, strict=True)], pa.binary()),
            pa.array(keys, pa.binary()), pa.array(problems, pa.string()),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def _counted_or_problem(
        self, text: str | None, words: list[str | None] | None, counts: list[int] | None
    ) -> tuple[dict[str, int], str | None]:
        try:
            counted = self._count(text, words, counts)
        except ValueError:                            # words and counts of different lengths, or text that is none
            return {}, "unreadable"
        return (counted, None) if max(counted.values(), default=0) <= LARGEST_COUNT else ({}, "unreadable")

    def _count(self, text: str | None, words: list[str | None] | None, counts: list[int] | None) -> dict[str, int]:
        if words is None:
            return self.tokeniser.counts(text) if text else {}
        result: dict[str, int] = {}
        for word, count in zip(words, counts or [1] * len(words), strict=True):
            if word and count > 0:
                result[word] = result.get(word, 0) + count
        return result


def _content_key(text: str | None, counted: dict[str, int]) -> bytes:
    """Equal for texts that differ only in case and white space, and for equal word counts."""
    content = " ".join(text.lower().split()) if text is not None else repr(sorted(counted.items()))
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=16).digest()


def count_words(source: Source, tokeniser: Tokeniser, keys: bool) -> DataFrame:
    """The documents of a source with their word counts and duplicate keys; columns as in ``COUNTED``."""
    return source.rows.mapInArrow(WordCounter(source.parse, tokeniser, keys), COUNTED)
