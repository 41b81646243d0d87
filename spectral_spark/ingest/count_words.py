"""Documents to word counts, on the executors, in the same pass that parses them.

Words travel as 64-bit hashes (``text/word_numbers.py``): a document is an array of them beside an array of counts.
After its documents a worker writes what it has seen of every word, so that no later pass counts words again.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, _parse_datatype_string
from scipy import sparse

from spectral_spark.ingest.kept_columns import KEPT
from spectral_spark.ingest.readers.source import DOCUMENT_SCHEMA, LARGEST_COUNT, BatchParser, Source
from spectral_spark.text.document_words import DocumentWords
from spectral_spark.text.text_recipe import TextRecipe, phrase_matcher
from spectral_spark.text.token_batch import TextBytes, pieces, plain_contents, split_texts
from spectral_spark.text.word_numbers import WordNumbers

# A row is a document, or, where ``term`` is not null, a word with its statistics in a part of the documents.
COUNTED = (
    "doc_id string, path array<string>, hashes binary, counts binary, length long, whole_key binary, text_key binary, "
    "problem string, short string, term string, hash long, documents long, occurrences long"
)
_SCHEMA = pa.schema([
    ("doc_id", pa.string()), ("path", pa.list_(pa.string())), ("hashes", pa.binary()), ("counts", pa.binary()),
    ("length", pa.int64()), ("whole_key", pa.binary()), ("text_key", pa.binary()), ("problem", pa.string()),
    ("short", pa.string()), ("term", pa.string()), ("hash", pa.int64()), ("documents", pa.int64()),
    ("occurrences", pa.int64()),
])
_SLICE = 512          # rows in memory as Python strings at a time, where a reader parses them


@dataclass(frozen=True)
class CountRules:
    """What decides, before all documents are known, how a document is counted.

    Attributes
    ----------
    min_tokens : shorter documents are not counted among those that a word is in.
    paths_checked : whether documents without a path have a problem.
    null_parts_named : whether a null within a path is none, because it gets a name.
    keys : whether keys that tell duplicates are needed.
    ordered : keep the words in their order, with a zero where a phrase cannot go on, instead of counting them.
    salt : of the hashes of words.
    """

    min_tokens: int = 0
    paths_checked: bool = False
    null_parts_named: bool = False
    keys: bool = False
    ordered: bool = False
    salt: int = 0


@dataclass(frozen=True)
class WordCounter:
    """A batch of raw rows to a batch of counted documents, and at the end a batch of words."""

    parse: BatchParser | None
    recipe: TextRecipe
    rules: CountRules = CountRules()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state, kept = _State(self.recipe, self.rules.salt), None
        for batch in batches:
            for piece in self._pieces(batch):
                kept = piece.schema.field(KEPT).type if KEPT in piece.schema.names else None
                yield self._counted(piece, state)
                if state.numbers.full:
                    yield state.rows(kept)
                    state = _State(self.recipe, self.rules.salt)
        if len(state.numbers):
            yield state.rows(kept)

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Documents of a few megabytes of text, or a few hundred lists of words, at a time."""
        for start in range(0, batch.num_rows, _SLICE) if self.parse else (0,):
            parsed = self.parse(batch.slice(start, _SLICE)) if self.parse else batch
            if "text" in parsed.schema.names:
                sizes = pc.fill_null(pc.binary_length(parsed.column("text")), 0).to_numpy(zero_copy_only=False)
                runs = pieces(sizes)
            else:
                runs = (slice(at, at + _SLICE) for at in range(0, parsed.num_rows, _SLICE))
            for rows in runs:
                yield parsed.slice(rows.start, rows.stop - rows.start)

    def _counted(self, batch: pa.RecordBatch, state: "_State") -> pa.RecordBatch:
        numbers = state.numbers
        column = {name: batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, kind)
                  for name, kind in zip(DOCUMENT_SCHEMA.names, DOCUMENT_SCHEMA.types, strict=True)}
        words = (self._of_text(column, state) if column["words"].null_count == batch.num_rows
                 else _of_lists(column["words"], column["counts"], numbers))
        problem = pc.coalesce(column["problem"], reason_where(words.damaged, "unreadable"))
        if self.rules.paths_checked:
            missing = _path_missing(column["path"], parts=not self.rules.null_parts_named)
            problem = pc.coalesce(problem, reason_where(missing, "null_path"))
        lengths = words.lengths
        short = pc.coalesce(reason_where(lengths == 0, "empty"),
                            reason_where(lengths < self.rules.min_tokens, "too_short"))
        usable = problem.is_null().to_numpy(zero_copy_only=False) & (lengths >= max(self.rules.min_tokens, 1))
        bags = words.bags(len(numbers))
        state.add(bags, usable)
        hashes, counts = words.columns(bags, numbers.hashes, ordered=self.rules.ordered)
        whole, key = self._keys(column, words, numbers)
        ready = [column["doc_id"].cast(pa.string()), column["path"].cast(pa.list_(pa.string())), hashes, counts,
                 pa.array(lengths), whole, key, problem, short]
        kept = batch.column(KEPT) if KEPT in batch.schema.names else None
        return _with_nulls(dict(zip(_SCHEMA.names, ready, strict=False)), batch.num_rows, kept)

    def _of_text(self, column: dict[str, pa.Array], state: "_State") -> DocumentWords:
        texts = column["text"]
        if column["problem"].null_count < len(texts):
            texts = pc.if_else(column["problem"].is_null(), texts, pa.scalar(None, texts.type))
        if self.recipe.line_filter is not None:
            texts = self.recipe.line_filter.column(texts)
        follows = self.rules.ordered or state.matcher is not None
        tokens = split_texts(TextBytes.of(texts), self.recipe.tokeniser, follows=follows)
        words = DocumentWords.of_tokens(tokens, state.numbers)
        return words if state.matcher is None else words.with_phrases(state.matcher)

    def _keys(
        self, column: dict[str, pa.Array], words: DocumentWords, numbers: WordNumbers
    ) -> tuple[pa.Array, pa.Array]:
        """The keys of the whole and of the part that is kept: as given, else of the content."""
        if not self.rules.keys:
            return pa.nulls(len(words.lengths), pa.binary()), pa.nulls(len(words.lengths), pa.binary())
        key = column["text_key"]
        if key.null_count:
            as_text = column["text"].null_count < len(column["text"])
            contents = plain_contents(TextBytes.of(column["text"])) if as_text else words.contents(numbers)
            key = pc.coalesce(key, pa.array([_digest(content) for content in contents], pa.binary()))
        return pc.coalesce(column["whole_key"], key), key


def _of_lists(words: pa.Array, counts: pa.Array, numbers: WordNumbers) -> DocumentWords:
    """Documents that come as words, with counts or without; a document is damaged where the two do not fit together."""
    found: list[int] = []
    times: list[int] = []
    starts, damaged = np.zeros(len(words) + 1, np.int64), np.zeros(len(words), bool)
    for row, (listed, given) in enumerate(zip(words.to_pylist(), counts.to_pylist(), strict=True)):
        bag: dict[str, int] | None = {}
        try:
            for word, count in zip(listed or [], given or [1] * len(listed or []), strict=True):
                if word and count > 0:
                    bag[word] = bag.get(word, 0) + count               # type: ignore[index, union-attr]
        except ValueError:
            bag = None
        damaged[row] = bag is None or max(bag.values(), default=0) > LARGEST_COUNT
        if bag and not damaged[row]:
            found += map(numbers.of_word, bag)
            times += bag.values()
        starts[row + 1] = len(found)
    return DocumentWords(starts, np.array(found, np.int64), np.array(times, np.int64), None, damaged)


class _State:
    """The words that a worker has met: their numbers, in how many documents each is, and how often it occurs there.

    Attributes
    ----------
    matcher : joins the phrases of the recipe; None if it has none.
    """

    def __init__(self, recipe: TextRecipe, salt: int) -> None:
        self.numbers = WordNumbers(recipe.tokeniser, salt)
        self.matcher = phrase_matcher(recipe.phrases, self.numbers.of_word) if recipe.phrases else None
        self._sums = np.zeros((2, 0), np.int64)

    def add(self, bags: sparse.csr_matrix, usable: np.ndarray) -> None:
        if bags.shape[1] > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, bags.shape[1] - self._sums.shape[1])))
        entries = np.repeat(usable, np.diff(bags.indptr))
        words = bags.indices[entries]
        self._sums[0] += np.bincount(words, minlength=bags.shape[1])
        # counts are below 2**31 and a piece has fewer than 2**22 of them: sums are exact in float64
        self._sums[1] += np.bincount(words, bags.data[entries], bags.shape[1]).astype(np.int64)

    def rows(self, kept: pa.DataType | None) -> pa.RecordBatch:
        """The words as rows of ``COUNTED``."""
        numbers = self.numbers
        missing = len(numbers) - self._sums.shape[1]
        self._sums = np.pad(self._sums, ((0, 0), (0, missing)))
        ready = {"term": pa.array(numbers.words, pa.string()), "hash": pa.array(numbers.hashes),
                 "documents": pa.array(self._sums[0]), "occurrences": pa.array(self._sums[1])}
        return _with_nulls(ready, len(numbers), None if kept is None else pa.nulls(len(numbers), kept))


def _with_nulls(columns: dict[str, pa.Array], n: int, kept: pa.Array | None) -> pa.RecordBatch:
    arrays = [columns[field.name] if field.name in columns else pa.nulls(n, field.type) for field in _SCHEMA]
    names = _SCHEMA.names
    if kept is not None:
        arrays, names = [*arrays, kept], [*names, KEPT]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _path_missing(paths: pa.Array, *, parts: bool) -> np.ndarray:
    """Whether a path is null or, with ``parts``, has a null or empty part."""
    missing = paths.is_null().to_numpy(zero_copy_only=False)
    if not parts:
        return missing
    flat = paths.flatten()
    bad = pc.fill_null(pc.equal(flat, ""), True).to_numpy(zero_copy_only=False)
    sizes = pc.fill_null(pc.list_value_length(paths), 0).to_numpy(zero_copy_only=False)
    return missing | (np.bincount(np.repeat(np.arange(len(paths)), sizes), bad, len(paths)) > 0)


def reason_where(mask: np.ndarray, reason: str) -> pa.Array:
    """The reason where the mask is set, null elsewhere."""
    return pc.if_else(pa.array(mask), pa.scalar(reason), pa.scalar(None, pa.string()))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def counted_schema(kept: StructType | None = None) -> StructType:
    """``COUNTED``, and the columns that are carried along."""
    schema = _parse_datatype_string(COUNTED)
    assert isinstance(schema, StructType)
    return schema if kept is None else schema.add(KEPT, kept)


def count_words(source: Source, recipe: TextRecipe, rules: CountRules) -> DataFrame:
    """The documents of a source with their word counts and duplicate keys, and the words; rows as in ``COUNTED``."""
    return source.rows.mapInArrow(WordCounter(source.parse, recipe, rules), counted_schema(source.kept))
